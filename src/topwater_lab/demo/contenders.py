"""Those that the answers are compared with, each judged by the truth, window by window.

All have the same stream, the same service and the same number of look-ups a window, and begin with
an empty replica. One has more: the table that is loaded once has every user's value at the start.
Where there is a choice (which published policy, which time to live), the best is taken in
hindsight: what nobody could have known before, which makes it hard for us.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from topwater.model import Answer, FloatArray, IntArray, Key
from topwater.replica import Refresher, WindowView
from topwater_lab.demo.scene import K, Scene
from topwater_lab.experiments.oracle import ranked

PUBLISHED = ("wsj-rnd", "wsj-lru", "wsj-wbm", "at-lru", "at-wbm", "at-tsm", "at-bsm")
LIVES = ("1 min", "2 min", "5 min", "10 min", "20 min")
"""Times to live that the cache may have had."""

TABLE = "loaded once"
EVERYTHING = "at-asm"
LADDER = (1, 2, 3, 5, 7, 10, 12, 14, 16, 20, 24, 32)
"""Budgets at which all are tried."""

Metric: TypeAlias = Literal["ndcg", "precision"]
METRICS: dict[Metric, str] = {"ndcg": "nDCG", "precision": "precision"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One window of a contender.

    Attributes
    ----------
    keys
        Whom it shows, best first.
    ndcg, precision
        How right that is.
    fetched
        How many users it looked up.
    unfetched
        What nDCG the window would have had without its look-ups, if that is known.
    """

    keys: tuple[Key, ...]
    ndcg: float
    precision: float
    fetched: int
    unfetched: float | None = None


@dataclass(frozen=True, slots=True)
class Contender:
    """One that answers every window, and how right it was."""

    name: str
    windows: tuple[Verdict, ...]

    @property
    def ndcg(self) -> float:
        """On average."""
        return mean(each.ndcg for each in self.windows)

    @property
    def precision(self) -> float:
        """On average."""
        return mean(each.precision for each in self.windows)

    @property
    def fetches(self) -> float:
        """A window, on average."""
        return mean(each.fetched for each in self.windows)

    def gain(self, metric: Metric, over: Contender) -> float | None:
        """What each look-up won over another contender; None if there were none."""
        won = float(getattr(self, metric) - getattr(over, metric))
        return won / self.fetches if self.fetches else None

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "name": self.name,
            "ndcg": self.ndcg,
            "precision": self.precision,
            "fetches": self.fetches,
        }


@dataclass(frozen=True, slots=True)
class Rung:
    """How right a contender is with a certain budget."""

    kind: str
    budget: int
    contender: Contender


@dataclass(frozen=True, slots=True)
class Field:
    """All that our answers are compared with.

    Attributes
    ----------
    published, caches
        Every published policy, and a cache for every time to live.
    table
        What is loaded once, and never again.
    everything
        What looking up all candidates would give.
    """

    published: tuple[Contender, ...]
    caches: tuple[Contender, ...]
    table: Contender
    everything: Contender

    @property
    def finalists(self) -> tuple[Contender, Contender, Contender]:
        """The best published policy, the best cache, and the table: window by window."""
        return best(self.published), best(self.caches), self.table

    @property
    def best_of_each(self) -> tuple[Contender, ...]:
        """These, and those that would be best by precision, where that is another one."""
        chosen = [best(self.published), best(self.published, "precision")]
        chosen += [best(self.caches), best(self.caches, "precision"), self.table]
        return tuple({each.name: each for each in chosen}.values())

    def merits(self, contender: Contender) -> list[Metric]:
        """By which metrics it is the best of its kind."""
        kinds = [kind for kind in (self.published, self.caches) if contender in kind]
        return [metric for kind in kinds for metric in METRICS if best(kind, metric) is contender]


def best(contenders: Sequence[Contender], metric: Metric = "ndcg") -> Contender:
    """The best in hindsight; of equals, the first."""
    return max(contenders, key=lambda each: round(getattr(each, metric), 9))


def field_of(scene: Scene) -> Field:
    """Let them all run, in this process; whoever is ours is not a rival."""
    caches = map(cache, LIVES)
    return Field(
        tuple(contest(scene, name) for name in PUBLISHED if name != scene.policy),
        tuple(contest(scene, name) for name in caches if name != scene.policy),
        loaded_once(scene),
        contest(scene, EVERYTHING),
    )


def cache(life: str) -> str:
    """The policy of a cache whose entries live so long."""
    return f"ttl:{life}"


def contest(scene: Scene, policy: str, budget: int | None = None) -> Contender:
    """A policy on the scene's windows, from an empty replica."""
    workload, source = scene.workload, scene.source()
    settings = scene.refresh(policy, scene.budget if budget is None else budget)
    refresher = Refresher(settings, workload.score, workload.windows, K, source)
    found = []
    for view in workload.views:
        before = _top(scene, view, refresher.values.of_keys(view.keys))
        unfetched = scene.oracle.judge(view.index, before, K).ndcg
        ranking = refresher.refresh(view)
        found.append(_verdict(scene, view, ranking.rows, len(ranking.look_ups.keys), unfetched))
    return Contender(policy, tuple(found))


def loaded_once(scene: Scene) -> Contender:
    """The values of the start for ever, as in a join of the stream with a table."""
    keys, values = scene.workload.initial()
    found = []
    for view in scene.workload.views:
        rows = _top(scene, view, values[np.searchsorted(keys, view.keys)])
        found.append(_verdict(scene, view, rows, 0))
    return Contender(TABLE, tuple(found))


def judged(scene: Scene, answer: Answer) -> Verdict:
    """An answer of a query."""
    view = scene.workload.views[answer.window.index]
    rows = np.searchsorted(view.keys, np.array(answer.keys, np.int64))
    fetched = 0 if answer.freshness is None else answer.freshness.fetched
    return _verdict(scene, view, rows, fetched)


def truth(scene: Scene, window: int) -> tuple[Key, ...]:
    """Who should be shown, best first."""
    view = scene.workload.views[window]
    rows = ranked(scene.oracle.scores[window], view)[:K]
    return tuple(view.keys[rows].tolist())


def rungs(scene: Scene, field: Field, budget: int) -> list[Rung]:
    """Ours, the published policies that are best by a metric, and all caches: another budget."""
    published = dict.fromkeys(best(field.published, metric).name for metric in METRICS)
    kinds = {
        "ours": [scene.policy],
        "published": [*published],
        "cache": [each.name for each in field.caches],
    }
    return [
        Rung(kind, budget, contest(scene, name, budget))
        for kind, names in kinds.items()
        for name in names
    ]


def needed(found: Iterable[Rung], kind: str, metric: Metric, target: float) -> Rung | None:
    """The rung with the fewest look-ups that is as good as the target; None if none is."""
    enough = [
        rung
        for rung in found
        if rung.kind == kind and getattr(rung.contender, metric) >= target - 1e-9
    ]
    return min(enough, key=lambda rung: rung.contender.fetches, default=None)


def mean(values: Iterable[float]) -> float:
    """0 if there are none."""
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def _top(scene: Scene, view: WindowView, remote: FloatArray) -> IntArray:
    return ranked(scene.workload.scores(view, remote), view)[:K]


def _verdict(
    scene: Scene, view: WindowView, rows: IntArray, fetched: int, unfetched: float | None = None
) -> Verdict:
    verdict = scene.oracle.judge(view.index, rows, K)
    keys = tuple(view.keys[rows].tolist())
    return Verdict(keys, verdict.ndcg, verdict.precision, fetched, unfetched)
