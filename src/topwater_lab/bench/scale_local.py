"""One monitor in this process with many keys, or many groups: what a window and a restart cost.

Every point runs in a process of its own, so that its memory is its own too. A pane holds half of
the keys, drawn at random, so a window of five holds nearly all of them; some were fetched before.
With groups no window ends while it is measured: groups that fall silent would be forgotten.
"""

from __future__ import annotations

import multiprocessing
import statistics
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from topwater.model import Fetched, FloatArray, IntArray, KeyArray
from topwater.monitor import TopKMonitor, build_monitor
from topwater.monitor.grouped import GroupedMonitor
from topwater.monitor.journal import Head, Journal
from topwater.monitor.protocol import Monitor
from topwater.monitor.reduction import reduce_for_shards
from topwater.query import TopKQuery
from topwater.replica import Refresher
from topwater.windows import sliding, tumbling
from topwater_lab.bench.harness import peak_memory, timed

STEP = 60_000
_PANES = 5
_BUDGET = 1_000
_BUSY_GROUPS = 20
_KEYS_A_GROUP = 50
_NEVER = 1_000 * STEP


@dataclass(frozen=True, slots=True)
class LocalPoint:
    """What is measured.

    Attributes
    ----------
    keys
        In a window.
    text
        Whether keys are text of twelve characters, and not whole numbers.
    groups
        How many are remembered; 0 for one ranking. Few of them have events.
    fetched
        Of how many keys a value is known before.
    windows
        How many are closed, after a first.
    """

    keys: int
    text: bool = False
    groups: int = 0
    fetched: int = 0
    windows: int = 5


class Computed:
    """A source whose values follow from the key and from ``turn``, which its user moves."""

    punctual = True

    def __init__(self) -> None:
        self.turn = 0

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        """One number a key; it takes no time."""
        return Fetched(values_of(numbers(keys), self.turn), np.ones(len(keys), np.bool_))


