"""What a budget would bring: a query tried on a recording, before anybody pays for a look-up.

Every budget is tried on the same events and the same remote values, and compared with answers that
read every value at every window. Beside it stands a cache that is as right: how long its entries
may live, and how many look-ups that costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from topwater.errors import QueryError
from topwater.jobs.recorded_events import RecordedEvents
from topwater.jobs.recorded_values import PartlyKnown
from topwater.local import run
from topwater.model import Answer, Key, KeyArray, Millis
from topwater.query import TopKQuery
from topwater.remote.known_changes import Steps
from topwater.replica import Budget, RefreshSettings
from topwater.scoring.accuracy import ndcg, precision
from topwater.validation import span

BUDGETS = (1, 3, 7, 15)
"""What is tried by default."""

_DAY: Millis = 86_400_000
_BELOW = 50  # places after the k-th: what is further down has no gain that could be told from none
_NO_LIMIT = 1_000_000_000
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""How long entries live in the caches that are tried, in steps of the window."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How right the answers of one run were, on average, and what they cost."""

    precision: float
    ndcg: float
    said_precision: float
    said_ndcg: float
    look_ups_a_day: float


@dataclass(frozen=True, slots=True)
class PlannedBudget:
    """One budget, and the cache that is as right.

    Attributes
    ----------
    budget
        Look-ups a window.
    trial
        What it brought.
    ttl
        The longest life of a cache's entries with which precision and nDCG are as high; None if
        that is longer than the recording: nothing need ever be read twice.
    cache
        What such a cache brought.
    """

    budget: int
    trial: Trial
    ttl: Millis | None
    cache: Trial


