"""New keys all the time, in this process: what is kept of them stops growing at its bound.

::

    minute      0      1      2      3      4      5      6
    new keys   ├──────────────────────────────┤                  of minute 0, with events for five
                      ├──────────────────────────────┤           of minute 1
"""

from __future__ import annotations

import multiprocessing
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from topwater.monitor import TopKMonitor
from topwater.monitor.journal import Journal
from topwater.query import TopKQuery
from topwater.replica import Refresher
from topwater.windows import sliding
from topwater_lab.bench.harness import memory_now, timed
from topwater_lab.bench.scale_local import STEP, Computed

_PANES = 5
_LEAST_OFTEN = 24
"""How often it is looked at, at least, what is kept."""

_KEPT = ("remembered", "replica", "slots", "state", "resident")


@dataclass(frozen=True, slots=True)
class ChurnPoint:
    """What is measured.

    Attributes
    ----------
    minutes
        How long the stream is.
    new
        How many keys are new in each minute, and have events for five.
    budget
        Look-ups of a window: one a minute.
    memory
        The replica's bound; None for the default.
    """

    minutes: int = 24 * 60
    new: int = 3_000
    budget: int = 300
    memory: int | None = None

    @property
    def query(self) -> TopKQuery:
        """What is asked."""
        refresh: dict[str, object] = {"remote": "remote", "budget": self.budget}
        return TopKQuery(
            key="who",
            time="at",
            window=sliding(_PANES * STEP, STEP),
            take={"n": "count"},
            score="n * remote",
            k=10,
            refresh=refresh if self.memory is None else refresh | {"memory": self.memory},
        )


class Look(NamedTuple):
    """What is kept at some time: keys and bytes of the replica, slots, bytes of state and process.

    ``forgotten`` counts keys that had to go since the beginning.
    """

    minute: int
    remembered: int
    replica: int
    slots: int
    state: int
    resident: int
    forgotten: int


class Churn(NamedTuple):
    """A whole run: what was kept, and seconds and bytes of each minute."""

    looks: list[Look]
    closed: list[float]
    written: list[int]

    @property
    def bound(self) -> int | None:
        """The first look after the bound was met."""
        return next((at for at, look in enumerate(self.looks) if look.forgotten), None)

    @property
    def growth(self) -> float:
        """The most of the last quarter, as a multiple of the most between the bound and that.

        That of whatever grows most. A bound that is met in the second half, or never, can't make
        it smaller: what grows all the time then gives 4/3.
        """
        half, last = len(self.looks) // 2, len(self.looks) * 3 // 4
        before = self.looks[half if self.bound is None else min(self.bound, half) : last]
        return max(_most(self.looks[last:], name) / _most(before, name) for name in _KEPT)


def _most(looks: Sequence[Look], name: str) -> int:
    return max(int(getattr(look, name)) for look in looks)


def churn(point: ChurnPoint, seed: int = 7) -> Churn:
    """Run the whole stream."""
    monitor = TopKMonitor.build(point.query, source=Computed())
    journal, sizes = Journal(monitor), dict[int, int]()
    rng = np.random.default_rng(seed)
    found, forgotten = Churn([], [], []), 0
    every = max(1, min(60, point.minutes // _LEAST_OFTEN))
    for minute in range(point.minutes):
        monitor.ingest(_batch(point, minute, rng))
        answers, took = timed(lambda end=(minute + 1) * STEP + 1: monitor.close_until(end))  # type: ignore[misc]
        forgotten += sum(answer.counts.forgotten for answer in answers)
        changes = journal.record(str(minute))
        sizes |= {each: len(chunk) for each, chunk in changes.puts.items()}
        for each in changes.removes:
            del sizes[each]
        found.closed.append(took.cpu)
        found.written.append(changes.size)
        if (minute + 1) % every == 0:
            state = len(changes.head) + sum(sizes.values())
            found.looks.append(_look(monitor, minute, state, forgotten))
    return found


def _batch(point: ChurnPoint, minute: int, rng: np.random.Generator) -> pa.Table:
    """Every new key once, and three events for each of keys that came in the last minutes."""
    first, end = point.new * max(0, minute - _PANES + 1), point.new * (minute + 1)
    new = np.arange(point.new * minute, end)
    who = np.concatenate([new, rng.integers(first, end, 3 * point.new)])
    at = minute * STEP + 1 + rng.integers(0, STEP - 1, len(who))
    return pa.table({"who": who, "at": at})


def _look(monitor: TopKMonitor, minute: int, state: int, forgotten: int) -> Look:
    assert isinstance(monitor.refresher, Refresher)  # noqa: S101  the query has a remote part
    replica = monitor.refresher.replica
    return Look(
        minute + 1, len(replica), replica.size, replica.capacity, state, memory_now(), forgotten
    )


def churn_rows(points: Sequence[ChurnPoint], seed: int) -> Iterator[dict[str, Any]]:
    """A row for each point, from a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    for point in points:
        with ProcessPoolExecutor(1, mp_context=spawn) as alone:
            yield row_of(point, alone.submit(churn, point, seed).result())


def row_of(point: ChurnPoint, found: Churn) -> dict[str, Any]:
    """A run in the columns of the benchmark, and some of its own."""
    last, bound = found.looks[-1], found.bound
    close = statistics.median(found.closed)
    return {
        "case": "churn",
        "keys": point.minutes * point.new,
        "text": False,
        "groups": 0,
        "shards": 1,
        "minutes": point.minutes,
        "bound_minute": None if bound is None else found.looks[bound].minute,
        "growth": found.growth,
        "remembered": last.remembered,
        "replica_bytes": last.replica,
        "forgotten": last.forgotten,
        "close_ms": 1e3 * close,
        "close_ns_per_key": 1e9 * close / (_PANES * point.new),
        "state_bytes": last.state,
        "written_bytes": statistics.median(found.written),
        "came_bytes": None,
        "batch_ms_p50": 1e3 * close,
        "restart_s": None,
        "rss_bytes": last.resident,
    }
