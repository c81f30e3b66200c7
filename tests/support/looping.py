"""Queries with a remote part over small streams, and the one rule with true values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from topwater.model import Answer, FloatArray, IntArray
from topwater.monitor import TopKMonitor
from topwater.query import TopKQuery
from topwater.replica.proposals import Proposal, Trials
from topwater.windows import sliding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from topwater.testing import Scripted

Event = tuple[Any, int]
"""(key, time)"""

MINUTE = 60_000


def query_of(**changes: Any) -> TopKQuery:
    """Mentions plus a remote value, over 100 s every minute; other refresh settings by name."""
    plain: dict[str, Any] = {
        "key": "who",
        "time": "at",
        "window": sliding("100 s", "60 s"),
        "take": {"n": "count"},
        "score": "n + remote",
        "k": 3,
    }
    named = {name: changes.pop(name) for name in [*changes] if name in plain}
    return TopKQuery(**{**plain, **named}, refresh={"remote": "remote", **changes})


def batch_of(events: Sequence[Event]) -> dict[str, Any]:
    keys = [key for key, _ in events]
    whole = all(isinstance(key, int) for key in keys)
    return {
        "who": np.array(keys, np.int64 if whole else object),
        "at": np.array([time for _, time in events], np.int64),
    }


def random_events(
    seed: int, n: int = 300, keys: int = 20, until: int = 20 * MINUTE, kind: str = "int"
) -> list[Event]:
    """Events in order of time, a few keys much more often than the others."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(1, until, n)).tolist()
    names = rng.zipf(1.3, n) % keys
    return [(int(k) if kind == "int" else f"k{k}", t) for k, t in zip(names, times, strict=True)]


def random_script(
    seed: int, keys: int = 20, changes: int = 12, kind: str = "int"
) -> dict[Any, list[tuple[int, float]]]:
    """What each key is worth, and from when on."""
    rng = np.random.default_rng([seed, 1])
    return {
        (key if kind == "int" else f"k{key}"): [(0, float(rng.integers(5)))]
        + [
            (int(at), float(rng.integers(5)))
            for at in np.sort(rng.integers(1, 20 * MINUTE, rng.integers(changes + 1)))
        ]
        for key in range(keys)
    }


class Loop:
    """A monitor whose source's clock stands at the close of the window being answered."""

    def __init__(self, query: TopKQuery, source: Scripted, **more: Any) -> None:
        self.query, self.source = query, source
        self.monitor = TopKMonitor.build(query, source=source, **more)

    def ingest(self, events: Sequence[Event]) -> None:
        if events:
            self.monitor.ingest(batch_of(events))

    def answer(self) -> Answer:
        """The next window's."""
        close = self.monitor.next_close()
        assert close is not None
        self.source.now = close - 1
        (answer,) = self.monitor.close_until(close)
        return answer

    def answers(self, until: int) -> list[Answer]:
        found = []
        while (close := self.monitor.next_close()) is not None and close <= until:
            found.append(self.answer())
        return found

    def restart(self) -> None:
        state = self.monitor.snapshot()
        self.monitor = TopKMonitor.build(self.query, state, source=self.source)


def one_rule(
    query: TopKQuery,
    events: Iterable[Event],
    answer: Answer,
    score: Callable[[int, float], float],
    value: Callable[[Any], float],
) -> list[tuple[Any, float]]:
    """(key, score) of the k best of the answer's window, from scratch and by true values."""
    inside: dict[Any, list[int]] = {}
    for key, time in events:
        if answer.window.start < time <= answer.window.end:
            inside.setdefault(key, []).append(time)
    scored = [(key, score(len(times), value(key)), max(times)) for key, times in inside.items()]
    ranked = sorted(
        (row for row in scored if math.isfinite(row[1])), key=lambda row: (-row[1], -row[2], row[0])
    )
    return [(key, each) for key, each, _ in ranked[: query.k]]


def shown(answer: Answer) -> list[tuple[Any, float]]:
    return [(row.key, row.score) for row in answer.rows]


@dataclass
class SortedPlaces:
    """Places that are written down."""

    position: IntArray
    ranking: FloatArray

    @property
    def count(self) -> int:
        return len(self.ranking)

    def at(self, rows: IntArray, within: int | None = None) -> IntArray:
        place = self.position[rows]
        bound = place if within is None else np.minimum(place, within)
        return np.where(place < self.count, bound, self.count)

    def score_of(self, rows: IntArray) -> FloatArray:
        return np.append(self.ranking, -np.inf)[np.minimum(self.position[rows], self.count)]

    def first(self, most: int) -> IntArray:
        rows = np.argsort(self.position, kind="stable")
        return rows[self.position[rows] < min(most, self.count)]

    def best_of(self, rows: IntArray, most: int) -> IntArray:
        return rows[np.argsort(self.position[rows], kind="stable")][:most]

    def scores(self, most: int) -> FloatArray:
        return self.ranking[:most]


def proposal_of(n: int, **columns: Any) -> Proposal:
    """n keys ranked 0 to n - 1, all fetched at 0 and in the window; other columns by name."""
    plain: dict[str, Any] = {
        "keys": np.arange(n),
        "value": np.zeros(n),
        "fetched": np.zeros(n, np.int64),
        "asked": np.zeros(n, np.int64),
        "vain": np.zeros(n, np.int64),
        "last_event": np.zeros(n, np.int64),
        "hinted": np.zeros(n, bool),
        "rates": np.zeros(n),
        "presence": np.full(n, 0.5),
    }
    own = {name: columns.pop(name, column) for name, column in plain.items()}
    position = columns.pop("position", np.arange(n))
    ranking = columns.pop("ranking", -np.arange(n, dtype=np.float64))
    score_at = columns.pop("score_at", lambda _, remote: remote)
    bounds_at = columns.pop("bounds_at", None)
    settings: dict[str, Any] = {"window": 0, "now": 0, "width": 100, "step": 60, "k": 3}
    return Proposal(
        **{**settings, "slots": np.arange(n), **columns},
        columns={name: column.__getitem__ for name, column in own.items()},
        places=SortedPlaces(position, ranking),
        trials=Trials(score_at, bounds_at),
    )
