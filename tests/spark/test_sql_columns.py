"""Columns of a table in SQL, and of the answers."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from topwater import QueryError, TopKQuery, tumbling
from topwater.monitor import KeyedMonitor
from topwater.spark.sql_columns import answer_rows, answer_schema, columns_for, selected

TABLE = StructType(
    [
        StructField("day", DateType()),
        StructField("shop", StringType()),
        StructField("price", DecimalType(9, 2)),
        StructField("seen at", TimestampType()),
        StructField("wall", TimestampNTZType()),
        StructField("n", ByteType()),
        StructField("good", BooleanType()),
        StructField("x", DoubleType()),
        StructField("tags", ArrayType(StringType())),
    ]
)


def query(key: str | tuple[str, ...] = "shop", **settings: object) -> TopKQuery:
    plain = {"key": key, "time": "seen at", "window": tumbling("1 min"), "score": "x", "k": 2}
    return TopKQuery(**{**plain, **settings})  # type: ignore[arg-type]


def test_only_what_is_needed_is_sent() -> None:
    shop, time, x = columns_for(query(), TABLE)
    assert (shop.expression, x.arrow) == ("`shop`", pa.float64())
    assert time.expression == "unix_micros(try_cast(`seen at` AS timestamp))"
    number = columns_for(query(time="n"), TABLE)[1]
    assert (number.name, number.expression) == ("n", "`n`")


def test_keys_of_all_types_are_shown_as_they_came() -> None:
    keys = ("day", "shop", "price", "wall", "n", "good", "seen at")
    asked = query(keys, time="n", score="x")
    columns = columns_for(asked, TABLE)
    moment, wall = datetime(2026, 1, 2, 3, 4, 5, 6, UTC), datetime(2026, 1, 1, 12, 30)
    row = (date(2026, 1, 1), "a", Decimal("1.50"), wall, 7, True, 1_767_323_045_000_006, 2.5)
    assert [each.name for each in columns] == [*keys, "x"]
    monitor = KeyedMonitor(asked)
    monitor.ingest(selected(columns, [row]))
    (found,) = (each for answer in monitor.flush() for each in answer_rows(answer, asked))
    names = answer_schema(asked, columns).names
    shown = dict(zip(names, found, strict=True))
    assert [shown[name] for name in keys] == [*row[:6], moment]
    assert (shown["rank"], shown["score"], shown["exact"]) == (1, 2.5, True)
    assert shown["window_end"] == datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    kinds = {each.name: each.dataType.simpleString() for each in answer_schema(asked, columns)}
    told = ["decimal(38,2)", "bigint", "timestamp_ntz"]
    assert [kinds[name] for name in ("price", "n", "wall")] == told


def test_values_have_their_own_names_and_an_underscore_where_these_are_taken() -> None:
    asked = query(
        take={"n": "count", "rank": "max(x)", "shown": "last(shop)"},
        score="n + f",
        refresh="f",
        group_by="day",
    )
    schema = answer_schema(asked, columns_for(asked, TABLE))
    assert schema.names == [
        *("day", "window_start", "window_end", "rank", "shop", "score", "time"),
        *("n", "rank_", "shown", "f", "exact"),
    ]
    assert schema["shown"].dataType == StringType()


def test_what_can_not_be_used_is_named() -> None:
    with pytest.raises(QueryError, match="'tags' is of type array<string>") as caught:
        columns_for(query("tags"), TABLE)
    assert caught.value.fix.startswith("cast it")
