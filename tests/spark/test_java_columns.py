"""Which columns Java takes, and as what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType

from topwater.spark import java_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def kinds(text: str) -> StructType:
    return StructType.fromDDL(text)


@pytest.mark.usefixtures("spark")
def test_other_types_are_left_to_python() -> None:
    schema = kinds("d date, n timestamp_ntz, t string, x double, b binary, m decimal(30, 2)")
    assert [java_columns.ticks(schema, name) for name in "dntxb"] == [None] * 5
    assert [java_columns.key(schema, name) for name in "dnxbm"] == [None] * 5
    assert [java_columns.number(schema, name) for name in "dntbm"] == [None] * 5
    assert java_columns.beats(schema, "t") is None
    assert java_columns.beats(schema, None) == []


def test_what_there_is_comes_as_numbers_and_bytes(spark: SparkSession) -> None:
    schema = kinds("at timestamp, i smallint, t string, f float, m decimal(9, 2)")
    ticks, key = java_columns.ticks(schema, "at"), java_columns.key(schema, "t")
    small, number = java_columns.key(schema, "i"), java_columns.number(schema, "f")
    money = java_columns.number(schema, "m")
    assert ticks and key and small and number is not None and money is not None
    assert (ticks[0], key[0], small[0]) == (1_000, True, False)
    events = spark.createDataFrame([], schema)
    found = events.select(ticks[1], key[1], small[1], number, money)
    assert [kind for _, kind in found.dtypes] == ["bigint", "binary", "bigint", "double", "double"]
