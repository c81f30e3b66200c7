"""Answers on their way to a sink: by Spark's own, or micro-batch by micro-batch.

What passes through the driver is what a terminal shows, in parts; never all rows to be written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from topwater.errors import QueryError
from topwater.jobs.python_names import loaded
from topwater.jobs.sinks import BATCH, FILES, Sink
from topwater.streams.spark_formats import filled_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

MOST_TOGETHER = 10_000
"""Rows that the driver holds at a time, of those that a terminal shows."""
_NESTED = ("array", "map", "struct")
_SESSION_CATALOG = "spark_catalog"
Show = Callable[[list[dict[str, Any]]], None]


def start_writing(
    sink: Sink,
    answers: DataFrame,
    show: Show | None,
    *,
    checkpoint: str,
    trigger: Mapping[str, Any] | None,
    name: str,
) -> StreamingQuery:
    """Write answers to a sink, from now on.

    Parameters
    ----------
    sink, answers
        Where to, and what.
    show
        Is given all rows, some windows at a time, if the sink is the terminal.
    checkpoint, trigger, name
        As for :func:`topwater.spark.start`.

    Raises
    ------
    QueryError, EnvironmentProblem
        If Spark does not accept the format or the table.
    """
    from topwater.spark import start
    from topwater.spark.format_errors import format_errors

    begin = functools.partial(start, checkpoint=checkpoint, trigger=trigger, name=name)
    if not sink.streamed:
        return begin(answers, to=functools.partial(write_batch, sink, show=show))
    answers = given_rows(sink, answers)
    if sink.kind == "kafka":
        return begin(in_json(answers), to="kafka", options=_kafka_options(sink))
    with format_errors(sink.format, sink.table):
        return begin(
            answers,
            to=sink.format or None,
            path=sink.path or None,
            table=sink.table or None,
            partition_by=sink.partition_by,
            options=filled_options(sink.options),
        )


def given_rows(sink: Sink, answers: DataFrame) -> DataFrame:
    """Those of the answers that the sink is to have."""
    from topwater.spark import items, windows

    chosen = {"items": items, "windows": windows}.get(sink.give)
    return answers if chosen is None else chosen(answers)


def write_batch(sink: Sink, batch: DataFrame, number: int, *, show: Show | None = None) -> None:
    """Write a micro-batch as a whole, and show it.

    What makes its rows also moves the state and asks the source: it runs once only.
    """
    if sink.kind == "console":
        for rows in parts(batch):
            if show is not None:
                show(rows)
        return
    kept = batch.persist()
    try:
        if kept.count():  # of all partitions, whatever is done with them
            _write(sink, kept, number)
            if show is not None:
                for rows in parts(kept):
                    show(rows)
    finally:
        kept.unpersist()


def _write(sink: Sink, batch: DataFrame, number: int) -> None:
    batch = given_rows(sink, batch)
    if sink.kind == "python":
        loaded(sink.object, sink.base)(batch, number)
        return
    if sink.kind == "kafka":
        writer = in_json(batch).write.format("kafka")
        writer.options(**_kafka_options(sink)).save()
        return
    options = filled_options(sink.options)
    if sink.kind in FILES:
        rows = _flat(batch) if sink.kind == "csv" else batch
        options = {"header": "true", **options} if sink.kind == "csv" else options
        writer = rows.write.mode("overwrite").format(sink.kind).options(**options)
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
        writer.save(f"{sink.path}/{BATCH}={number}")
    else:
        writer = _flat(batch).write.mode("append").format(sink.format).options(**options)
        writer.save(sink.path or None)


def parts(batch: DataFrame, most: int = MOST_TOGETHER) -> Iterator[list[dict[str, Any]]]:
    """The rows of a micro-batch, some at a time; those of a window are together."""
    together: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for row in batch.toLocalIterator():
        found = row.asDict(recursive=True)
        if len(together) >= most and _begins(found, last):
            yield together
            together = []
        last = found
        together.append(found)
    if together:
        yield together


def _begins(row: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    """Whether a row is the first of a window of a group: they follow each other, best first.

    What is said of the window as a whole has no rank, and stands before the first one.
    """
    if row.get("window_end") != last.get("window_end"):
        return True
    return row.get("rank") is None or (row["rank"] == 1 and last.get("rank") is not None)


def in_json(rows: DataFrame) -> DataFrame:
    """One JSON object a row."""
    return rows.selectExpr("to_json(struct(*)) AS value")


def _kafka_options(sink: Sink) -> dict[str, str]:
    from topwater.spark.kafka import with_variables

    place = {"kafka.bootstrap.servers": sink.servers, "topic": sink.topic}
    return place | with_variables(sink.options)


def _flat(rows: DataFrame) -> DataFrame:
    """Lists and maps as JSON: CSV has neither, nor have the tables of databases."""
    nested = [column.name for column in rows.schema if column.dataType.typeName() in _NESTED]
    shown = [
        f"to_json(`{name}`) AS `{name}`" if name in nested else f"`{name}`" for name in rows.columns
    ]
    return rows.selectExpr(*shown)


def require_lasting(sink: Sink, spark: SparkSession) -> None:
    """Raise if a table would be gone with a session that ends with the run."""
    if not sink.table:
        return
    first = sink.table.split(".")[0].strip("`") if "." in sink.table else ""
    default = spark.conf.get("spark.sql.defaultCatalog", _SESSION_CATALOG)
    catalogs = [name for name in (first, default) if name and name != _SESSION_CATALOG]
    if any(spark.conf.get(f"spark.sql.catalog.{name}", "") for name in catalogs):
        return
    own = spark.conf.get(f"spark.sql.catalog.{_SESSION_CATALOG}", "") or ""
    kept = spark.conf.get("spark.sql.catalogImplementation", "in-memory") != "in-memory"
    if kept or (own and ".delta." not in own):
        return
    raise QueryError(
        f"the catalog of this session forgets {sink.table} when the run ends",
        field="table",
        fix='name a catalog that lasts in [spark] settings, or write a path: format = "delta", '
        'path = "answers"',
    )
