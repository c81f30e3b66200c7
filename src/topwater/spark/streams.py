"""Any stream that people have, as a DataFrame.

::

    files, Kafka ──► Spark's own sources ──┐
    replay ────────► our source ───────────┤
    MQTT, sockets ─► spool ► our source ───┼──► text ──► columns of the schema, or RDF
    your own ──────► your source ──────────┘             (null where it can't be read)

    a format of Spark's, a table ─► the columns that it has
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwater.errors import QueryError
from topwater.spark import text_events
from topwater.spark.format_errors import format_errors
from topwater.spark.text_events import TEXT
from topwater.streams import (
    FilesStream,
    KafkaStream,
    MqttStream,
    PythonStream,
    ReplayStream,
    SocketStream,
    SparkStream,
    StreamSettings,
    stream_settings,
)
from topwater.streams.spark_formats import filled_options, option_texts
from topwater.validation import checked_call
from topwater.validation.addresses import REMOTE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@checked_call()
def stream(
    spark: SparkSession,
    settings: StreamSettings | Mapping[str, Any],
    *,
    once: bool = False,
) -> DataFrame:
    """A stream of events, as rows.

    Parameters
    ----------
    spark
        The session. It needs the ``packages`` of the settings, from its start on.
    settings
        Settings of :mod:`topwater.streams`, or a mapping as :func:`stream_settings` takes it.
    once
        Give what is there now as a table. Not for MQTT and sockets, which have no past.

    Returns
    -------
    DataFrame
        The columns of the schema; for RDF ``time`` and ``value``, as
        :class:`~topwater.spark.Rdf` wants them. What can't be read has null columns.

    Raises
    ------
    QueryError
        If a setting can't work.
    SourceError
        If the server can't be reached.
    EnvironmentProblem
        If the session lacks the package of a format.
    """
    told = settings if isinstance(settings, StreamSettings) else stream_settings(settings)
    if once and not told.bounded:
        raise QueryError(
            f"{told.kind} has no end, so it can't be read once",
            field="kind",
            fix="run it as a stream, or record it and read the files",
        )
    return _MAKERS[type(told)](spark, told, once)


def _files(spark: SparkSession, told: FilesStream, once: bool) -> DataFrame:
    reader: Any = spark.read if once else spark.readStream
    folder, pattern = _place(told.path, told.pattern)
    if pattern:
        reader = reader.option("pathGlobFilter", pattern)
    if told.max_files_per_trigger is not None and not once:
        reader = reader.option("maxFilesPerTrigger", told.max_files_per_trigger)
    if told.format in ("parquet", "csv"):
        schema = told.schema or _parquet_schema(spark, folder, pattern)
        found: DataFrame = (
            reader.schema(schema).option("header", told.header).format(told.format).load(folder)
        )
        return found
    lines = reader.text(folder).select(text_events.text_of(TEXT).alias(TEXT))
    return read_text(text_events.without_blanks(lines, comments=told.rdf), told)


def _place(path: str, pattern: str) -> tuple[str, str]:
    """The folder, and which names: Spark streams folders only."""
    if REMOTE.match(path) or Path(path).is_dir():
        return path, pattern
    return str(Path(path).parent), re.sub(r"([\\*?\[\]{}])", r"\\\1", Path(path).name)


def _parquet_schema(spark: SparkSession, folder: str, pattern: str) -> Any:
    """What the files that are there say."""
    from pyspark.errors import AnalysisException

    try:
        reader = spark.read.option("pathGlobFilter", pattern) if pattern else spark.read
        return reader.parquet(folder).schema
    except AnalysisException:
        raise QueryError(
            f"{folder} has no parquet file yet, so its columns are unknown",
            field="schema",
            fix='write schema = "user string, at timestamp"',
        ) from None


def read_text(lines: DataFrame, told: StreamSettings, keep: Sequence[str] = ()) -> DataFrame:
    """The events in the column ``value``; other columns as the settings name them."""
    if told.rdf:
        arrived = "arrived" if getattr(told, "time", "") == "arrived" else None
        return text_events.rdf(lines, told.format, arrived, keep)
    named = {name: getattr(told, f"{name}_column", "") for name in ("topic", "arrived")}
    more = {name: column for name, column in named.items() if column}
    return text_events.rows(
        lines, told.format, told.schema, {**more, **{name: name for name in keep}}
    )


def _spooled(spark: SparkSession, told: MqttStream | SocketStream, _: bool) -> DataFrame:
    from topwater.spark.spool_source import spooled

    text = text_events.text_of("payload").alias(TEXT)
    return read_text(spooled(spark, told).select(text, "topic", "arrived"), told)


def _replay(spark: SparkSession, told: ReplayStream, once: bool) -> DataFrame:
    from topwater.spark.replay_source import SHIFT, replayed

    if once:
        return _once(spark, told)
    if told.format == "parquet":
        schema = told.schema or _parquet_schema(spark, *_place(told.path, told.pattern))
        rows = replayed(spark, told, schema if isinstance(schema, str) else schema.toDDL())
    else:
        text = text_events.text_of(TEXT).alias(TEXT)
        lines = replayed(spark, told, f"{TEXT} binary").select(text, SHIFT)
        rows = read_text(text_events.without_blanks(lines, comments=told.rdf), told, keep=[SHIFT])
    return (text_events.moved(rows, told.time, SHIFT) if told.shift_to_now else rows).drop(SHIFT)


def _once(spark: SparkSession, told: ReplayStream) -> DataFrame:
    """The files as a table: a pace needs a stream."""
    if told.shift_to_now:
        raise QueryError(
            "a table has no beginning that could be now",
            field="shift_to_now",
            fix="leave it out, or run it as a stream",
        )
    files = FilesStream(
        path=told.path,
        pattern="" if told.pattern == "*" else told.pattern,
        schema=told.schema,
        format=told.format,
        header=told.header,
    )
    return _files(spark, files, True)


def _kafka(spark: SparkSession, told: KafkaStream, once: bool) -> DataFrame:
    from topwater.spark.kafka import kafka

    text = text_events.text_of("value").alias(TEXT)
    rows = kafka(spark, told, once).selectExpr("value", "topic", "timestamp AS arrived")
    return read_text(rows.select(text, "topic", "arrived"), told)


def _python(spark: SparkSession, told: PythonStream, once: bool) -> DataFrame:
    from topwater.spark.custom_source import plugged

    rows = plugged(spark, told, once)
    if told.format == "rows":
        return rows
    return read_text(rows.select(text_events.text_of(TEXT).alias(TEXT)), told)


def _by_spark(spark: SparkSession, told: SparkStream, once: bool) -> DataFrame:
    reader: Any = spark.read if once else spark.readStream
    reader = reader.options(**filled_options(option_texts(told.options)))
    if told.schema:
        reader = reader.schema(told.schema)
    with format_errors(told.format, told.table):
        made = reader.format(told.format) if told.format else reader
        rows: DataFrame = made.table(told.table) if told.table else made.load(told.path or None)
        rows.schema  # noqa: B018  what can't be read is known only now, over Connect
        return rows


_MAKERS: dict[type[StreamSettings], Callable[[SparkSession, Any, bool], DataFrame]] = {
    FilesStream: _files,
    KafkaStream: _kafka,
    MqttStream: _spooled,
    PythonStream: _python,
    ReplayStream: _replay,
    SocketStream: _spooled,
    SparkStream: _by_spark,
}
