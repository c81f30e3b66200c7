"""The published loop, slow and plain: one dictionary per notion, one function per policy.

It shares nothing with `topwater.replica` but the workload, and is what the columnar Refresher
is compared with.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from topwater.replica import WindowView
from topwater_lab.experiments.workloads import REMOTE, Workload


@dataclass
class Loop:
    """One contender's replica and what it remembers of its fetches."""

    workload: Workload
    k: int
    n: int
    budget: int
    seed: int = 0
    replica: dict[int, float] = field(default_factory=dict)
    fetched: dict[int, int] = field(default_factory=dict)
    best_before: dict[int, float] = field(default_factory=dict)
    rates: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys, values = self.workload.initial()
        first = self.workload.views[0].end
        rates = self.workload.remote.rates()
        for key, value, rate in zip(keys.tolist(), values.tolist(), rates.tolist(), strict=True):
            self.replica[key] = value
            self.fetched[key] = first
            self.best_before[key] = first
            self.rates[key] = rate


@dataclass
class Moment:
    """One evaluation, as a policy sees it."""

    loop: Loop
    view: WindowView
    last: dict[int, int]
    window: list[int]
    candidates: list[int]
    proposed: list[int]
    draw: dict[int, float]

    @property
    def now(self) -> int:
        return self.view.end


def score(loop: Loop, view: WindowView, key: int, remote: float) -> float:
    row = view.keys.tolist().index(key)
    mentions = view.values["mentions"][row]
    columns = {"mentions": np.array([mentions]), REMOTE: np.array([remote])}
    return float(loop.workload.score.rank_scores(columns)[0])


def ranking(loop: Loop, view: WindowView, values: dict[int, float]) -> list[int]:
    last = dict(zip(view.keys.tolist(), view.last_event.tolist(), strict=True))
    scores = {key: score(loop, view, key, values[key]) for key in last}
    return sorted(last, key=lambda key: (-scores[key], -last[key], key))


def moment(loop: Loop, view: WindowView, proposer: str) -> Moment:
    """What is proposed: the list (at), the window (wsj) or the whole replica (gnr)."""
    last = dict(zip(view.keys.tolist(), view.last_event.tolist(), strict=True))
    window = ranking(loop, view, loop.replica)
    windows = loop.workload.windows
    candidates: set[int] = set()
    for later in range(2):
        opens = view.end - windows.width + later * windows.step
        alive = [key for key in window if last[key] > opens]
        candidates |= set(alive[: loop.k + loop.n])
    listed = [key for key in window if key in candidates]
    proposed = {"at": listed, "wsj": window, "gnr": sorted(loop.replica)}[proposer]
    rng = np.random.default_rng([loop.seed, view.index])
    draw = dict(zip(proposed, rng.random(len(proposed)).tolist(), strict=True))
    return Moment(loop, view, last, window, listed, proposed, draw)


def wst(_: Moment) -> list[int]:
    return []


def rnd(at: Moment) -> list[int]:
    return sorted(at.proposed, key=lambda key: at.draw[key])


def lru(at: Moment) -> list[int]:
    return sorted(at.proposed, key=lambda key: (at.loop.fetched[key], at.draw[key]))


def tsm(at: Moment) -> list[int]:
    return at.proposed


def bsm(at: Moment) -> list[int]:
    """Ranks k+1, k, k+2, k−1, …"""
    below, above = at.proposed[at.loop.k :], at.proposed[: at.loop.k][::-1]
    pairs = [key for pair in zip(below, above, strict=False) for key in pair]
    return pairs + below[len(above) :] + above[len(below) :]


def lifetime(at: Moment, key: int) -> int:
    windows = at.loop.workload.windows
    return math.ceil((at.last[key] + windows.width - at.now) / windows.step)


def renewed(at: Moment, key: int) -> float:
    """The best-before time after a fetch now."""
    if at.loop.rates[key] == 0:
        return math.inf
    due = at.loop.best_before[key]
    while due <= at.now:
        due += 1_000 / at.loop.rates[key]
    return due


def wbm(at: Moment) -> list[int]:
    """Known mean rates; what the possibly stale leave of the budget goes to the oldest."""
    moving = [key for key in lru(at) if at.loop.rates[key] > 0]
    stale = [key for key in moving if at.loop.best_before[key] <= at.now]
    step = at.loop.workload.windows.step

    def worth(key: int) -> int:
        return min(lifetime(at, key), math.ceil((renewed(at, key) - at.now) / step))

    first = sorted(stale, key=lambda key: (-worth(key), at.draw[key]))
    return first + [key for key in moving if key not in set(stale)]


def bst(at: Moment) -> list[int]:
    return [key for key in rnd(at) if at.loop.replica[key] != truth(at.loop, key, at.now)]


def wbm_star(at: Moment) -> list[int]:
    step = at.loop.workload.windows.step

    def worth(key: int) -> float:
        due = at.loop.workload.remote.changes_after(np.array([key]), at.now)[0]
        fresh = math.inf if due == math.inf else math.ceil((due - at.now) / step)
        return min(lifetime(at, key), fresh)

    return sorted(bst(at), key=lambda key: (-worth(key), at.draw[key]))


POLICIES: dict[str, Callable[[Moment], list[int]]] = {
    "wst": wst,
    "rnd": rnd,
    "lru": lru,
    "tsm": tsm,
    "bsm": bsm,
    "asm": tsm,
    "wbm": wbm,
    "bst": bst,
    "wbm*": wbm_star,
}


def truth(loop: Loop, key: int, now: int) -> float:
    """The newest snapshot strictly before now, found by looking at all of them."""
    remote = loop.workload.remote
    mine = np.flatnonzero(remote.keys == key)
    newest = bisect.bisect_left(remote.times[mine].tolist(), now) - 1
    return float(remote.values[mine][max(newest, 0)])


@dataclass(frozen=True)
class Outcome:
    """One window: the answer, what was fetched for it, and how right it is."""

    answer: list[int]
    fetched: list[int]
    ndcg: float
    precision: float
    accuracy: float


def play(loop: Loop, policy: str) -> list[Outcome]:
    """All windows: elect, fetch, rank, judge."""
    proposer, _, ranker = policy.rpartition("-")
    outcomes = []
    for view in loop.workload.views:
        at = moment(loop, view, proposer or "wsj")
        elected = POLICIES[ranker](at)
        if ranker != "asm":
            elected = elected[: loop.budget]
        for key in elected:
            loop.best_before[key] = renewed(at, key)
            loop.replica[key] = truth(loop, key, at.now)
            loop.fetched[key] = at.now
        outcomes.append(judged(loop, view, elected))
    return outcomes


def judged(loop: Loop, view: WindowView, elected: list[int]) -> Outcome:
    true = {key: truth(loop, key, view.end) for key in view.keys.tolist()}
    right = ranking(loop, view, true)
    answer = ranking(loop, view, loop.replica)[: loop.k]
    fresh = sum(loop.replica[key] == true[key] for key in true)
    return Outcome(
        answer,
        elected,
        gain(answer, right) / gain(right[: loop.k], right),
        len(set(answer) & set(right[: loop.k])) / min(loop.k, len(right)),
        fresh / len(true),
    )


def gain(answer: list[int], right: list[int]) -> float:
    relevance = {key: len(right) - place for place, key in enumerate(right)}
    return sum(
        (2.0 ** relevance[key] - 1) / math.log2(place + 2) for place, key in enumerate(answer)
    )
