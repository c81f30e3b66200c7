"""Start a query after checking, in seconds, what would otherwise fail in its first micro-batch."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from py4j.protocol import Py4JError

from topwater.errors import AFRESH, QueryError, StateError
from topwater.monitor.joint_ranking import has_joint_ranking
from topwater.private_files import make_private_folder
from topwater.query.identity import require_same_identity
from topwater.spark.checkpoint_plan import Wanted
from topwater.spark.folders import names_in
from topwater.spark.java_heap import JavaHeap
from topwater.spark.planned_rankings import PlannedRanking, rankings_in
from topwater.spark.processor import require_same_name, require_same_origin
from topwater.spark.rescaled_checkpoint import finish, take_over
from topwater.spark.running_query import RunningQuery, nodes_of, noted, plan_of
from topwater.spark.standing_processor import STATE, require_same_begin
from topwater.spark.standing_state import unpacked_snapshot
from topwater.spark.state import ranking_heads, stages_with, state_rows, was_used
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
_session_lock = threading.RLock()
"""A query takes over the number of partitions that its session has when it starts."""


@checked_call()
def start(
    answers: DataFrame,
    *,
    to: Sink = "parquet",
    path: str | Path | None = None,
    checkpoint: str | Path,
    mode: str = "append",
    trigger: Trigger | None = None,
    name: str | None = None,
    partitions: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> StreamingQuery:
    """Write answers to a sink, from now on.

    The same as ``answers.writeStream…start()``, which works as well, after checking that the
    checkpoint is new or belongs to this query, and that the folder of answers is as far as it is.
    If a ranking had another number of shards, or other settings but counts the same, the checkpoint
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
        A format that Spark can write, and where; or a function for ``foreachBatch``.
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
    options
        More options of the sink.

    Raises
    ------
    QueryError
        If the rows, the output mode or the sink can't be used.
    StateError
        If the checkpoint belongs to another query, or is of another version, or damaged.
    """
    _check(answers, to, path, mode)
    rankings = rankings_in(answers)
    shards = max(each.shards for each in rankings)
    spark = answers.sparkSession
    _check_watermarks(answers)
    finish(spark, str(checkpoint))
    wanted: list[Wanted | None] = []
    if was_used(spark, str(checkpoint)):
        wanted = _check_state(spark, str(checkpoint), rankings)
    elif any(each.query is not None for each in rankings):
        check_heap(spark, (), shards)
    if isinstance(to, str) and path is not None:
        with contextlib.suppress(Py4JError):  # a path may also be the name of a table
            _check_sink(spark, str(path), str(checkpoint))
    if any(wanted):
        joint = _joint(rankings)
        take_over(spark, str(checkpoint), wanted, joint=joint, partitions=partitions)
    _make_private(str(checkpoint))
    writer = answers.writeStream.outputMode("append").options(**dict(options or {}))
    writer = writer.option("checkpointLocation", str(checkpoint))
    writer = writer.format(to) if isinstance(to, str) else writer.foreachBatch(to)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        given = {"processingTime": trigger} if isinstance(trigger, str) else dict(trigger)
        writer = writer.trigger(**given)
    with _session_lock, noted():
        tasks = partitions or _default_partitions(spark, shards)
        with shuffle_partitions(spark, tasks):
            return RunningQuery.of(writer.start(None if path is None else str(path)), answers)


def _check(answers: DataFrame, to: Sink, path: str | Path | None, mode: str) -> None:
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
    if to in _FILES and path is None:
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


def _check_state(
    spark: SparkSession, checkpoint: str, rankings: Sequence[PlannedRanking]
) -> list[Wanted | None]:
    """Raise unless a state is of the same rankings; those that need other shards or settings."""
    _check_standing(spark, checkpoint, [each for each in rankings if each.query is None])
    asked = [(each, each.query) for each in rankings if each.query is not None]
    if not asked:
        return []
    stored = ranking_heads(spark, checkpoint, _joint(rankings))
    _require_as_many(checkpoint, len(stored), len(asked))
    wanted: list[Wanted | None] = []
    for heads, (ranking, query) in zip(stored, asked, strict=True):
        for head in heads:
            require_same_name(head.name, ranking.name)
            where = f"{ranking.where}the checkpoint {checkpoint}"
            require_same_identity(head.query, query, where)
            require_same_origin(head.origin, ranking.origin)
        now = query, ranking.shards
        other = any((head.query, head.shards) != now for head in heads)
        wanted.append(Wanted(query, ranking.shards) if other else None)
    chunks = [head.chunk for heads in stored for head in heads]
    check_heap(spark, chunks, max(ranking.shards for ranking, _ in asked))
    return wanted


def _joint(rankings: Sequence[PlannedRanking]) -> list[bool]:
    """Whether each has a stage in which all its shards rank together."""
    asked = [(each.query, each.shards) for each in rankings]
    return [has_joint_ranking(query, shards) for query, shards in asked if query is not None]


def _check_standing(
    spark: SparkSession, checkpoint: str, rankings: Sequence[PlannedRanking]
) -> None:
    """Raise unless the standing queries of a checkpoint were begun so."""
    if not rankings:
        return
    stages = stages_with(spark, checkpoint, STATE)
    _require_as_many(checkpoint, len(stages), len(rankings))
    whose = dict(zip(stages, rankings, strict=True))
    for row in state_rows(spark, checkpoint, STATE):
        ranking = whose[row.operator]
        _, meta = unpacked_snapshot(bytes(row.snapshot))
        where = f"{ranking.where}the checkpoint"
        require_same_begin(meta, ranking.begun, ranking.shards, where)


def _require_as_many(checkpoint: str, stored: int, now: int) -> None:
    if stored != now:
        raise StateError(
            f"the checkpoint {checkpoint} was written by a query with {stored} rankings, and here "
            f"there are {now}",
            fix=f"use the query that wrote it, or {AFRESH}",
        )


def check_heap(spark: SparkSession, chunks: Sequence[int], shards: int) -> None:
    """Refuse a state whose largest chunks Java's heap can't read; warn if it may become one."""
    heap = JavaHeap.of(spark)
    if heap is not None:
        heap.require(max(chunks, default=0), shards)
        heap.warn(shards)


def _default_partitions(spark: SparkSession, shards: int) -> int | None:
    session: Any = spark._jsparkSession
    return None if session.sessionState().conf().contains(_PARTITIONS) else shards


@contextlib.contextmanager
def shuffle_partitions(spark: SparkSession, wanted: int | None) -> Iterator[None]:
    """The session with another number of shuffle partitions; a query keeps that of its start."""
    if wanted is None:
        yield
        return
    with _session_lock:
        yield from _with_partitions(spark, wanted)


def _with_partitions(spark: SparkSession, wanted: int) -> Iterator[None]:
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
