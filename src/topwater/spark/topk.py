"""A continuous query as a streaming DataFrame.

::

    events ──► watermark ──► reduce, per task ──► one monitor ──► answers
    (any source)             (Arrow batches)      (packed state,   (any sink)
                                                   one timer)

All decisions are the monitor's. Spark brings the events, keeps the state and moves the time.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StringType, StructType, TimestampType

from topwater.errors import BatchError, QueryError
from topwater.model import Answer, Counts, Window
from topwater.model import Row as AnswerRow
from topwater.monitor import TopKMonitor
from topwater.portions import Portion, portion
from topwater.query import TopKQuery
from topwater.reading import read
from topwater.spark.session import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        StatefulProcessorHandle,
        TimerValues,
    )

_COUNTS = [field.name for field in fields(Counts)]
_CELLS = ("rank", "key", "score", "time", "values")
_ROWS_AT_ONCE = 262_144


def topk(events: DataFrame, query: TopKQuery) -> DataFrame:
    """The k best items of each window, as a stream of rows.

    Each window gives one row per item, best first, when the watermark passes its end; a window
    without items gives one row whose rank, key, score, time and values are null. Late and unusable
    events are counted in the next window's rows, never dropped silently.

    Parameters
    ----------
    events
        A streaming DataFrame without a watermark of its own: the query's ``lateness`` sets it.
    query
        What to answer. Time windows only, and no running ranges: both other forms depend on the
        order of the events, which Spark does not keep.

    Returns
    -------
    DataFrame
        ``window_start``, ``window_end`` (timestamps; the start is not part of the window, the
        end is), ``rank``, ``key``, ``score``, ``time``, ``values`` (what the stream contributed,
        in the order of ``take``), ``exact``, ``candidates``, and the counts of
        :class:`~topwater.model.Counts`. Write it with output mode ``append``.

    Raises
    ------
    QueryError
        If the query and the columns do not fit together, before anything starts.
    EnvironmentProblem
        If the session lacks a setting; see :func:`topwater.spark.settings`.
    """
    require(events.sparkSession)
    _check_query(query)
    _check_columns(events, query)
    assert query.time is not None  # noqa: S101  time windows have one; for the type checker
    portions = (
        events.select(*_columns(events, query))
        .withWatermark(query.time, f"{query.lateness} milliseconds")
        # After the watermark: Spark would drop late rows otherwise, before they are counted.
        .mapInArrow(_reducer(query.to_json()), "shard int, portion binary")
    )
    key_type = "string" if isinstance(events.schema[query.key].dataType, StringType) else "bigint"
    rows = portions.groupBy("shard").transformWithState(
        MonitorProcessor(query.to_json()), _row_schema(key_type), "Append", "EventTime"
    )
    return rows.select(
        F.timestamp_millis("opens").alias("window_start"),
        F.timestamp_millis("closes").alias("window_end"),
        *("rank", "key", "score"),
        F.timestamp_millis("time").alias("time"),
        *("values", "exact", "candidates", *_COUNTS),
    )


def answers_from(table: pa.Table, query: TopKQuery) -> list[Answer]:
    """The answers that rows of :func:`topk` stand for, in the order of their windows.

    Parameters
    ----------
    table
        Rows of whole windows, for instance ``spark.read.parquet(…).toArrow()``, or
        ``batch.toArrow()`` inside ``foreachBatch``.
    query
        The query that was answered.
    """
    for name in ("window_start", "window_end", "time"):
        millis = table.column(name).cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, millis)
    table = table.sort_by([("window_end", "ascending"), ("rank", "ascending")])
    windows: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        windows.setdefault(row["window_end"], []).append(row)
    return [_answer(rows, query) for rows in windows.values()]


def _answer(rows: list[dict[str, Any]], query: TopKQuery) -> Answer:
    first = rows[0]
    index = (first["window_start"] - query.window.start) // query.window.step
    return Answer(
        window=Window(index, first["window_start"], first["window_end"]),
        rows=tuple(
            AnswerRow(row["rank"], row["key"], row["score"], row["time"], tuple(row["values"]))
            for row in rows
            if row["rank"] is not None
        ),
        exact=first["exact"],
        candidates=first["candidates"],
        counts=Counts(**{name: first[name] for name in _COUNTS}),
    )


class MonitorProcessor(StatefulProcessor):
    """Runs a monitor inside Spark: its snapshot is the state, its next close the timer.

    One packed value, because every call to the state store costs a tenth of a millisecond.
    """

    def __init__(self, query: str) -> None:
        self._query = query

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state of the shard."""
        self._handle = handle
        self._state = handle.getValueState("monitor", "timer bigint, snapshot binary")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Take in what the tasks have reduced."""
        monitor, timer = self._load()
        for row in rows:
            monitor.admit(Portion.unpack(bytes(row.portion)))
        self._store(monitor, timer)
        return iter(())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Answer the windows that the watermark has passed."""
        monitor, _ = self._load()
        answers = monitor.close_until(timerValues.getCurrentWatermarkInMs())
        self._store(monitor, None)  # Spark has removed the timer that fired
        for answer in answers:
            yield from _rows(answer)

    def _load(self) -> tuple[TopKMonitor, int | None]:
        query = TopKQuery.from_json(self._query)
        stored = self._state.get()
        if stored is None:
            return TopKMonitor.build(query), None
        timer, snapshot = stored
        return TopKMonitor.build(query, bytes(snapshot)), timer

    def _store(self, monitor: TopKMonitor, timer: int | None) -> None:
        # A timer fires as soon as the watermark reaches it, which is what next_close() is about.
        wanted = monitor.next_close()
        if timer is not None and timer != wanted:
            self._handle.deleteTimer(timer)
        if wanted is not None and timer != wanted:
            self._handle.registerTimer(wanted)
        self._state.update((wanted, monitor.snapshot()))


