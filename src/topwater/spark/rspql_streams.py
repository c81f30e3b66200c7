"""What a query in RSP-QL reads: streams → binding tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    DateType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from topwater.errors import QueryError
from topwater.rspql import Plan, full_name
from topwater.rspql.rdf.event_format import Columns, Documents
from topwater.rspql.rdf.pattern_match import Matcher
from topwater.rspql.rdf.static_data import StaticData
from topwater.rspql.registration import streams_of
from topwater.spark.rspql import Mapped, Rdf, Stream
from topwater.spark.rspql_windows import binding_schema
from topwater.spark.score_columns import quoted
from topwater.spark.workers import set_modules_aside

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession
    from rdflib.term import URIRef


def _require_session(spark: SparkSession, events: DataFrame) -> None:
    """Raise unless the streams belong to the session."""
    if events.sparkSession is not spark and events.sparkSession != spark:
        raise QueryError(
            "belong to another session", field="streams", fix="make them with the session given"
        )


def bindings_of(
    spark: SparkSession, plan: Plan, given: Mapping[str, Stream], data: StaticData | None = None
) -> DataFrame:
    """The binding tables of all streams that the query reads, as one."""
    tables: list[DataFrame] = []
    schema = binding_schema(plan, "timestamp")
    for name, reading, events in opened(spark, plan, given):
        matcher = Matcher.of(plan, name, reading, data)
        tables.append(events.mapInArrow(partial(_matches, matcher, len(tables)), schema))
    return reduce(DataFrame.union, tables)


def opened(
    spark: SparkSession, plan: Plan, given: Mapping[str, Stream]
) -> list[tuple[URIRef, Documents | Columns, DataFrame]]:
    """The streams that the query reads: by name how they are written, and the columns needed."""
    found = []
    for name, stream in streams_of(plan, given).items():
        reading = _reading(stream, plan)
        events = stream if isinstance(stream, DataFrame) else stream.events
        _require_session(spark, events)
        found.append((name, reading, events.select(*_checked(events, reading, str(name)))))
    return found


def _reading(stream: Stream, plan: Plan) -> Documents | Columns:
    if isinstance(stream, DataFrame):
        return Documents()
    if isinstance(stream, Rdf):
        return Documents(stream.text, stream.time, stream.format)
    if isinstance(stream, Mapped):
        prefixes = plan.prefixes
        named = {full_name(name, prefixes): column for name, column in stream.predicates.items()}
        start = full_name(stream.namespace, prefixes) if stream.namespace else ""
        return Columns(stream.subject, named, stream.time, start, tuple(stream.iris))
    raise QueryError(
        f"a {type(stream).__name__} is not a stream",
        field="streams",
        fix="give a DataFrame, Rdf(…) or Mapped(…)",
    )


def _checked(events: DataFrame, reading: Documents | Columns, name: str) -> list[Column]:
    """The columns that are read, with the time as a timestamp."""
    types = {column.name: column.dataType for column in events.schema}
    for column in reading.columns:
        if column not in types:
            raise QueryError(
                f"the stream <{name}> has no column {column!r}; there are: {', '.join(types)}",
                field="streams",
                fix="name the column: Rdf(events, text=…, time=…) or Mapped(events, …)",
            )
    kind = types[reading.time]
    if not isinstance(kind, TimestampType | TimestampNTZType | DateType | IntegralType):
        raise _wrong(name, reading.time, kind.simpleString(), "a timestamp or milliseconds")
    if isinstance(reading, Documents) and not isinstance(types[reading.text], StringType):
        raise _wrong(name, reading.text, types[reading.text].simpleString(), "text")
    if isinstance(reading, Columns):
        _check_columns(reading, types, name)
    time = quoted(reading.time)
    time = F.timestamp_millis(time) if isinstance(kind, IntegralType) else time.cast("timestamp")
    rest = [quoted(column) for column in reading.columns if column != reading.time]
    return [time.alias(reading.time), *rest]


def _check_columns(reading: Columns, types: Mapping[str, Any], name: str) -> None:
    if not isinstance(types[reading.subject], StringType | IntegralType):
        told = types[reading.subject].simpleString()
        raise _wrong(name, reading.subject, told, "text or whole numbers")
    for column in reading.predicates.values():
        kinds = StringType | NumericType | TimestampType | BooleanType
        if not isinstance(types[column], kinds):
            raise _wrong(name, column, types[column].simpleString(), "text, numbers or times")


def _wrong(stream: str, column: str, found: str, wanted: str) -> QueryError:
    return QueryError(
        f"the column {column!r} of the stream <{stream}> is of type {found}",
        field="streams",
        fix=f"it must be {wanted}: cast it, or name another one",
    )


def _matches(
    matcher: Matcher, stream: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    set_modules_aside()
    key = " ".join(matcher.keys)
    scope, count = f"{stream}x{task_of()}x", 0
    for batch in batches:
        found = matcher.match(pa.Table.from_batches([batch]), scope, count)
        count += batch.num_rows
        for name in (key, *matcher.texts):
            place = found.column_names.index(name)
            found = found.set_column(place, name, found.column(name).cast(pa.string()))
        yield from found.combine_chunks().to_batches()


def task_of() -> str:
    """Which part of which micro-batch this is: the same if it runs again."""
    task = TaskContext.get()
    if task is None:
        return ""
    return f"{task.getLocalProperty('streaming.sql.batchId') or 0}x{task.partitionId()}"
