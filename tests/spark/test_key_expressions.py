"""Keys in Spark's own words: what one by one they are inside, and back again."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812

from tests.support.typed_keys import DAY, TYPES, table_of
from topwater import QueryError, TopKQuery, run, tumbling
from topwater.model import KeyColumn, KeyForm
from topwater.remote import memory
from topwater.spark import Files, answers_from, topk
from topwater.spark.key_expressions import key_inside, key_outside

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from topwater import Answer

KEY = ("product", "day", "n")
FORM = KeyForm(tuple(map(KeyColumn, KEY, ("text", "date", "whole"))))
COLUMNS: dict[str, list[Any]] = {
    "text": ["", "\0", "\x01\x02\x03\x04", "a\0", "ü€😀", "P1", None, "\x02\x02"],
    "whole": [0, -1, 9, -10, 2**63 - 1, -(2**63), 123, None],
    "boolean": [True, False, True, True, False, None, True, False],
    "date": [DAY, date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31), *[date(1970, 1, 1)] * 4],
    "local": [
        datetime(2026, 3, 8, 2, 30, 0, 123_456),  # an hour that New York does not have
        datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(1969, 12, 31, 23),
        *[datetime(1970, 1, 1, 0, 0, 0, 1)] * 4,
    ],
    "decimal(2)": [Decimal(each) for each in ("0.00", "-0.01", "9.99", "-123.40", "1.00", "0.10")]
    + [Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36 + ".99")],
}  # fmt: skip
COLUMNS["instant"] = [each.replace(tzinfo=UTC) for each in COLUMNS["local"]]


@pytest.mark.spark
def test_they_are_what_each_key_is_inside_and_come_back(spark: SparkSession) -> None:
    whole = KeyForm(tuple(KeyColumn(kind, kind) for kind in COLUMNS))
    forms = [whole, *(KeyForm((column,)) for column in whole.columns if column.kind != "text")]
    table = pa.table({kind: pa.array(values, TYPES[kind]) for kind, values in COLUMNS.items()})
    named = [key_inside(form).alias(f"in{at}") for at, form in enumerate(forms)]
    found = spark.createDataFrame(table).coalesce(1).select(named).toArrow()
    inside = spark.createDataFrame(found).coalesce(1)
    outside = [key_outside(form, inside[f"in{at}"]) for at, form in enumerate(forms)]
    back = inside.select(
        *(F.struct(columns).alias(f"out{at}") for at, columns in enumerate(outside))
    )
    told = back.toArrow()
    for at, form in enumerate(forms):
        keys = [*zip(*(COLUMNS[name] for name in form.names), strict=True)]
        good = [None if None in key else key if form.composite else key[0] for key in keys]
        expected = [None if key is None else form.inside(key) for key in good]
        assert found.column(at).to_pylist() == expected, form
        parts = [tuple(each.values()) for each in told.column(at).to_pylist()]
        came = [None if None in part else part if form.composite else part[0] for part in parts]
        assert came == good, form


def events(rows: int = 60) -> pa.Table:
    """Few products, days and numbers, so that keys repeat; and a null in each part."""
    products = ["tea", "a\0b", "", "tea\x01P1", "é", None]
    keys = [
        (products[at * 7 % 6], None if at % 13 == 5 else DAY.replace(day=1 + at % 2), at % 3 - 1)
        for at in range(rows)
    ]
    others = {
        "at": pa.array(range(1, rows + 1)),
        "shop": pa.array([at % 2 == 0 for at in range(rows)]),
    }
    return table_of(FORM, keys, **others)


def query_of(**changes: Any) -> TopKQuery:
    plain = {"key": KEY, "time": "at", "window": tumbling(20), "k": 4, "take": {"sold": "count"}}
    return TopKQuery(**{**plain, "score": "sold", **changes})


def price(_: Any = None) -> Any:
    return memory({("tea", DAY.replace(day=1), -1): 9.0, ("", DAY.replace(day=1), 1): 4.0})


REMOTE = {"score": "sold * price", "refresh": {"remote": "price", "budget": 100}}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("changes", "shards"),
    [
        ({}, 1),
        ({"group_by": ("shop", "product")}, 2),
        ({"key": "day", "group_by": "shop"}, 1),
        (REMOTE, 2),
        ({"take": "each", "score": "n"}, 2),
    ],
    ids=["one", "groups", "day", "remote", "each"],
)
def test_answers_are_those_of_this_process(
    spark: SparkSession, changes: dict[str, Any], shards: int
) -> None:
    query = query_of(**changes)
    source = price() if query.refresh else None
    table = events()
    local = [*run(query, [table], source=source)]
    found = topk(spark.createDataFrame(table), query, source, shards=shards, give="both").toArrow()
    assert essence(answers_from(found, query)) == essence(local)
    assert {*query.key_columns, *query.group_columns} <= {*found.column_names}
    if not isinstance(query.key, tuple):
        assert found.schema.field("day").type == pa.date32()


def essence(answers: list[Answer]) -> list[Any]:
    """What hosts have in common: they count an answer's events where they hear of them."""
    return [
        (each.window, each.group, each.rows, each.looked_up, each.key_columns, each.group_columns)
        for each in answers
    ]


@pytest.mark.spark
def test_files_are_read_as_the_stream_and_a_restart_goes_on(
    spark: SparkSession, checkpoint: str, tmp_path: Path
) -> None:
    table, folder, sink = events(), tmp_path / "events", str(tmp_path / "sink")
    folder.mkdir()
    for number, (start, length) in enumerate(((0, 17), (17, 20), (37, 23))):
        path = folder / f"{number}.parquet"
        pq.write_table(table.slice(start, length), path)
        os.utime(path, (1_000 + number, 1_000 + number))
        if not number:
            continue
        rows = topk(Files(folder), query_of(**REMOTE), price(), give="both")
        writer = rows.writeStream.format("parquet").option("path", sink)
        started = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        started.awaitTermination()
    found = answers_from(spark.read.parquet(sink).toArrow(), query_of(**REMOTE))
    local = [*run(query_of(**REMOTE), [table], source=price())]
    assert essence(found) == essence(local[: len(found)])
    assert len(found) == 2


@pytest.mark.spark
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"key": ("prodct", "n")}, r"'prodct' is not there.*did you mean product"),
        ({"key": ("product", "weight")}, r"'weight' is of type double.*cast it"),
        ({"group_by": ("shop", "weight")}, r"the group_by column 'weight' is of type double"),
    ],
)
def test_what_does_not_fit_is_told_before_it_starts(
    spark: SparkSession, changes: dict[str, Any], problem: str
) -> None:
    table = events(2).append_column("weight", pa.array([1.5, 2.5]))
    with pytest.raises(QueryError, match=f"(?s){problem}"):
        topk(spark.createDataFrame(table), query_of(**changes))
