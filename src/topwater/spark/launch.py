"""Start a query after checking, in seconds, what would otherwise fail in its first micro-batch."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from py4j.protocol import Py4JError

from topwater.errors import QueryError
from topwater.private_files import make_private_folder
from topwater.query import TopKQuery
from topwater.query.identity import require_same_identity
from topwater.spark.folders import names_in
from topwater.spark.java_heap import JavaHeap
from topwater.spark.processor import require_same_origin
from topwater.spark.rescaled_checkpoint import finish, rescale
from topwater.spark.running_query import RunningQuery, nodes_of, noted, plan_of
from topwater.spark.standing_processor import STATE, require_same_begin
from topwater.spark.standing_state import unpacked_snapshot
from topwater.spark.state import read_heads, state_rows, was_used
from topwater.spark.topk import OBSERVED
from topwater.validation import checked_call
from topwater.validation.addresses import REMOTE
from topwater.validation.checkpoints import SINK_LOG, last_number, require_continued

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Sink: TypeAlias = "str | Callable[[DataFrame, int], None]"
Trigger: TypeAlias = str | Mapping[str, Any]
_FILES = ("parquet", "json", "csv", "orc", "text")
_PARTITIONS = "spark.sql.shuffle.partitions"
_SEVERAL = "spark.sql.streaming.statefulOperator.allowMultiple"
_WATERMARK = "EventTimeWatermark"


@dataclass(frozen=True, slots=True)
class _Origin:
    """What made some rows: a query, or standing queries that began so; and how many shards."""

    query: TopKQuery | None
    begun: str | None
    shards: int
    origin: str = ""


@checked_call()
def start(
    answers: DataFrame,
    *,
    to: Sink | None = None,
    path: str | Path | None = None,
    table: str | None = None,
    checkpoint: str | Path,
    mode: str = "append",
    trigger: Trigger | None = None,
    name: str | None = None,
    partitions: int | None = None,
    partition_by: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> StreamingQuery:
    """Write answers to a sink, from now on.

    The same as ``answers.writeStream…start()``, which works as well, after checking that the
    checkpoint is new or belongs to this query, and that the folder of answers is as far as it is.
    If the query had another number of shards, or other settings but counts the same, the checkpoint
    is first rewritten for those that it has now, and nothing is forgotten; see
    :mod:`topwater.query.identity` and :func:`topwater.spark.rescale`.
    What ends the query later is raised with a note on what to do, where that is known; and while
    one waits for its end, a source folder that is gone is logged.

    Parameters
    ----------
    answers
        What :func:`topwater.spark.topk` or :func:`topwater.spark.standing` gave, as it is or
        transformed.
    to, path
        A format that Spark can write, and where; or a function for ``foreachBatch``. By default
        parquet; of a table, the format that it has.
    table
        In place of a path: a table of a catalog. Spark makes it if there is none.
    checkpoint
        The folder in which Spark keeps the state of this query, and of no other.
    mode
        The output mode. A window is answered once, so there is only ``"append"``.
    trigger
        A time between micro-batches, as ``"5 seconds"``; or what
        :meth:`~pyspark.sql.streaming.DataStreamWriter.trigger` takes, as
        ``{"availableNow": True}``. By default one micro-batch follows the other.
    name
        Of the streaming query; metrics are told by it.
    partitions
        How many tasks the stateful stage has, from the first start on. By default what the
        session says; if it says nothing, as many as there are shards: Spark would take 200.
    partition_by
        Columns by which the files or the table are divided.
    options
        More options of the sink.

    Raises
    ------
    QueryError
        If the rows, the output mode or the sink can't be used.
    StateError
        If the checkpoint belongs to another query, or is of another version, or damaged.
    """
    to = "parquet" if to is None and table is None else to
    _check(answers, to, path, table, mode)
    origin = _origin(answers)
    spark = answers.sparkSession
    _check_watermarks(answers)
    finish(spark, str(checkpoint))
    as_it_is = True
    if was_used(spark, str(checkpoint)):
        as_it_is = _check_state(spark, str(checkpoint), origin)
    elif origin.query is not None:
        check_heap(spark, (), origin.shards)
    if isinstance(to, str) and path is not None:
        with contextlib.suppress(Py4JError):  # a path may also be the name of a table
            _check_sink(spark, str(path), str(checkpoint))
    if not as_it_is:
        rescale(spark, checkpoint, origin.shards, partitions=partitions, query=origin.query)
    _make_private(str(checkpoint))
    writer = answers.writeStream.outputMode("append").options(**dict(options or {}))
    writer = writer.option("checkpointLocation", str(checkpoint))
    if to is not None:
        writer = writer.format(to) if isinstance(to, str) else writer.foreachBatch(to)
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        given = {"processingTime": trigger} if isinstance(trigger, str) else dict(trigger)
        writer = writer.trigger(**given)
    tasks = partitions or _default_partitions(spark, origin.shards)
    with shuffle_partitions(spark, tasks), noted():
        place = None if path is None else str(path)
        running = writer.start(place) if table is None else writer.toTable(table)
        return RunningQuery.of(running, answers)


def _check(
    answers: DataFrame, to: Sink | None, path: str | Path | None, table: str | None, mode: str
) -> None:
    if not answers.isStreaming:
        raise QueryError(
            "these rows are a table, and there is no stream to start",
            field="answers",
            fix="write them with answers.write, or give topk() a stream",
        )
    if mode != "append":
        raise QueryError(
            f"{mode!r} can't be used: a window is answered once, and its rows never change",
            field="mode",
            fix='use "append"',
        )
    if table is not None and (path is not None or callable(to)):
        raise QueryError(
            "is one place too many", field="table", fix="leave out path, or a function"
        )
    if to in _FILES and path is None and table is None:
        raise QueryError(
            f"{to} files need a folder", field="path", fix="give the folder to write to"
        )


def _check_watermarks(answers: DataFrame) -> None:
    """Spark refuses a watermark above another one, but only when the latter has moved."""
    if answers.sparkSession.conf.get(_SEVERAL, "true") == "false":
        return  # as before Spark 3.5: then the last one counts
    marks = (node for node in nodes_of(plan_of(answers)) if node.nodeName() == _WATERMARK)
    for mark in marks:
        if any(node.nodeName() == _WATERMARK for node in islice(nodes_of(mark), 1, None)):
            raise QueryError(
                "these rows have a watermark, and the events had one before: Spark allows only one",
                field="answers",
                fix="leave out withWatermark before topk(), which has no effect on it",
            )


def _check_sink(spark: SparkSession, path: str, checkpoint: str) -> None:
    """Spark's file sink leaves out micro-batches whose numbers its log has, whoever wrote them."""
    require_continued(
        path,
        checkpoint,
        written=last_number(names_in(spark, f"{path}/{SINK_LOG}")),
        planned=last_number(names_in(spark, f"{checkpoint}/offsets")),
        done=last_number(names_in(spark, f"{checkpoint}/commits")),
    )


