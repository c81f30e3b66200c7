"""Events from text. What can't be read has null columns, so that a query counts it as bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

TEXT = "value"
_EVENT = "__event"


def text_of(payload: str) -> Column:
    """Bytes as text; null if they are not UTF-8."""
    # A cast keeps the bytes as they are, where decode() would put other letters in their place.
    return F.try_validate_utf8(F.col(payload).cast("string"))


def without_blanks(lines: DataFrame, *, comments: bool) -> DataFrame:
    """Lines of a file that are not empty, and no comments of RDF; what is not text is kept."""
    kept = lines.where("value IS NULL OR trim(value) != ''")
    return kept.where("value IS NULL OR NOT startswith(value, '#')") if comments else kept


def rows(lines: DataFrame, format: str, schema: str, more: Mapping[str, str]) -> DataFrame:  # noqa: A002
    """The columns of a schema, from the column ``value``.

    Parameters
    ----------
    lines
        Its other columns are named by ``more``.
    format
        ``json`` or ``csv``.
    schema
        The columns, in Spark's words.
    more
        Columns to keep, and what they are to be called.
    """
    # The failures of a CSV line are told in its null columns, as those of JSON are.
    read = F.from_json if format == "json" else F.from_csv
    kept = [F.col(name).alias(other) for name, other in more.items()]
    return lines.select(read(TEXT, schema).alias(_EVENT), *kept).select(
        f"{_EVENT}.*", *more.values()
    )


def rdf(
    lines: DataFrame,
    format: str,  # noqa: A002
    arrived: str | None = None,
    keep: Sequence[str] = (),
) -> DataFrame:
    """The columns ``time`` and ``value`` of a text in RDF.

    Parameters
    ----------
    lines
        With the text in the column ``value``: ``TIME<TAB>TRIPLES``, or JSON-LD whose ``"time"``
        tells when it was. A time is in ISO 8601, or in milliseconds since 1970.
    format
        ``ntriples``, ``nquads`` or ``jsonld``.
    arrived
        The column that tells the time instead; the text is then all RDF.
    keep
        Columns to keep.
    """
    if arrived is not None:
        return lines.select(F.col(arrived).alias("time"), TEXT, *keep)
    parts = F.split(TEXT, "\t", 2)
    told = F.get_json_object(TEXT, "$.time") if format == "jsonld" else parts[0]
    text = F.col(TEXT) if format == "jsonld" else F.get(parts, F.lit(1))
    events = lines.select(told.alias("told"), text.alias(TEXT), *keep)
    whole = F.timestamp_millis(F.expr("try_cast(told AS bigint)"))
    moment = F.coalesce(whole, F.expr("try_cast(told AS timestamp)"))
    return events.select(moment.alias("time"), TEXT, *keep)


def moved(rows: DataFrame, time: str, by: str) -> DataFrame:
    """Rows whose time is later by this many milliseconds."""
    column = F.col(f"`{time}`")
    if rows.schema[time].dataType.typeName() == "long":
        return rows.withColumn(time, column + F.col(by))
    return rows.withColumn(time, F.timestamp_add("MILLISECOND", F.col(by), column))