@dataclass(frozen=True, slots=True)
class PlannedAccuracy:
    """A budget by accuracy, and what it would take.

    Attributes
    ----------
    accuracy, at_most
        What is asked, and how many look-ups a window may have.
    trial
        What it brought.
    """

    accuracy: float
    at_most: int
    trial: Trial


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """What each budget would bring.

    Attributes
    ----------
    rows
        The budgets, the smallest first.
    windows, keys
        How many windows were answered, and how many keys the stream has.
    unknown_keys
        Those of them that the recording does not have: they are in no answer.
    every_key
        What reading every key for every window costs a day.
    target
        The accuracy that the query asks for, if it does.
    by_accuracy
        A budget that spends as little as reaches an accuracy, if that was tried.
    """

    rows: tuple[PlannedBudget, ...]
    windows: int
    keys: int
    unknown_keys: int
    every_key: float
    target: float | None = None
    by_accuracy: PlannedAccuracy | None = None

    @property
    def enough(self) -> int | None:
        """The least budget that reaches the accuracy asked for; None if none does."""
        reached = (row.budget for row in self.rows if row.trial.precision >= (self.target or 0.0))
        return next(reached, None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rows = [
            {
                "budget": row.budget,
                **asdict(row.trial),
                "ttl_ms": row.ttl,
                **{f"ttl_{name}": value for name, value in asdict(row.cache).items()},
            }
            for row in self.rows
        ]
        told = {"windows": self.windows, "keys": self.keys, "unknown_keys": self.unknown_keys}
        found = self.by_accuracy
        asked = None if found is None else {"accuracy": found.accuracy, "at_most": found.at_most}
        return {
            "plan": "budget",
            "rows": rows,
            **told,
            "every_key_a_day": self.every_key,
            "by_accuracy": None if found is None or asked is None else asked | asdict(found.trial),
        }


class Trials:
    """Runs one query over one recording, as often as asked.

    Parameters
    ----------
    query
        What is asked; its policy is tried.
    events
        The stream.
    remote
        The remote values over time.
    """

    def __init__(self, query: TopKQuery, events: RecordedEvents, remote: Steps) -> None:
        if query.single is None:
            raise QueryError(
                "has no remote part, so there is nothing to look up"
                if query.joins is None
                else "has several remote values, and only one is planned for",
                field="query.refresh",
                fix='write refresh = {remote = "followers"}',
            )
        self._query = query
        self._refresh: RefreshSettings = query.single
        self._events = events.batches
        self._remote = remote
        self._truth: dict[tuple[Millis, Key | None], list[Key]] = {}
        self._read = 0
        for each in self._answers(None, query.k + _BELOW):
            self._truth[_place(each)] = each.keys
            self._read += _fetched(each)
        if not self._truth:
            raise QueryError("gives no answer", field="stream", fix="is it empty, or all too late?")

    @property
    def windows(self) -> int:
        """How many windows hold something."""
        return len({end for end, _ in self._truth})

    def with_budget(self, budget: int) -> Trial:
        """What this many look-ups a window bring."""
        old = self._refresh.budget
        # A set-point has no number of look-ups to carry over.
        carry_over = old.carry_over and old.set_point is None
        new = Budget(budget, carry_over=carry_over, accuracy=old.accuracy)
        return self._trial(replace(self._refresh, budget=new))

    def with_accuracy(self, accuracy: float, at_most: int) -> Trial:
        """What the fewest look-ups that reach an accuracy bring, and what they cost."""
        new = Budget(accuracy=accuracy, at_most=at_most)
        return self._trial(replace(self._refresh, budget=new))

    def with_cache(self, ttl: Millis) -> Trial:
        """What a cache brings that rereads whatever is older."""
        return self._trial(
            replace(self._refresh, policy=f"ttl:{ttl} ms", budget=Budget(_NO_LIMIT), memory=None)
        )

    def every_key(self) -> float:
        """What reading every key for every window costs a day."""
        return self._a_day(self._read)

    def _trial(self, refresh: RefreshSettings) -> Trial:
        found = list(self._answers(refresh, self._query.k))
        right = np.array([self._compared(each) for each in found])
        said = [(each.freshness.precision, each.freshness.ndcg) for each in found if each.freshness]
        fetched = sum(_fetched(each) for each in found)
        (hits, gain), (said_hits, said_gain) = right.mean(axis=0), np.mean(said, axis=0)
        a_day = self._a_day(fetched)
        return Trial(float(hits), float(gain), float(said_hits), float(said_gain), a_day)

    def _compared(self, answer: Answer) -> tuple[float, float]:
        """Precision and nDCG of an answer."""
        truth = self._truth.get(_place(answer), [])
        n, k = len(truth), self._query.k
        places = {key: place for place, key in enumerate(truth)}
        ranks = np.array([places.get(key, n) for key in answer.keys], np.int64)
        return float(precision(ranks, n, k)), float(ndcg(ranks, n, k))

    def _answers(self, refresh: RefreshSettings | None, k: int) -> Iterator[Answer]:
        if refresh is None:  # everything is read, whatever the policy
            everything = {"policy": "worth", "budget": Budget(None), "memory": None, "audit": 0.0}
            refresh = replace(self._refresh, **everything)  # type: ignore[arg-type]
        query = replace(self._query, refresh=refresh, k=k)
        return run(query, self._events, source=PartlyKnown(self._remote))

    def _a_day(self, fetched: int) -> float:
        ends = [end for end, _ in self._truth]
        step = self._query.window.step
        return fetched * _DAY / (max(ends) - min(ends) + step)


def budget_plan(
    query: TopKQuery,
    events: RecordedEvents,
    remote: Steps,
    budgets: Sequence[int] = BUDGETS,
    say: Callable[[str], None] = lambda _: None,
    accuracy: float | None = None,
) -> BudgetPlan:
    """Try budgets on a recording.

    Parameters
    ----------
    query
        What is asked; its policy, aim and carry-over are kept.
    events
        The stream.
    remote
        What the remote values were over time.
    budgets
        How many look-ups a window are tried.
    say
        Is told what goes on.
    accuracy
        Also tried is a budget that spends as little as reaches this, with what the query allows for
        one window, or else all keys.

    Raises
    ------
    QueryError
        If the query has no remote part, or the recording knows nothing of the stream's keys or of
        its time.
    """
    unknown = _unknown_keys(events, remote)
    _require_overlap(events, remote)
    say("every value at every window")
    trials = Trials(query, events, remote)
    caches = _Caches(trials, query, say)
    rows = []
    for budget in sorted(set(budgets)):
        say(Budget(budget).in_words)
        trial = trials.with_budget(budget)
        rows.append(PlannedBudget(budget, trial, *caches.as_right_as(trial)))
    target = None if query.refresh is None else query.refresh.budget.accuracy
    found = None if accuracy is None else _by_accuracy(trials, query, events, accuracy, say)
    return BudgetPlan(
        rows=tuple(rows),
        windows=trials.windows,
        keys=len(events.keys),
        unknown_keys=unknown,
        every_key=trials.every_key(),
        target=target,
        by_accuracy=found,
    )


def _by_accuracy(
    trials: Trials,
    query: TopKQuery,
    events: RecordedEvents,
    accuracy: float,
    say: Callable[[str], None],
) -> PlannedAccuracy:
    allowed = None if query.single is None else query.single.budget.at_most
    at_most = allowed or max(1, len(events.keys))
    say(Budget(accuracy=accuracy, at_most=at_most).in_words)
    return PlannedAccuracy(accuracy, at_most, trials.with_accuracy(accuracy, at_most))


class _Caches:
    """Caches whose entries live shorter and longer, each tried once."""

    def __init__(self, trials: Trials, query: TopKQuery, say: Callable[[str], None]) -> None:
        self._trials = trials
        self._say = say
        self._tried: dict[Millis, Trial] = {}
        self._longest = trials.windows * query.window.step
        lives = [steps * query.window.step for steps in _STEPS]
        self._lives = [*(life for life in lives if life < self._longest), self._longest]

    def as_right_as(self, trial: Trial) -> tuple[Millis | None, Trial]:
        """The longest life with which a cache is as right, by bisection."""
        low, high = 0, len(self._lives)  # the shortest is right enough: it reads everything
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_as_right(self._cache(self._lives[middle]), trial):
                low = middle
            else:
                high = middle
        ttl = self._lives[low]
        return None if ttl == self._longest else ttl, self._cache(ttl)

    @staticmethod
    def _is_as_right(cache: Trial, trial: Trial) -> bool:
        return cache.precision >= trial.precision and cache.ndcg >= trial.ndcg

    def _cache(self, ttl: Millis) -> Trial:
        if ttl not in self._tried:
            self._say(f"a cache whose entries live {span(ttl)}")
            self._tried[ttl] = self._trials.with_cache(ttl)
        return self._tried[ttl]


def _place(answer: Answer) -> tuple[Millis, Key | None]:
    return answer.window.end, answer.group


def _fetched(answer: Answer) -> int:
    return 0 if answer.freshness is None else answer.freshness.fetched


def _unknown_keys(events: RecordedEvents, remote: Steps) -> int:
    """How many keys of the stream the recording does not have."""
    keys, kept = events.keys, remote.distinct
    unknown = int(np.count_nonzero(~np.isin(keys, kept)))
    if unknown == len(keys):
        raise QueryError(
            f"knows none of the stream's keys: it has {_some(kept)}, the stream {_some(keys)}",
            field="recording",
            fix="record the source that the query asks, by the keys of the stream",
        )
    return unknown


def _some(keys: KeyArray) -> str:
    told = ", ".join(repr(key) for key in keys[:3].tolist())
    return f"{told}, …" if len(keys) > 3 else told


def _require_overlap(events: RecordedEvents, remote: Steps) -> None:
    start, end = int(remote.times.min()), int(remote.times.max())
    if start > events.last or end < events.first - _DAY:
        raise QueryError(
            f"is from another time: {_moment(start)} to {_moment(end)}, and the stream is of "
            f"{_moment(events.first)} to {_moment(events.last)}",
            field="recording",
            fix="record the remote values while the stream runs",
        )


def _moment(time: Millis) -> str:
    return datetime.fromtimestamp(time / 1_000, UTC).isoformat(" ", "seconds")