def _make_private(checkpoint: str) -> None:
    """Make a folder of this machine that holds a state for its owner only.

    Where that is not possible, Spark says why.
    """
    if not REMOTE.match(checkpoint):
        with contextlib.suppress(OSError):
            make_private_folder(checkpoint)


def _check_state(spark: SparkSession, checkpoint: str, origin: _Origin) -> bool:
    """Raise unless a state is of the same rows; whether it has the same shards and settings."""
    if origin.query is None:
        for row in state_rows(spark, checkpoint, STATE):
            _, meta = unpacked_snapshot(bytes(row.snapshot))
            require_same_begin(meta, origin.begun, origin.shards)
        return True
    states = read_heads(spark, checkpoint)
    for state in states:
        require_same_identity(state.query, origin.query, f"the checkpoint {checkpoint}")
        require_same_origin(state.origin, origin.origin)
    check_heap(spark, [state.chunk for state in states], origin.shards)
    now = origin.query, origin.shards
    return all((state.query, state.shards) == now for state in states)


def check_heap(spark: SparkSession, chunks: Sequence[int], shards: int) -> None:
    """Refuse a state whose largest chunks Java's heap can't read; warn if it may become one."""
    heap = JavaHeap.of(spark)
    if heap is not None:
        heap.require(max(chunks, default=0), shards)
        heap.warn(shards)


def _origin(answers: DataFrame) -> _Origin:
    """What the schema says, or that of the rows from which these were made."""
    for column in answers.schema:
        if OBSERVED in column.metadata:
            return _origin_of(column.metadata[OBSERVED])
    for plan in nodes_of(plan_of(answers)):
        for number in range(plan.output().size()):
            metadata = plan.output().apply(number).metadata()
            if metadata.contains(OBSERVED):
                return _origin_of(json.loads(metadata.getMetadata(OBSERVED).json()))
    raise QueryError(
        "these rows were not made by topk() or standing()",
        field="answers",
        fix="pass what one of them gave, or start these with writeStream",
    )


def _origin_of(metadata: Mapping[str, Any]) -> _Origin:
    query = metadata.get("query")
    return _Origin(
        None if query is None else TopKQuery.from_json(query),
        metadata.get("begun"),
        int(metadata["shards"]),
        metadata.get("origin", ""),
    )


def _default_partitions(spark: SparkSession, shards: int) -> int | None:
    session: Any = spark._jsparkSession
    return None if session.sessionState().conf().contains(_PARTITIONS) else shards


@contextlib.contextmanager
def shuffle_partitions(spark: SparkSession, wanted: int | None) -> Iterator[None]:
    """The session with another number of shuffle partitions; a query keeps that of its start."""
    if wanted is None:
        yield
        return
    session: Any = spark._jsparkSession
    given = session.sessionState().conf().contains(_PARTITIONS)
    before = spark.conf.get(_PARTITIONS)
    spark.conf.set(_PARTITIONS, str(wanted))
    try:
        yield
    finally:
        if given:
            spark.conf.set(_PARTITIONS, str(before))
        else:
            spark.conf.unset(_PARTITIONS)