def _reducer(query: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What each task does: many events in, a few portions out."""

    def reduce(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        built = TopKQuery.from_json(query)
        for table in _gathered(batches):
            packed = portion(built, table).pack()
            yield pa.RecordBatch.from_pydict(
                {"shard": pa.array([0], pa.int32()), "portion": pa.array([packed], pa.binary())}
            )

    return reduce


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's batches are small; the more rows at once, the fewer and smaller the portions."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(part.num_rows for part in held) >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if any(part.num_rows for part in held):
        yield pa.Table.from_batches(held)


def _row_schema(key_type: str) -> str:
    counts = ", ".join(f"{name} bigint" for name in _COUNTS)
    return (
        f"opens bigint, closes bigint, rank int, key {key_type}, score double, time bigint, "
        "values array<double>, "
        f"exact boolean, candidates bigint, {counts}"
    )


def _rows(answer: Answer) -> Iterator[Row]:
    shared = {
        "opens": answer.window.opens,
        "closes": answer.window.closes,
        "exact": answer.exact,
        "candidates": answer.candidates,
        **asdict(answer.counts),
    }
    for row in answer.rows:
        cells = (row.rank, row.key, row.score, row.time, list(row.values))
        yield Row(**shared, **dict(zip(_CELLS, cells, strict=True)))
    if not answer.rows:
        yield Row(**shared, **dict.fromkeys(_CELLS))


def _columns(events: DataFrame, query: TopKQuery) -> list[Column]:
    """Only what the query reads, and the time as a timestamp."""
    names = dict.fromkeys([query.key, str(query.time), *query.value_columns])
    found = []
    for name in names:
        column = F.col("`" + name.replace("`", "``") + "`")
        if name == query.time and not isinstance(events.schema[name].dataType, TimestampType):
            column = F.timestamp_millis(column).alias(name)
        found.append(column)
    return found


def _check_query(query: TopKQuery) -> None:
    if query.refresh is not None:
        raise QueryError(
            "queries with a remote part do not run on Spark yet",
            field="refresh",
            fix="run the query with topwater.local, or leave the remote part out",
        )
    if query.window.by != "time":
        raise QueryError(
            "count windows depend on the order of events, which Spark does not keep",
            field="window",
            fix="use time windows, or run the query with topwater.local",
        )
    if query.score.running:
        raise QueryError(
            "running ranges depend on the order of events, which Spark does not keep",
            field="score.ranges",
            fix="declare each range as (low, high), or run the query with topwater.local",
        )


def _check_columns(events: DataFrame, query: TopKQuery) -> None:
    if not events.isStreaming:
        raise QueryError(
            "this DataFrame is not a stream",
            field="events",
            fix="make it with spark.readStream, or run the query with topwater.local",
        )
    for column in events.schema:
        if "spark.watermarkDelayMs" in column.metadata:
            raise QueryError(
                f"the column {column.name!r} has a watermark, and Spark allows only one",
                field="events",
                fix="remove withWatermark and give the query its lateness instead",
            )
    names = {query.key, query.time, *query.value_columns}
    used = StructType([column for column in events.schema if column.name in names])
    schema = to_arrow_schema(used, timezone="UTC")
    try:
        # Reading no rows at all finds every missing or mistyped column, in the reader's words.
        read(query, schema.empty_table())
    except BatchError as error:
        raise QueryError(error.problem, fix=error.fix) from None
