"""Stage 2: a monitor inside Spark's state store.

All decisions are the monitor's. Spark brings the parts of a micro-batch, keeps the journal
and takes the answers. Time comes with the parts: every shard sees when the events of the whole
micro-batch happened, so all shards close the same windows in the same micro-batch, which is the
very one whose events end them.
"""

from __future__ import annotations

import logging
from functools import partial
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from topwater.errors import AFRESH, StateError
from topwater.model import Answer, Shard
from topwater.monitor import Monitor
from topwater.monitor.journal import Head, Journal
from topwater.monitor.protocol import Recorded
from topwater.monitor.reduction import PartialBatch
from topwater.monitor.shard_monitors import shard_monitor
from topwater.monitor.source_table import SourceTable
from topwater.monitor.stored_journal import StoredJournal, stored_size
from topwater.query import TopKQuery
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.spark import partials, sieve
from topwater.spark.answer_metrics import source_figures, window_figures
from topwater.spark.chunk_map import SparkChunks
from topwater.spark.heartbeats import heeded
from topwater.spark.monitor_cache import CACHE
from topwater.spark.notice_stream import notices_of, settings_of, split_rows
from topwater.spark.packed_rows import (
    packed,
    packed_figures,
    packed_late,
    packed_notices,
)
from topwater.spark.shipping import Parcel, opened
from topwater.spark.workers import set_modules_aside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql.streaming.stateful_processor import (
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )


STATE = "monitor"
"""The state variable with the journal, whose it is, of how many shards, and of which ranking."""

# The form of states that were one snapshot, so that they are told from this in words. And not as
# text: for that Spark's parser would be asked twice, in every task.
_FORM = StructType(
    [
        StructField("snapshot", BinaryType()),
        StructField("shard", IntegerType()),
        StructField("shards", IntegerType()),
        StructField("origin", StringType()),
        StructField("name", StringType()),
    ]
)

_LARGE = 256 * 2**20
_READ_PER_SECOND = 50 * 2**20  # what Spark's state server was measured to give
_log = logging.getLogger("topwater")


class ShardJournal(NamedTuple):
    """A monitor with its journal, what the store has of that, and how the monitor was come by."""

    journal: Journal[Any]
    stored: StoredJournal
    how: str


