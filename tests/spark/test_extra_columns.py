"""Texts of the stream and several remote values on Spark: the same as in process, in columns."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from topwater import Answer, QueryError, TopKQuery, remote, run, topk, tumbling
from topwater.model import Row, Window
from topwater.spark import answers_from
from topwater.spark.extra_columns import (
    Extras,
    both_of,
    numbers_of,
    packed_extras,
    packed_late_texts,
    texts_of,
    with_texts,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = date(2026, 11, 19)
GOODS: dict[Any, Any] = {
    ("tea", DAY): {"price": 3.0, "stock": 4, "maker": "Käse & Co"},
    ("rice", DAY): {"price": 2.0, "stock": 0, "maker": "A"},
    ("salt", DAY): {"price": 0.1, "stock": 9, "maker": "B"},
}
VENDORS = {7: 0.5, 2**60 + 1: 0.25}
EVENTS = [
    ("tea", 1, 7, "a chair"),
    ("rice", 2, 7, None),
    ("salt", 3, 2**60 + 1, ""),
    ("salt", 4, 2**60 + 1, "ein Stuhl"),
    ("tea", 5, 2**60 + 1, None),
    ("oil", 6, None, "öl"),
    ("tea", 21, 7, "late: nobody answers it"),
]
SCHEMA = "product string, day date, at bigint, vendor bigint, title string"


def query(**changes: Any) -> TopKQuery:
    given: dict[str, Any] = {
        "key": ("product", "day"),
        "time": "at",
        "window": tumbling(10),
        "k": 3,
        "take": {"sold": "count", "vendor": "last(vendor)", "title": "last(title)"},
        "score": "sold * price * trust",
        "where": "stock > 0",
        "refresh": [
            {"remote": ["price", "stock", "maker"], "from": "shop"},
            {"remote": "trust", "from": "vendors", "key": "vendor", "cost": 5},
        ],
        "budget": {"cost": 100, "per": {"1 s": 6000}},
    }
    return TopKQuery(**{**given, **changes})


def sources() -> dict[str, Any]:
    return {"shop": remote.memory(GOODS), "vendors": remote.memory(VENDORS)}


def rows() -> list[dict[str, Any]]:
    names = ("product", "at", "vendor", "title")
    return [dict(zip(names, each, strict=True)) | {"day": DAY} for each in EVENTS]


def frame(spark: SparkSession) -> DataFrame:
    names = ("product", "day", "at", "vendor", "title")
    return spark.createDataFrame([tuple(row[name] for name in names) for row in rows()], SCHEMA)


def with_words(answer: Answer) -> Answer:
    """Spark's rows name what was looked up of several sources in words."""
    found = tuple(
        replace(each, key=", ".join(map(str, each.key)) if isinstance(each.key, tuple)
                else str(each.key))
        for each in answer.looked_up
    )  # fmt: skip
    return replace(answer, looked_up=found)


@pytest.mark.spark
def test_two_sources_texts_and_keys_of_any_type(spark: SparkSession) -> None:
    """Keys of several columns, one of them a date; one that no double can hold; a filter."""
    right = [with_words(each) for each in run(query(), [rows()], sources=sources())]
    table = topk(frame(spark), query(), sources=sources(), give="both", shards=3).toArrow()
    assert answers_from(table, query()) == right
    window, first, second = table.slice(0, 3).to_pylist()
    assert (first["product"], first["day"], first["rank"]) == ("tea", DAY, 1)
    assert (first["sold"], first["vendor"], first["title"]) == (2, 2**60 + 1, None)
    price = [first[f"price{end}"] for end in ("", "_age", "_confidence", "_assumed")]
    assert price == [3.0, 0, 1.0, None]
    assert (first["maker"], first["trust"]) == ("Käse & Co", 0.25)
    assert (second["vendor"], second["title"]) == (2**60 + 1, "ein Stuhl")
    figures = window["figures"]
    assert (figures["spent"], dict(figures["left"])) == (14.0, dict(right[0].left))
    assert {
        "source": "vendors",
        "key": str(2**60 + 1),
        "before": None,
        "after": 0.25,
        "ok": True,
    } in figures["looked_up"]
    assert "tea, 2026-11-19" in {each["key"] for each in figures["looked_up"]}
    kinds = {column.name: column.type for column in table.schema}
    assert (kinds["maker"], kinds["vendor"], kinds["title"]) == (
        pa.string(),
        pa.int64(),
        pa.string(),
    )


