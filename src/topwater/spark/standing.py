"""Thousands of standing queries as a DataFrame.

::

    events ──► pack, per task ──► every shard ──┐
                                                ├──► the queries of a shard ──► results
    changes ─► pack, per task ──► one shard ────┘    (packed state)             (any sink)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegralType,
    NumericType,
    StringType,
    StructType,
    TimestampType,
)

from topwater.errors import QueryError
from topwater.model import Counts
from topwater.spark.planned_processor import planned
from topwater.spark.planned_rankings import OBSERVED, observed_name
from topwater.spark.session import require
from topwater.spark.shard_placement import PLACE, placed
from topwater.spark.shipping import parcel
from topwater.spark.standing_events import packed_changes, packed_events
from topwater.spark.standing_processor import Shown, StandingProcessor, inside_schema
from topwater.spark.standing_queries import check_columns, collected, name_type
from topwater.spark.time_columns import with_instants
from topwater.validation import checked_call, choice_of, suggestion, text_of, whole_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from topwater.standing import StandingQuery

_SUMMED = (*Counts.__slots__, "queries", "references", "changes", "bad_changes", "state_bytes")
_TOLD = ", ".join(f"{name} bigint" for name in _SUMMED) + ", refused map<string,bigint>"
_TIMES = (IntegralType, TimestampType)


@checked_call()
def standing(
    events: DataFrame,
    queries: DataFrame | Iterable[StandingQuery],
    *,
    columns: Sequence[str],
    time: str,
    key: str | None = None,
    order: str | None = None,
    changes: DataFrame | None = None,
    result: Shown = "stream",
    shards: int = 1,
    name: str = "",
    **settings: Any,
) -> DataFrame:
    """Many top-k queries over one stream, each with its own k, window and score.

    A window slides with every event: the last n events, or those of the last ten minutes. The
    result stream has every event once per query, when it first gets among its k best.

    Parameters
    ----------
    events
        A stream, or a table.
    queries
        Those to begin with: a table with the columns ``name``, ``k``, ``window`` and ``score``
        (:func:`standing_queries` makes one), or the queries themselves. They are read now, and
        belong to the checkpoint from its first micro-batch on.
    columns
        The attributes of an event, all numbers; scores are made of them.
    time
        The column that puts events in order: timestamps, or whole numbers (milliseconds, or any
        others that grow). Inside a micro-batch events are sorted by it. One that comes in a later
        micro-batch than a later event is counted as late, and left out.
    key
        The column with which results name an event. By default they name its position.
    order
        The column that puts events of the same time in order. By default ``key`` does, then their
        values.
    changes
        What to change while the stream runs: a stream with the columns ``op`` (``register``,
        ``change`` or ``cancel``), ``name``, and ``k``, ``window``, ``score`` as in ``queries``,
        which ``cancel`` does not need. A change is made before the events of its micro-batch; if
        it has a column ``time``, before those events of its micro-batch that are later. One that
        can't be made is counted and told, and never stops the stream.
    result
        ``"stream"``: the result stream. ``"answers"``: the k best of every query, after each
        micro-batch that brings events.
    shards
        How many state partitions share the queries. Each of them sees all events.
    name
        Of these queries, where a query of Spark has several rankings: metrics and errors call them
        so, and their state belongs to it.
    **settings
        As for :class:`~topwater.standing.Standing`: ``algorithm``, ``buffer``, ``sigma``, …

    Returns
    -------
    DataFrame
        ``query``, ``key``, ``score``; ``position``, the event's place in the stream, and its
        ``time``; and ``at``, the position of the event whose arrival brought it among the k best.
        As answers: ``query``, ``rank``, ``key``, ``score``, ``time``, and ``at``, the position of
        the last event. Write it with output mode ``append``.

    Raises
    ------
    QueryError
        If a query, a setting and the columns do not fit together, before anything starts.
    EnvironmentProblem
        If the session lacks a setting; see :func:`topwater.spark.settings`.
    """
    spark = events.sparkSession
    require(spark)
    _check_choices(shards, result)
    if name != "":
        text_of(name, "name")
    events = with_instants(events, time, order, days=False)  # a day puts nothing in order
    changes = None if changes is None else with_instants(changes, "time", days=False)
    _check_events(events.schema, columns, time, key, order)
    if changes is not None:
        _check_changes(changes, events)
    told = {"columns": list(columns), **settings}
    begun = _registered(collected(queries), told)
    names = name_type(begun, None if changes is None else changes.schema)
    rows = packed_events(events, columns, time, key, order, shards)
    if changes is not None:
        rows = rows.unionByName(packed_changes(changes, names, shards))
    given = [query.to_dict() for query in begun]
    fingerprint = _fingerprint(told, given, name)
    processor = StandingProcessor(
        json.dumps(told),
        parcel(given, spark),
        begun=fingerprint,
        shards=shards,
        shown=result,
    )
    keyed = placed(rows, shards).groupBy(PLACE)
    inside = inside_schema(names, _key_kind(events.schema, key))
    found = keyed.transformWithStateInPandas(planned(processor), inside, "Append", "None")
    about = {"begun": fingerprint, "shards": shards, "name": name}
    if events.isStreaming:
        found = _observed(found, about)
    shown = found.filter("told IS NULL").select(*_shown(result, events.schema[time].dataType))
    return shown.withMetadata("at", {OBSERVED: about})


def _observed(rows: DataFrame, about: dict[str, Any]) -> DataFrame:
    """With the figures of each micro-batch for Spark to see."""
    read = rows.withColumn("told", F.from_json("told", _TOLD))
    counts = [F.sum(f"told.{name}").alias(name) for name in _SUMMED]
    refused = F.collect_list("told.refused").alias("refused")
    results = F.count_if(F.col("told").isNull()).alias("results", metadata={OBSERVED: about})
    return read.observe(observed_name(str(about["name"])), results, *counts, refused)


def _shown(result: Shown, time: DataType) -> list[Column]:
    timestamp = isinstance(time, TimestampType)
    when = F.timestamp_millis("time").alias("time") if timestamp else F.col("time")
    if result == "answers":
        return [*map(F.col, ("query", "rank", "key", "score")), when, F.col("at")]
    return [*map(F.col, ("query", "key", "score", "position")), when, F.col("at")]


def _registered(queries: list[StandingQuery], settings: dict[str, Any]) -> list[StandingQuery]:
    """Build what the executors will build, so that what they can't do is known now."""
    from topwater.standing import Standing  # compiled loops: only for those who use them

    trial = Standing(**settings)
    for query in queries:
        try:
            trial.register(query)
        except QueryError as error:
            raise QueryError(
                f"of the query {query.name!r}: {error.problem}", field="queries", fix=error.fix
            ) from None
    return queries