def values_of(keys: IntArray, turn: int) -> FloatArray:
    """Values between 1 and 400, most of them small; all change every seven turns."""
    mixed = (keys.astype(np.uint64) + np.uint64(turn // 7)) * np.uint64(0x9E3779B97F4A7C15)
    return np.exp(6.0 * (mixed >> np.uint64(40)).astype(np.float64) / 2.0**24)


def numbers(keys: KeyArray) -> IntArray:
    """The number in each key."""
    if keys.dtype.kind in "iu":
        return keys.astype(np.int64)
    return np.array([int(key[1:]) for key in keys.tolist()], np.int64)


def measured(points: list[LocalPoint], seed: int) -> Iterator[dict[str, Any]]:
    """A row for each point, in order."""
    spawn = multiprocessing.get_context("spawn")
    for point in points:
        with ProcessPoolExecutor(1, mp_context=spawn) as alone:
            yield alone.submit(measure, point, seed).result()


def measure(point: LocalPoint, seed: int = 7) -> dict[str, Any]:
    """What one point costs, in the columns of the benchmark."""
    run = _Run(point, np.random.default_rng(seed))
    run.fill()
    steps = [run.step() for _ in range(point.windows)]
    restored, restart = timed(run.restored)
    closing = statistics.median(step.closed for step in steps)
    memory = peak_memory()
    return {
        "case": "local",
        "keys": point.keys,
        "text": point.text,
        "groups": run.groups,
        "shards": 1,
        "close_ms": 1e3 * closing,
        "close_ns_per_key": None if point.groups else 1e9 * closing / point.keys,
        "state_bytes": run.state_bytes,
        "written_bytes": statistics.median(step.written for step in steps),
        "came_bytes": run.came,
        "batch_ms_p50": 1e3 * statistics.median(step.whole for step in steps),
        "restart_s": restart.cpu,
        "rss_bytes": memory,
        "same_after_restart": run.next_answers(restored) == run.next_answers(run.monitor),
    }


class Step(NamedTuple):
    """What one pane took: seconds of CPU to take it in, to close a window and to write the journal.

    ``written`` is in bytes.
    """

    taken: float
    closed: float
    recorded: float
    written: int

    @property
    def whole(self) -> float:
        """All of them, as in a micro-batch."""
        return self.taken + self.closed + self.recorded


class _Run:
    """A monitor with its journal, and the stream that it is fed with."""

    def __init__(self, point: LocalPoint, rng: np.random.Generator) -> None:
        self._point = point
        self._rng = rng
        self._pane = 0
        self.came = 0
        self.query = _query(point)
        self._source = Computed()
        self._journal = Journal(self._build())
        self._head, self._chunks = b"", dict[int, bytes]()

    @property
    def monitor(self) -> Monitor:
        return self._journal.monitor

    @property
    def groups(self) -> int:
        """How many are remembered."""
        return len(self.monitor.book) if isinstance(self.monitor, GroupedMonitor) else 0

    @property
    def state_bytes(self) -> int:
        return len(self._head) + sum(map(len, self._chunks.values()))

    def restored(self) -> Monitor:
        """Another monitor, from the journal."""
        journal = Journal(self._build())
        journal.rebuild(Head.unpack(self._head), self._chunks.get)
        return journal.monitor

    def _build(self) -> Monitor:
        return build_monitor(self.query, source=self._source)

    def fill(self) -> None:
        """Until a whole window was answered: what comes then is what comes for ever."""
        if isinstance(self.monitor, TopKMonitor) and self._point.fetched:
            known = np.arange(self._point.fetched)
            refresher = self.monitor._refresher
            assert isinstance(refresher, Refresher)  # noqa: S101  the query has a remote part
            keys = np.array(self._keys(known).to_pylist())
            refresher.seed_replica(
                keys.astype(object) if self._point.text else keys, values_of(known, 0), at=0
            )
        if self._point.groups:
            self._take_in(np.arange(self._point.groups))
        for _ in range(_PANES + 1):
            self.step()

    def step(self) -> Step:
        """The next pane, and the window that it ends."""
        batch = self._batch()
        self.came = sum(len(part.pack()) for _, part in reduce_for_shards(self.query, batch))
        _, taken = timed(lambda: self.monitor.ingest(batch))
        self._pane = self._source.turn = self._pane + 1
        _, closed = timed(lambda: self.monitor.close_until(self._pane * STEP + 1))
        changes, recorded = timed(lambda: self._journal.record(str(self._pane)))
        self._head = changes.head
        self._chunks |= changes.puts
        for each in changes.removes:
            del self._chunks[each]
        return Step(taken.cpu, closed.cpu, recorded.cpu, changes.size)

    def next_answers(self, monitor: Monitor) -> list[list[tuple[object, float]]]:
        """What the window that is open now would show."""
        if self._point.groups:
            answers = monitor.flush()
        else:
            answers = monitor.close_until((self._pane + 1) * STEP + 1)
        return [[(row.key, row.score) for row in answer.rows] for answer in answers]

    def _batch(self) -> pa.Table:
        if self._point.groups:
            return self._grouped(np.arange(min(_BUSY_GROUPS, self._point.groups)))
        half = self._rng.permutation(self._point.keys)[: max(1, self._point.keys // 2)]
        return self._table(np.repeat(half, 1 + half % 2))

    def _take_in(self, groups: IntArray) -> None:
        self.monitor.ingest(self._grouped(groups))

    def _grouped(self, groups: IntArray) -> pa.Table:
        table = self._table(np.tile(np.arange(_KEYS_A_GROUP), len(groups)))
        named = pa.array(np.repeat(groups, _KEYS_A_GROUP))
        return table.append_column("group", named)

    def _table(self, keys: IntArray) -> pa.Table:
        at = self._pane * STEP + 1 + self._rng.integers(0, STEP - 1, len(keys))
        return pa.table({"who": self._keys(keys), "at": pa.array(at)})

    def _keys(self, keys: IntArray) -> pa.Array:
        if not self._point.text:
            return pa.array(keys)
        return pa.array([f"u{key:011d}" for key in keys.tolist()])


def _query(point: LocalPoint) -> TopKQuery:
    return TopKQuery(
        key="who",
        time="at",
        window=tumbling(_NEVER) if point.groups else sliding(_PANES * STEP, STEP),
        take={"n": "count"},
        score="n * remote",
        k=10,
        refresh={"remote": "remote", "budget": _BUDGET},
        group_by="group" if point.groups else None,
    )