@pytest.mark.spark
def test_texts_alone_and_in_several_shards(spark: SparkSession) -> None:
    """Nothing is looked up: keys are divided, and the texts go along; late ones, too."""
    plain = query(key="product", refresh=None, where=None, budget=..., score="sold")
    right = [*run(plain, [rows()])]
    table = topk(frame(spark), plain, give="both", shards=3).toArrow()
    assert [each.rows for each in answers_from(table, plain)] == [each.rows for each in right]
    figures = {field.name for field in table.schema.field("figures").type}
    assert {"spent", "left"}.isdisjoint(figures)
    one = query(key="product", refresh="price", where=None, budget=5, score="sold * price")
    prices = remote.memory({"tea": 3.0, "rice": 2.0, "salt": 0.1})
    table = topk(frame(spark), one, prices, give="both", shards=3).toArrow()
    assert answers_from(table, one) == [*run(one, [rows()], source=prices)]


@pytest.mark.spark
def test_what_does_not_fit_is_refused_before_anything_starts(spark: SparkSession) -> None:
    events, one = frame(spark), sources()["shop"]
    for given, problem, fix in (
        ({"sources": {"shop": one}}, "names the source 'vendors'", "vendors"),
        ({"sources": {"shop": one, "vendor": one}}, "names the source 'vendors'", "vendor"),
        ({"sources": sources() | {"more": one}}, "takes nothing from the source 'more'", "leave"),
        ({"source": one}, "one source was given, and the query names shop, vendors", "by name"),
        ({"source": one, "sources": sources()}, "one source and several", "all of them"),
        ({}, "no source was given", "pass the source"),
        (
            {"sources": sources() | {"vendors": remote.memory({"seven": 1.0})}},
            "'vendor' is whole numbers in the stream, and the keys of 'vendors' are text",
            "cast one of them",
        ),
        ({"sources": {"shop": sources()["vendors"], "vendors": one}}, "shop: gives", "names"),
    ):
        with pytest.raises(QueryError, match=problem) as caught:
            topk(events, query(), **given)
        assert fix in caught.value.fix
    with pytest.raises(QueryError, match="column 'vendr' is not there") as caught:
        topk(events, query(take={"sold": "count", "vendor": "last(vendr)"}), sources=sources())
    assert "did you mean vendor?" in caught.value.fix


def test_texts_and_numbers_are_told_apart_and_put_together_again() -> None:
    values = (2.0, "a", None, "", 7)
    assert numbers_of(values) == [2.0, None, None, None, 7.0]
    assert texts_of(values) == [None, "a", None, "", None]
    assert both_of(numbers_of(values), texts_of(values)) == values
    assert both_of([1.0], None) == (1.0,)


def test_an_answer_without_texts_says_nothing_beside() -> None:
    plain = query(refresh=None, where=None, budget=..., score="sold")
    answer = Answer(Window(0, 0, 10), (Row(1, "tea", 2.0, 5, values=(2.0, None, None)),))
    assert packed_extras(answer, plain) is None
    assert with_texts(answer.rows, None) == answer.rows
    assert packed_late_texts([(1.0, None)]) is None
    named = replace(answer, rows=(replace(answer.rows[0], values=(2.0, None, "x")),))
    said = packed_extras(named, plain)
    assert said is not None
    bare = tuple(replace(row, values=tuple(numbers_of(row.values))) for row in named.rows)
    assert with_texts(bare, said) == named.rows
    assert json.loads(packed_late_texts([(1.0, "x")]) or "") == {"rows": [{"texts": [None, "x"]}]}


def test_which_columns_there_are_and_what_they_hold() -> None:
    assert not Extras.of(query(), {}, None)
    labels = {"vendor": pa.array([7]), "title": pa.array(["a"])}
    told = Extras.of(query(), labels, None)
    assert told.labels == (("vendor", False), ("title", True))
    assert told.schema().fieldNames() == ["rows"]
    found = Extras(remotes=(("price", False), ("maker", True))).schema()
    (row,) = found["rows"].dataType.elementType  # type: ignore[attr-defined]
    assert row.dataType.fieldNames() == ["price", "maker"]