def _fingerprint(settings: dict[str, Any], queries: list[dict[str, Any]], name: str) -> str:
    ordered = sorted(json.dumps(query, sort_keys=True) for query in queries)
    text = json.dumps([settings, ordered, name], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _key_kind(schema: StructType, key: str | None) -> str:
    return "string" if key and isinstance(schema[key].dataType, StringType) else "bigint"


def _check_choices(shards: int, result: str) -> None:
    whole_of(shards, "shards", 1, fix="leave it out, or give the number of cores")
    choice_of(result, get_args(Shown), "result")


def _check_events(
    schema: StructType, columns: Sequence[str], time: str, key: str | None, order: str | None
) -> None:
    numbers, keys = (NumericType, BooleanType), (StringType, IntegralType)
    for name in columns:
        _check_column(schema, name, "columns", numbers, "cast it to a number")
    _check_column(schema, time, "time", _TIMES, "cast it to a timestamp, or to a whole number")
    if key is not None:
        _check_column(schema, key, "key", keys, "cast it to text, or to a whole number")
    if order is not None:
        _check_column(schema, order, "order", _TIMES, "cast it to a whole number or a timestamp")


def _check_column(
    schema: StructType, name: str, field: str, kinds: tuple[type[DataType], ...], fix: str
) -> None:
    if schema.names.count(name) != 1:
        there = "is there twice" if name in schema.names else "is not there"
        raise QueryError(
            f"the column {name!r} {there}; there are: {', '.join(schema.names)}",
            field=field,
            fix=suggestion(name, schema.names, "rename the column"),
        )
    kind = schema[name].dataType
    if not isinstance(kind, kinds):
        raise QueryError(
            f"the column {name!r} is of type {kind.simpleString()}", field=field, fix=fix
        )


def _check_changes(changes: DataFrame, events: DataFrame) -> None:
    check_columns(changes.schema, ("op", "name"), "changes")
    if changes.isStreaming != events.isStreaming:
        raise QueryError(
            "one of events and changes is a stream, the other a table",
            field="changes",
            fix="read both with spark.readStream, or both with spark.read",
        )
    if "time" in changes.columns:
        fix = "cast it to a timestamp, or to a whole number"
        _check_column(changes.schema, "time", "changes", _TIMES, fix)