class MonitorProcessor(StatefulProcessor):
    """Runs a monitor per shard, and keeps its journal.

    A monitor that this worker has kept goes on; otherwise one is built from the journal.

    Parameters
    ----------
    query
        As JSON.
    shards
        How many there are.
    source
        Where remote values are fetched, ready to travel, or nothing.
    late
        Whether to give out what came too late.
    bounded
        Whether there is only one batch, after which every window is to be answered.
    origin
        What else makes a state this query's own: see :func:`require_same_origin`.
    name
        Of the ranking, where there are several: see :func:`require_same_name`.
    run
        What tells this query from all others. Without it no monitor is kept in the worker, and
        nothing is told of how the state was read and written.
    changes
        How notices of changes are written, as JSON, if they are heard here. Those that are not are
        for the stage behind.
    """

    def __init__(
        self,
        query: str,
        *,
        shards: int = 1,
        source: Parcel | None = None,
        late: bool = False,
        bounded: bool = False,
        origin: str = "",
        name: str = "",
        run: str = "",
        changes: str = "",
    ) -> None:
        self._query = query
        self._shards = shards
        self._source = source
        self._late = late
        self._bounded = bounded
        self._origin = origin
        self._name = name
        self._run = run
        self._changes = changes

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        set_modules_aside()
        self._state, self._chunks = opened_state(handle)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002  a place: see topwater.spark.shard_placement
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Take in a micro-batch, and answer the windows that it ends."""
        # The order in which tasks finish must not decide how sums are rounded.
        ordered = sorted(rows, key=lambda row: (row.task, row.part))
        shard = ordered[0].shard
        own = self._journal(shard)
        monitor = own.journal.monitor
        events, notices = split_rows(ordered)
        found = []
        for row in notices:
            if self._changes:
                monitor.learn_notices(*notices_of(bytes(row.portion)))
            else:
                found.append(packed_notices(bytes(row.portion)))
        monitor.admit(*heeded(events, partial(self._read, monitor.query, shard)))
        began = perf_counter()
        answers = self._answers(monitor)
        found += [packed(answer, monitor.query) for answer in answers]
        closing = perf_counter() - began
        if self._late and (late := monitor.take_late()) is not None:
            found += packed_late(late, monitor.query)
        if not self._bounded:
            figures = self._record(own, shard)
            if self._run:
                figures |= {own.how: 1, "came": sum(len(row.portion) for row in ordered)}
                figures |= {"closing_ms": round(1_000 * closing)}
                # Where there is a stage behind, it makes the answers.
                whole = self._shards == 1 or monitor.query.group_by is not None
                told = window_figures(answers) if whole else {}
                found.append(packed_figures(figures | self._asked() | told))
        return (Row(**row) for row in found)

    def _answers(self, monitor: Monitor) -> list[Answer]:
        if self._bounded:
            return monitor.flush()
        watermark = monitor.watermark
        return [] if watermark is None else monitor.close_until(watermark)

    def _read(self, query: TopKQuery, shard: int, packed: bytes) -> Iterable[PartialBatch]:
        if packed.startswith(partials.MARK):
            return partials.read_partials(packed, query)
        if not packed.startswith(sieve.MARK):
            return [PartialBatch.unpack(packed)]
        # What the sieve sends is for all shards: it does not know which key is whose.
        parts = sieve.read_partial_batch(packed, sieve.plain(query)).split(self._shards)
        return islice(parts, shard, shard + 1)

    def _journal(self, shard: int) -> ShardJournal:
        """The monitor of a shard with its journal."""
        value = self._state.get()
        kept = CACHE.take((self._run, shard))
        if value is None:
            return ShardJournal(Journal(self._monitor(shard)), StoredJournal(self._chunks), "begun")
        require_same_name(value[4], self._name)
        require_same_shards(value[2], self._shards, _rescale(self._shards))
        require_same_origin(value[3], self._origin)
        stored = StoredJournal.unpack(bytes(value[0]), self._chunks)
        head = Head.unpack(stored.head)
        if kept is not None:
            missed = head.sequence - kept.version[0]
            if kept.catch_up(head, stored.get):
                return ShardJournal(kept, stored, "caught_up" if missed else "kept")
            kept.monitor.close()
        journal = Journal(self._monitor(shard))
        journal.rebuild(head, stored.get)
        return ShardJournal(journal, stored, "rebuilt")

    def _record(self, own: ShardJournal, shard: int) -> dict[str, float]:
        """Write what changed; how many bytes that was, and how many there are now."""
        journal, stored, _ = own
        before = journal.size
        # Random, and not the task's number: that of an attempt on another machine may be the same.
        changes = journal.record(uuid4().hex)
        warn_of_growth(shard, before, journal.size)
        written = stored.write(changes)
        value = stored.pack()
        self._state.update((value, shard, self._shards, self._origin, self._name))
        if self._run:
            CACHE.put((self._run, shard), journal)
        return {"written": written + len(value), "held": stored_size(value, journal.size)}

    def _asked(self) -> dict[str, float]:
        """How often each of several sources was asked since this was last reported."""
        source = None if self._source is None else opened(self._source)
        return source_figures(source.take_tally()) if isinstance(source, SourceTable) else {}

    def _monitor(self, shard: int) -> Recorded:
        return shard_monitor(
            TopKQuery.from_json(self._query),
            source=None if self._source is None else opened(self._source),
            shard=Shard(shard, self._shards),
            keep_late=self._late,
            clock=SYSTEM_CLOCK,
            changes=settings_of(self._changes),
        )


def opened_state(handle: StatefulProcessorHandle) -> tuple[ValueState, SparkChunks]:
    """The journal's value with whose it is, and the map of chunks."""
    return handle.getValueState(STATE, _FORM), SparkChunks(handle)


def warn_of_growth(shard: int, before: int, after: int) -> None:
    """Say when a shard's state has become so large that reading it back takes long.

    Not each time: at a quarter of a gigabyte, at half a gigabyte, and so on.
    """
    size = _LARGE
    while size <= after:
        if before < size:
            seconds = round(after / _READ_PER_SECOND)
            _log.warning(
                "the state of shard %d has %d MB; a worker that has lost its monitor needs about "
                "%d seconds to read it: use more shards, or remember less (refresh.limit)",
                shard,
                after // 2**20,
                seconds,
            )
        size *= 2


def _rescale(shards: int) -> str:
    return f"stop the query and run topwater state rescale CHECKPOINT --shards {shards}"


def require_same_shards(kept: int, shards: int, otherwise: str) -> None:
    """Raise unless a state was written by as many shards as there are now."""
    if kept != shards:
        raise StateError(
            f"the state was written with shards={kept}, and now it is shards={shards}",
            fix=f"use shards={kept}, or {otherwise}",
        )


def require_same_name(kept: str, name: str) -> None:
    """Raise unless a state is of the ranking with this name.

    Spark finds states by their order in the plan. Two rankings that count the same would go on with
    each other's if they changed places.
    """
    if kept and name and kept != name:
        raise StateError(
            f"the state is that of the ranking {kept!r}, and here it is {name!r}",
            fix=f"keep the rankings of a query in their order, with their names, or {AFRESH}",
        )


def require_same_origin(kept: str, origin: str) -> None:
    """Raise unless a state was made from the same events as now.

    Two patterns of RSP-QL may ask the same of different events, and a pattern may become a query
    over columns: what the state holds would then be counted together with what it is not.
    """
    if kept != origin:
        raise StateError(
            "the state was written for another pattern or another service of RSP-QL",
            fix=f"use the query that wrote it, or {AFRESH}",
        )
