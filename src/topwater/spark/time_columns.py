"""Columns of times: one rule for those without a zone, which is Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import DateType, StringType, TimestampNTZType

from topwater.spark.score_columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ZONE = "spark.sql.session.timeZone"


def with_instants(
    events: DataFrame, *names: str | None, texts: bool = False, days: bool = True
) -> DataFrame:
    """Events whose times without a zone, and days, are instants by the zone of the session.

    With ``texts``, so are texts; one that is not a time gives null. Without ``days``, days stay.
    """
    local = (TimestampNTZType, DateType) if days else (TimestampNTZType,)
    for name in names:
        if name is None or events.columns.count(name) != 1:
            continue
        kind = events.schema[name].dataType
        if isinstance(kind, local):
            events = events.withColumn(name, quoted(name).cast("timestamp"))
        elif texts and isinstance(kind, StringType):
            events = events.withColumn(name, quoted(name).try_cast("timestamp"))
    return events


def zone_of_session(spark: SparkSession) -> str:
    """The zone in which the session reads and shows local times."""
    return str(spark.conf.get(_ZONE))
