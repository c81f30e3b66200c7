"""Which columns Java takes, and as what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from topwater.spark import java_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def schema_of(kinds: dict[str, DataType]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


@pytest.mark.usefixtures("spark")
def test_other_types_are_left_to_python() -> None:
    kinds = {"d": DateType(), "n": TimestampNTZType(), "t": StringType(), "x": DoubleType()}
    schema = schema_of({**kinds, "b": BinaryType(), "m": DecimalType(30, 2)})
    assert [java_columns.ticks(schema, name) for name in "dntxb"] == [None] * 5
    assert [java_columns.key(schema, name) for name in "dnxbm"] == [None] * 5
    assert [java_columns.number(schema, name) for name in "dntbm"] == [None] * 5
    assert java_columns.beats(schema, "t") is None
    assert java_columns.beats(schema, None) == []


def test_what_there_is_comes_as_numbers_and_bytes(spark: SparkSession) -> None:
    kinds = {"at": TimestampType(), "i": ShortType(), "t": StringType(), "f": FloatType()}
    schema = schema_of({**kinds, "m": DecimalType(9, 2)})
    ticks, key = java_columns.ticks(schema, "at"), java_columns.key(schema, "t")
    small, number = java_columns.key(schema, "i"), java_columns.number(schema, "f")
    money = java_columns.number(schema, "m")
    assert ticks is not None
    assert key is not None
    assert small is not None
    assert number is not None
    assert money is not None
    assert (ticks[0], key[0], small[0]) == (1_000, True, False)
    events = spark.createDataFrame([], schema)
    found = events.select(ticks[1], key[1], small[1], number, money)
    assert [kind for _, kind in found.dtypes] == ["bigint", "binary", "bigint", "double", "double"]
