"""A continuous query as a DataFrame.

::

    events ──► reduce, per task ──► one monitor per shard ──► merge ──► answers
    (any        (Arrow batches,     (packed state,           (if more   (any sink)
     source)     few rows out)       refresh, answer)         than one)
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from topwater.errors import BatchError, QueryError
from topwater.model import Shard
from topwater.monitor import TopKMonitor
from topwater.monitor.columns import keys_of, read
from topwater.monitor.joint_ranking import has_joint_ranking
from topwater.monitor.key_columns import form_of, with_keys_inside
from topwater.monitor.key_kinds import require_kinds
from topwater.monitor.keyed_monitor import asked_by_key, require_others
from topwater.monitor.notice_settings import ChangeStream
from topwater.monitor.remote_part import JoinedPart, RemotePart, remote_part
from topwater.monitor.shards import divided_among, require_buckets
from topwater.monitor.source_table import one_of
from topwater.query.keyed_query import forms_of as forms_inside
from topwater.query.keyed_query import inner_query
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.spark.answer_rows import COUNTS, FIGURES, merged, packed_schema, unpacked
from topwater.spark.extra_columns import Extras
from topwater.spark.file_source import Files, active_session, used
from topwater.spark.file_source import stream as files_stream
from topwater.spark.heartbeats import beats
from topwater.spark.joint_processor import JointProcessor, all_in_one
from topwater.spark.key_expressions import key_inside
from topwater.spark.notice_stream import notice_portions
from topwater.spark.planned_processor import planned
from topwater.spark.planned_rankings import OBSERVED, observed_name
from topwater.spark.processor import MonitorProcessor
from topwater.spark.session import require
from topwater.spark.shard_placement import PLACE, placed
from topwater.spark.shipping import parcel
from topwater.spark.stage_one import reduced
from topwater.spark.time_columns import with_instants
from topwater.spark.workers import own_workers
from topwater.validation import checked_call, text_of, whole_of
from topwater.windows import millis

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from pyspark.sql import Column, DataFrame

    from topwater.model import KeyForm
    from topwater.monitor.source_table import Sources
    from topwater.protocols import Source
    from topwater.query import TopKQuery


@checked_call()
def topk(
    events: DataFrame | Files,
    query: TopKQuery,
    source: Source | None = None,
    *,
    sources: Mapping[str, Source] | None = None,
    shards: int = 1,
    late_rows: bool = False,
    idle: int | str | timedelta | None = None,
    changes: ChangeStream | DataFrame | None = None,
    name: str = "",
) -> DataFrame:
    """The k best items of each window, as rows.

    Each window gives one row per item, best first, in the micro-batch whose events end it; a
    window without items gives one row whose rank and key are null. Late and unusable events are
    counted in the next window's rows, never dropped silently.

    Parameters
    ----------
    events
        A stream, or a table: then all windows are answered at once. Or parquet files, as
        :class:`~topwater.spark.Files`: they are reduced while they are read, which is faster.
        Times without a zone (``timestamp_ntz``, text) and days are those of the session's zone.
    query
        What to answer. Time windows only, and no running ranges: both other forms depend on the
        order of the events, which Spark does not keep.
    source
        Where remote values are fetched, if the query has a remote part. It is sent to the
        executors, and connects there once per worker. If it can't be reached from here either,
        that is said now; it stops the query only if its ``at_start`` is ``"stop"``.
    sources
        The same by name, for a query with several: ``{"shop": …, "vendors": …}``.
    shards
        How many state partitions share the work, at most 256. With a ranking per group, groups are
        divided among them; otherwise keys are, and what they say is made one answer. With the
        policy ``worth`` they have one purse; with others each gets its part of the budget. Several
        remote values with one purse are ranked in one place, whatever is said here. Give the
        session at least as many shuffle partitions.
    late_rows
        Give out what came too late as well: rows of kind ``"late"``, reduced as all others are,
        to one per key and pane, or to a pane's k best. A column ``kind`` tells them apart.
    idle
        For live streams: how long after an event happened it may still come. When a micro-batch
        brings no event, time moves on to now less this duration, so that a stream that falls
        silent still has its windows answered. By default only events move the time.
    changes
        A stream of notices of what changed at the source, or a :class:`~topwater.ChangeStream` that
        says how they are written. They move no time; each counts for the windows that close at its
        time or later. There is a column ``notices`` then: what became of them, and of how many.
    name
        Of this ranking, where a query has several: metrics and errors call it so, its state belongs
        to it, and it has Python workers of its own.

    Returns
    -------
    DataFrame
        ``window_start``, ``window_end`` (timestamps; the start is not part of the window, the
        end is), ``rank``, ``key`` (or the columns of the key, by their own names, if there are
        several), ``score``, ``time``, ``values`` (what the stream contributed,
        in the order of ``take``), ``remote``, ``age`` (milliseconds), ``confidence``, ``exact``,
        ``candidates``, all of :class:`~topwater.model.Freshness` and
        :class:`~topwater.model.Counts`, ``problems`` (what went wrong with the keys that
        failed, and with how many), and ``looked_up`` (see :class:`~topwater.model.LookUp`); with
        groups, ``group``, or its columns. Where the stream has texts to show, they are in
        ``texts``, in the order of ``take``. Of several remote values there is ``remotes``, a
        structure of one for each name with ``value``, ``age``, ``confidence`` and ``assumed``;
        ``spent`` and ``left``, by quota; and ``looked_up`` names the source, and its keys are text.
        Write it with output mode ``append``.

    Raises
    ------
    QueryError
        If the query and the columns do not fit together, before anything starts.
    EnvironmentProblem
        If the session lacks a setting; see :func:`topwater.spark.settings`.
    SourceError
        If the source can't be reached, and was told to stop then.
    """
    told = None if changes is None else ChangeStream.of(changes)
    given = one_of(source, sources)
    return answer_frame(
        events,
        query,
        given,
        shards=shards,
        late_rows=late_rows,
        idle=idle,
        changes=told,
        name=name,
    )


def answer_frame(
    events: DataFrame | Files,
    query: TopKQuery,
    source: Sources | None,
    *,
    shards: int,
    late_rows: bool = False,
    idle: int | str | timedelta | None = None,
    origin: str = "",
    changes: ChangeStream | None = None,
    name: str = "",
) -> DataFrame:
    """What :func:`topk` gives. A state is taken up only by a query of the same ``origin``."""
    spark = active_session() if isinstance(events, Files) else events.sparkSession
    require(spark)
    if name != "":
        text_of(name, "name")
    asked, given = query, _columns(events, query)
    key, group = _forms(given, query)
    query = inner_query(query, key, group)
    keys = (query.key_column, query.group_column)
    if not isinstance(events, Files):
        events = _with_keys_inside(events, key, group)
        # A column that is also a key stays text: each task reads the times in it.
        events = with_instants(events, None if query.time in keys else query.time, texts=True)
    columns = _columns(events, query)
    texts = _check(columns, query, source, shards)
    shards = divided_among(query, shards, texts=texts)
    remote = remote_part(query, _asked(query, source, key), SYSTEM_CLOCK)
    if remote is not None:
        _check_kinds(asked, remote, given)
        remote.start()
    bounded = not isinstance(events, Files) and not events.isStreaming
    run = "" if bounded else uuid4().hex
    settings: dict[str, Any] = {"shards": shards, "bounded": bounded, "run": run}
    settings |= {"origin": origin, "name": name}
    extras = Extras(texts)
    if remote is not None:
        settings["source"] = parcel(remote.source, spark)
        extras = Extras.of(query, texts, remote.source)
    schema = packed_schema(*(_kind(columns, name) for name in keys))
    if isinstance(events, Files):
        portions = files_stream(spark, events, query, shards)
    else:
        portions = reduced(events, query, shards)
    if idle is not None and not bounded:
        patience = millis(idle, field="idle")
        portions = portions.union(beats(spark, query.window, patience, shards))
    if changes is not None:
        alone = has_joint_ranking(query, shards)
        among = 1 if alone else shards
        told = notice_portions(changes, query, key, among, bounded=bounded)
        portions = portions.union(told)
        settings["changes"] = json.dumps(changes.settings.to_dict())
    rows = _ranked(portions, query, schema, settings, late=late_rows)
    about = {"query": query.to_json(), "shards": shards, "origin": origin, "name": name}
    if not bounded:
        told_of = rows.observe(observed_name(name), *_metrics(about))
        rows = told_of.filter(F.col("kind") != FIGURES)
    shown = unpacked(rows, query, late=late_rows, notices=changes is not None, extras=extras)
    return shown.withMetadata("window_end", {OBSERVED: about})


def _ranked(
    portions: DataFrame, query: TopKQuery, schema: str, settings: dict[str, Any], *, late: bool
) -> DataFrame:
    """Stage 2, and what makes one answer of those of several shards."""
    spark, shards = portions.sparkSession, settings["shards"]
    workers = partial(own_workers, spark) if settings["run"] else lambda _: contextlib.nullcontext()
    joint = has_joint_ranking(query, shards)
    plain = settings | {"source": None, "changes": ""} if joint else settings
    with workers(_stage_name("monitors", settings["name"])):
        processor = MonitorProcessor(query.to_json(), late=late, **plain)
        keyed = placed(portions, shards).groupBy(PLACE)
        rows = keyed.transformWithState(planned(processor), schema, "Append", "None")
    if shards == 1 or query.group_by is not None:
        return rows
    # All shards end a window in the same micro-batch, so one micro-batch holds all of it.
    if not joint:
        return rows.repartition(1).mapInArrow(partial(merged, query), schema)
    with workers(_stage_name("joint ranking", settings["name"])):
        ranking = JointProcessor(query.to_json(), **settings)
        return all_in_one(rows).transformWithState(planned(ranking), schema, "Append", "None")


def _stage_name(stage: str, name: str) -> str:
    """Rankings with a name don't share their workers with others."""
    return f"{stage} of {name}" if name else stage


