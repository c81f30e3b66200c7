"""Columns of times: one rule for those without a zone, which is Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import DateType, TimestampNTZType

from topwater.spark.score_columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ZONE = "spark.sql.session.timeZone"


def with_instants(events: DataFrame, *names: str | None) -> DataFrame:
    """Events whose times without a zone, and days, are instants by the zone of the session."""
    for name in names:
        if name is None or events.columns.count(name) != 1:
            continue
        if isinstance(events.schema[name].dataType, TimestampNTZType | DateType):
            events = events.withColumn(name, quoted(name).cast("timestamp"))
    return events


def zone_of_session(spark: SparkSession) -> str:
    """The zone in which the session reads and shows local times."""
    return str(spark.conf.get(_ZONE))
