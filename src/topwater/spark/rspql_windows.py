"""Windows of RSP-QL that are made whole before they are ranked: joined, or in a finer order.

::

    streams ──► match, in Arrow ──► all windows, in one place ──► binding tables ──► topk
                (what the blocks    (held in the state,            (windows end
                 found, as bytes)    joined as they close)          to end)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import LongType, StringType, StructField, StructType

from topwater.monitor.event_time import PaneTimes
from topwater.rspql import Plan
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.compilation import score_text, windows_of
from topwater.rspql.plan.plan import SILENT, TIME
from topwater.rspql.rdf.event_format import Columns, Documents
from topwater.rspql.rdf.heard_events import Heard, heard
from topwater.rspql.rdf.static_data import StaticData
from topwater.rspql.rdf.window_join import WindowJoin
from topwater.spark.chunk_map import SparkChunks
from topwater.spark.planned_processor import planned
from topwater.spark.processor import require_same_origin
from topwater.spark.workers import own_workers, set_modules_aside
from topwater.tables import pack, unpack
from topwater.validation import whole_of
from topwater.windows import Windows, millis

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import Column, SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues
    from rdflib.term import URIRef

    Opened = tuple[URIRef, "Documents | Columns", DataFrame]

_TOLD = "stream int, task int, part int, told binary"
_ARROW = pa.schema(
    [("stream", pa.int32()), ("task", pa.int32()), ("part", pa.int32()), ("told", pa.binary())]
)
_BEAT = -1
"""In place of the number of a stream: what tells a heartbeat from events."""

_PLACE = "place"
_OFTEN = 4_000
"""Windows end to end reach this many times as far as time does, and Spark counts microseconds."""

_ROWS = 100_000
_FORM = StructType(
    [
        StructField("facts", StringType()),
        StructField("chunks", LongType()),
        StructField("origin", StringType()),
    ]
)


def whole_windows(
    spark: SparkSession,
    plan: Plan,
    streams: Sequence[Opened],
    data: StaticData | None = None,
    idle: int | str | timedelta | None = None,
) -> DataFrame:
    """The binding tables of all windows, which lie end to end.

    Parameters
    ----------
    spark, plan
        The session, and what is asked.
    streams
        Each with its name, how its events are written, and these.
    data
        What is in files that the patterns read.
    idle
        As for :func:`topwater.spark.topk`.

    Raises
    ------
    QueryError
        If windows step so often that their times can't be told.
    """
    _require_reach(plan)
    told = None
    for number, (name, reading, events) in enumerate(streams):
        hearing = partial(_hearing, plan, (number, name), reading, data)
        part = events.mapInArrow(hearing, _TOLD)
        told = part if told is None else told.union(part)
    assert told is not None  # noqa: S101  a query reads a stream
    bounded = not told.isStreaming
    if idle is not None and not bounded:
        patience = millis(idle, field="idle")
        told = told.union(_beats(spark, windows_of(plan.windows[0]), patience))
    keeper = WindowKeeper(plan, data, bounded=bounded, origin=_origin(plan))
    # Not a literal: Spark would take it out of the grouping.
    keyed = told.withColumn(_PLACE, F.col("stream").isNull().cast("int")).groupBy(_PLACE)
    with contextlib.nullcontext() if bounded else own_workers(spark, "windows"):
        made = keyed.transformWithState(planned(keeper), "tables binary", "Append", "None")
    return made.mapInArrow(_unpacked, binding_schema(plan, "bigint"))


def binding_schema(plan: Plan, time: str) -> str:
    """The columns of binding tables, where times are of a type of Spark."""
    columns = [
        f"`{TIME}` {time}",
        f"`{plan.key}` string",
        *(f"`{name}` double" for name in plan.numbers),
        *(f"`{name}` string" for name in plan.texts),
        f"`{SILENT}` boolean",
    ]
    return ", ".join(columns)


def in_true_time(answers: DataFrame, plan: Plan) -> DataFrame:
    """Answers with the windows of the query, where the ranking had them end to end.

    What is not shown, as the age of each of several remote values, stays as it is.
    """
    windows = windows_of(plan.windows[0])
    if windows.width == windows.step:
        return answers
    begins = F.expr(f"unix_millis(window_start) div {windows.width}") * windows.step
    shift = begins - F.unix_millis("window_start")
    found: dict[str, Column] = {
        "window_start": F.timestamp_millis(begins),
        "window_end": F.timestamp_millis(begins + windows.width),
        "time": F.timestamp_millis(F.unix_millis("time") + shift),
        "age": _scaled(F.col("age"), windows),
    }
    rest = [found.get(name, F.col(f"`{name}`")).alias(name) for name in answers.columns]
    shown = answers.select(*rest)
    return shown.withMetadata("window_end", answers.schema["window_end"].metadata)


def _scaled(age: Column, windows: Windows) -> Column:
    return F.bround(age * windows.step / windows.width).cast("bigint")


def _require_reach(plan: Plan) -> None:
    window = plan.windows[0]
    if window.width > _OFTEN * window.step:
        document = Document(plan.text)
        document.fail(
            f"each event is in {window.width // window.step:,} windows, all of which are made",
            document.find("STEP", "SLIDE", "RANGE"),
            f"let them step at most {_OFTEN:,} times in a RANGE, or run it in Python, "
            "topwater.local.rspql",
        )


def _origin(plan: Plan) -> str:
    """What is held, in short: of single solutions only what the order leaves."""
    made: tuple[object, ...] = (plan.origin, plan.windows)
    if not plan.joins_windows:
        made += (plan.k, plan.order, score_text(plan), plan.then)
    return hashlib.sha256(repr(made).encode()).hexdigest()[:16]


def _hearing(
    plan: Plan,
    stream: tuple[int, URIRef],
    reading: Documents | Columns,
    data: StaticData | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    from topwater.spark.rspql_streams import task_of

    set_modules_aside()
    number, name = stream
    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    scope, first = f"{number}x{task_of()}x", 0
    for part, batch in enumerate(batches):
        events = pa.Table.from_batches([batch])
        told = heard(plan, name, reading, events, data, scope=scope, first=first)
        first += batch.num_rows
        yield _row(number, task, part, told)


def _row(stream: int, task: int, part: int, told: Heard) -> pa.RecordBatch:
    values: list[Any] = [stream, task, part, told.pack()]
    arrays = [pa.array([v], t) for v, t in zip(values, _ARROW.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _beats(spark: SparkSession, windows: Windows, patience: int) -> DataFrame:
    """One heartbeat a second: see :mod:`topwater.spark.heartbeats`."""
    whole_of(patience, "idle", 0, fix='give the longest delay of an event, as "30 s"')
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1)
    times = ticks.load().select((F.unix_millis("timestamp") - patience).alias("time"))
    return times.mapInArrow(partial(_beating, windows), _TOLD)


def _beating(windows: Windows, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    times = [batch.column("time").to_numpy() for batch in batches]
    newest = max((int(each.max()) for each in times if len(each)), default=0)
    if newest > 0:
        at = np.array([newest])
        beat = PaneTimes(windows.pane_of(at), np.zeros(1, np.int64), at)
        yield _row(_BEAT, 0, 0, Heard({}, beat, np.empty(0, np.int64)))


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    set_modules_aside()
    for batch in batches:
        for packed in batch.column(0):
            table = unpack(packed.as_py())[0]
            plain = [
                pa.field(
                    each.name, pa.string() if pa.types.is_large_string(each.type) else each.type
                )
                for each in table.schema
            ]
            yield from table.cast(pa.schema(plain)).to_batches(max_chunksize=_ROWS)


class WindowKeeper(StatefulProcessor):
    """Holds what the blocks found until no window needs it, and makes the windows that are over.

    Its state is a few facts, and chunks: what came in each micro-batch since a window closed, and
    before them what was held then.

    Parameters
    ----------
    plan, data
        What is asked, and what is in files.
    bounded
        Whether the events are a table: then all windows are made at once.
    origin
        What the state is of.
    """

    def __init__(
        self, plan: Plan, data: StaticData | None = None, *, bounded: bool = False, origin: str = ""
    ) -> None:
        self._plan = plan
        self._data = data
        self._bounded = bounded
        self._origin = origin

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        set_modules_aside()
        self._state = handle.getValueState("windows", _FORM)
        self._chunks = SparkChunks(handle)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002  one for all
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Take in a micro-batch, and make the windows that it ends."""
        join, chunks = WindowJoin(self._plan, self._data), 0
        kept = self._state.get()
        if kept is not None:
            require_same_origin(kept[2], self._origin)
            join.restore(json.loads(kept[0]))
            chunks = int(kept[1])
        found = [table for told in _in_order(rows) for table in join.take(told)]
        if self._bounded:
            found += [*join.close(), *join.finish()]
        else:
            came = chunks
            if join.due:
                self._recall(join, chunks)
                found += join.close()
                came = 0
            chunks = came + self._put(came, join)
            self._state.update((json.dumps(join.facts()), chunks, self._origin))
        tables = [each for each in found if each.num_rows]
        if tables:
            yield Row(tables=pack(pa.concat_tables(tables), {}, compressed=True))

    def _recall(self, join: WindowJoin, chunks: int) -> None:
        """Take out of the state what was held, the latest first."""
        for number in reversed(range(chunks)):
            chunk = self._chunks.get(number)
            assert chunk is not None  # noqa: S101  it was put there
            join.hold(Heard.unpack(chunk).found)
            self._chunks.remove(number)

    def _put(self, number: int, join: WindowJoin) -> int:
        """Put into the state what is held here; how many chunks that is."""
        held: Mapping[Any, pa.Table] = join.held
        if not held:
            return 0
        nothing = PaneTimes.union([])
        self._chunks.put(number, Heard(held, nothing, np.empty(0, np.int64)).pack())
        return 1


def _in_order(rows: Iterator[Row]) -> list[Heard]:
    """What a micro-batch tells, in one order however its tasks ended; else the heartbeats."""
    ordered = sorted(rows, key=lambda row: (row.stream, row.task, row.part))
    told = [Heard.unpack(bytes(row.told)) for row in ordered if row.stream != _BEAT]
    if any(len(each.times) for each in told):
        return told
    return told + [Heard.unpack(bytes(row.told)) for row in ordered if row.stream == _BEAT]