def _metrics(about: dict[str, Any]) -> list[Column]:
    """What Spark is to observe in every micro-batch; the first says of which ranking it is."""
    summed = [*COUNTS, "fetched", "failed", "bad"]
    return [
        F.count("window_end").alias("windows", metadata={OBSERVED: about}),
        *(F.sum(name).alias(name) for name in summed),
        F.max("candidates").alias("candidates"),
        F.avg("precision").alias("precision"),
        F.avg("ndcg").alias("ndcg"),
        F.count_if("missed").alias("missed"),
        F.count_if("nothing_usable").alias("nothing_usable"),
        F.count_if("out_of_reach").alias("out_of_reach"),
        F.avg("audited").alias("audited"),
        F.count_if("doubtful").alias("doubtful"),
        F.collect_list("problems").alias("problems"),
        # There is one a shard. To add them up here takes Spark milliseconds in every micro-batch.
        F.collect_list("figures").alias(FIGURES),
    ]


def _columns(events: DataFrame | Files, query: TopKQuery) -> pa.Schema:
    """The columns that the query uses, of those that there are."""
    if isinstance(events, Files):
        return with_keys_inside(events.columns().empty_table(), *forms_inside(query)).schema
    names = used(query)
    if not set(names) <= set(events.columns):
        # What is missing is told with all that there is, whatever Arrow makes of it.
        return pa.schema([(name, pa.null()) for name in events.columns])
    found = StructType([column for column in events.schema if column.name in names])
    return to_arrow_schema(found, timezone="UTC")


def _forms(columns: pa.Schema, query: TopKQuery) -> tuple[KeyForm, KeyForm | None]:
    """What keys and groups are, by the types of their columns."""
    try:
        table = columns.empty_table()
        key = form_of(table, query.key_columns, "key")
        names = query.group_columns
        group = form_of(table, names, "group_by") if names else None
        if not key.plain or (group is not None and not group.plain):
            require_others(table, query)
        return key, group
    except BatchError as error:
        raise QueryError(error.problem, fix=error.fix) from None


def _with_keys_inside(events: DataFrame, *forms: KeyForm | None) -> DataFrame:
    """Events with the columns that keys and groups have inside, as far as these are other ones."""
    found = {form.column: key_inside(form) for form in forms if form is not None and not form.plain}
    return events.withColumns(found) if found else events


def _kind(columns: pa.Schema, name: str | None) -> str:
    if name is None:
        return "string"
    key = keys_of(columns.empty_table(), name, "key")
    return "bigint" if key.type == "int64" else "string"


def _check(columns: pa.Schema, query: TopKQuery, source: Sources | None, shards: int) -> bool:
    """Raise for what can't be answered; whether answers have texts of the stream."""
    whole_of(shards, "shards", 1, fix="leave it out, or give the number of cores")
    require_buckets(shards)
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
    _check_source(query, source, shards)
    return _check_columns(columns, query)


def _check_columns(columns: pa.Schema, query: TopKQuery) -> bool:
    """Raise for a column that can't be used; whether some may be texts that are shown."""
    try:
        # Reading no rows at all finds every missing or mistyped column, in the reader's words.
        readout = read(query, columns.empty_table())
    except BatchError as error:
        raise QueryError(error.problem, fix=error.fix) from None
    return bool(readout.labels)


def _check_kinds(query: TopKQuery, remote: RemotePart | JoinedPart, columns: pa.Schema) -> None:
    """Raise if a source has keys of another kind than the stream: nothing would be found."""
    if not isinstance(remote, JoinedPart):
        return
    try:
        require_kinds(query, remote.source.sources, columns)
    except BatchError as error:
        raise QueryError(error.problem, field="refresh", fix=error.fix) from None


def _asked(query: TopKQuery, source: Sources | None, key: KeyForm) -> Sources | None:
    """The sources, of which those that know the ranked key get it as the stream has it."""
    typed, asked = asked_by_key(query, source)
    for each in typed:
        each.form = key
        each.take_keys(key.names)
    return asked


def _check_source(query: TopKQuery, source: Sources | None, shards: int) -> None:
    """Build what the executors will build, so that what they can't do is known now."""
    TopKMonitor.build(replace(query, group_by=None), source=source, shard=Shard(0, shards))
