"""What users see on Spark: items, windows, both, and what changed."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topwater import QueryError, TopKQuery, remote, run, tumbling
from topwater.spark import answers_from, items, start, topk, windows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from topwater import Answer

SCHEMA = "lot string, day date, worth decimal(6,2), at bigint, town string, bids int, title string"
EVENTS = [
    ("vase", 3, "Oslo", 2, "a vase"), ("lamp", 4, "Oslo", 1, None), ("vase", 5, "Oslo", 2, "öl"),
    ("clock", 6, "Rome", 4, ""), ("lamp", 12, "Oslo", 3, "a lamp"), ("vase", 14, "Rome", 1, "x"),
    ("clock", 25, "Oslo", 1, "late"), ("vase", 26, "Oslo", 1, None), ("lamp", 47, "Oslo", 9, "end"),
    ("lamp", 61, "Oslo", 0, "nobody answers it"),
]  # fmt: skip
DAY = date(2026, 11, 19)
PRICES = {"vase": 2.0, "lamp": 3.0}


def query(**changes: Any) -> TopKQuery:
    given: dict[str, Any] = {
        "key": "lot", "time": "at", "window": tumbling(10), "k": 2, "score": "n * price",
        "take": {"n": "count", "rank": "sum(bids)", "title": "last(title)"},
        "refresh": {"remote": "price", "budget": 1},
    }  # fmt: skip
    return TopKQuery(**{**given, **changes})


def rows() -> list[tuple[Any, ...]]:
    return [(lot, DAY, Decimal(len(lot)) / 4, at, *rest) for lot, at, *rest in EVENTS]


def table(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(rows(), SCHEMA)


def batches() -> list[dict[str, list[Any]]]:
    names = [each.split()[0] for each in SCHEMA.split(", ")]
    return [dict(zip(names, map(list, zip(*rows(), strict=True)), strict=True))]


def source() -> Any:
    return remote.memory(PRICES)


@pytest.mark.spark
def test_an_item_has_the_columns_that_the_user_named(spark: SparkSession) -> None:
    found = topk(table(spark), query(), source())
    assert [(each.name, each.dataType.simpleString()) for each in found.schema] == [
        ("window_start", "timestamp"),
        ("window_end", "timestamp"),
        ("rank", "int"),
        ("lot", "string"),
        ("score", "double"),
        ("time", "timestamp"),
        ("n", "bigint"),
        ("rank_", "double"),
        ("title", "string"),
        ("price", "double"),
        ("price_age", "bigint"),
        ("price_confidence", "double"),
        ("price_assumed", "string"),
        ("exact", "boolean"),
        ("precision", "double"),
        ("ndcg", "double"),
    ]
    (answer, *_), (first, second, *_) = run(query(), batches(), source=source()), found.collect()
    assert answer.freshness is not None
    for row, own in zip((first, second), answer.rows, strict=True):
        told = (row["rank"], row.lot, row.score, (row.n, row.rank_, row.title))
        assert told == (own.rank, own.key, own.score, own.values)
        fresh = (row.price, row.price_age, row.price_confidence, row.price_assumed)
        assert fresh == (own.remote, own.age, own.confidence, own.assumed)
        assert (row.exact, row.precision) == (answer.exact, answer.freshness.precision)
    assert first.window_end.timestamp() == 0.01
    assert [row.title for row in (first, second)] == ["öl", None]


@pytest.mark.spark
@pytest.mark.parametrize("shards", [1, 3])
def test_both_are_the_items_and_the_windows_and_become_answers(
    spark: SparkSession, shards: int
) -> None:
    """The fourth and fifth windows hold nothing, and only the windows say so."""
    right = [*run(query(), batches(), source=source())]
    both = topk(table(spark), query(), source(), give="both", shards=shards)
    got = both.toArrow()
    found = answers_from(got, query())
    assert [(each.window, each.rows, each.looked_up) for each in found] == [
        (each.window, each.rows, each.looked_up) for each in right
    ]
    assert [each.freshness for each in found] == [each.freshness for each in right]
    assert [not each.rows for each in found] == [False, False, False, True, False, True, False]
    told = got.to_pylist()
    assert [row["kind"] for row in told[:4]] == ["window", "item", "item", "window"]
    assert all((row["figures"] is None) == (row["kind"] == "item") for row in told)
    again = spark.createDataFrame(got)
    asked = {"give": "items"}, {"give": "windows"}
    for part, how in zip((items(again), windows(again)), asked, strict=True):
        wanted = topk(table(spark), query(), source(), shards=shards, **how)  # type: ignore[arg-type]
        assert part.columns == wanted.columns
        assert part.toArrow().to_pylist() == wanted.toArrow().to_pylist()
    whole = windows(both).collect()
    assert len(whole) == len(right)
    assert [row.events for row in whole] == [each.counts.events for each in right]
    assert sum(len(row.looked_up) for row in whole) == sum(row.fetched for row in whole) > 0


@pytest.mark.spark
def test_several_remote_values_have_columns_each(spark: SparkSession) -> None:
    goods = {"vase": {"price": 2.0, "maker": "Käse"}, "lamp": {"price": 3.0, "maker": "B"}}
    towns = {"Oslo": 0.5, "Rome": 1.0}
    asked = query(
        take={"n": "count", "town": "last(town)"},
        score="n * price * trust",
        refresh=[
            {"remote": ["price", "maker"], "from": "shop"},
            {"remote": "trust", "from": "towns", "key": "town"},
        ],
        budget={"cost": 4},
    )
    sources = {"shop": remote.memory(goods), "towns": remote.memory(towns)}
    right = [*run(asked, batches(), sources=sources)]
    got = topk(table(spark), asked, sources=sources, give="both", shards=2).toArrow()
    assert [each.rows for each in answers_from(got, asked)] == [each.rows for each in right]
    assert [each.spent for each in answers_from(got, asked)] == [each.spent for each in right]
    named = [name for name in got.column_names if name.startswith(("price", "maker", "trust"))]
    assert named == [
        f"{name}{end}"
        for name in ("price", "maker", "trust")
        for end in ("", "_age", "_confidence", "_assumed")
    ]
    assert "Käse" in got.column("maker").to_pylist()


@pytest.mark.spark
def test_keys_of_several_columns_of_any_type_and_groups(spark: SparkSession) -> None:
    asked = query(
        key=("lot", "worth"), group_by=("town", "day"), refresh=None, score="n", take={"n": "count"}
    )
    right = [*run(asked, batches())]
    got = topk(table(spark), asked, give="both", shards=2).toArrow()
    found = answers_from(got, asked)
    assert [(each.window, each.group, each.rows) for each in found] == [
        (each.window, each.group, each.rows) for each in right
    ]
    assert got.column_names[:8] == [
        "kind", "window_start", "window_end", "town", "day", "rank", "lot", "worth"
    ]  # fmt: skip
    assert got.schema.field("day").type == pa.date32()
    whole = windows(spark.createDataFrame(got)).limit(1)
    assert whole.columns[:5] == ["window_start", "window_end", "town", "day", "exact"]


def stream(spark: SparkSession, folder: Path, files: Sequence[slice]) -> DataFrame:
    """Some of the events as files, each of which is a micro-batch."""
    folder.mkdir(exist_ok=True)
    names = [each.split()[0] for each in SCHEMA.split(", ")]
    for number, part in enumerate(files):
        path = folder / f"{number}.parquet"
        if not path.exists():
            columns = dict(zip(names, map(list, zip(*rows()[part], strict=True)), strict=True))
            columns["at"] = pa.array(columns["at"], pa.int64())
            columns["bids"] = pa.array(columns["bids"], pa.int32())
            columns["title"] = pa.array(columns["title"], pa.string())
            columns["worth"] = pa.array(columns["worth"], pa.decimal128(6, 2))
            pq.write_table(pa.table(columns), path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def merge(state: dict[Any, Any], row: Any, group: Any) -> None:
    """What a table does that takes in what changed."""
    place = (group, row.lot)
    if row.change == "left":
        assert state.pop(place)[:2] == (row.previous_rank, row.previous_score)
        assert (row["rank"], row.score, row.n) == (None, None, None)
    else:
        before = state.get(place, (None, None))[:2]
        assert before == (row.previous_rank, row.previous_score)
        assert (before[0] is None) == (row.change == "entered")
        state[place] = (row["rank"], row.score, row.n, row.title)


@pytest.mark.spark
@pytest.mark.parametrize(("shards", "group_by"), [(2, None), (2, "town")])
def test_a_table_that_takes_in_what_changed_has_the_answers_across_a_restart(
    spark: SparkSession, tmp_path: Path, shards: int, group_by: str | None
) -> None:
    asked = query(group_by=group_by, refresh=None, score="n", k=1)
    for files in (
        [slice(0, 5), slice(5, 7)],
        [slice(0, 5), slice(5, 7), slice(7, 9), slice(9, 10)],
    ):
        running = start(
            topk(stream(spark, tmp_path / "in", files), asked, give="deltas", shards=shards),
            path=tmp_path / "out",
            checkpoint=tmp_path / "state",
            trigger={"availableNow": True},
        )
        running.awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("window_end", "rank").collect()
    assert {"entered", "left"} <= {row.change for row in found}
    right: dict[int, dict[Any, Answer]] = {}
    for answer in run(asked, batches()):
        right.setdefault(answer.window.end, {})[answer.group] = answer
    state: dict[Any, Any] = {}
    for end in sorted(right)[:-1]:
        now = [row for row in found if round(row.window_end.timestamp() * 1_000) == end]
        for row in sorted(now, key=lambda row: row.change != "left"):
            merge(state, row, None if group_by is None else row.town)
        assert {place: cells[1] for place, cells in state.items()} == {
            (group, row.key): row.score
            for group, answer in right[end].items()
            for row in answer.rows
        }


@pytest.mark.spark
def test_what_came_too_late_is_an_item_of_its_own_kind(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    asked = query(refresh=None, score="n")
    parts = [slice(4, 7), slice(0, 4), slice(7, 10)]
    for give in ("items", "both"):
        rows = topk(stream(spark, folder, parts), asked, give=give, late_rows=True)
        running = start(
            rows,
            path=tmp_path / give,
            checkpoint=tmp_path / f"{give}-state",
            trigger={"availableNow": True},
        )
        running.awaitTermination()
        found = spark.read.parquet(str(tmp_path / give))
        late = found.filter("kind = 'late'").orderBy("lot").collect()
        told = [(row.lot, row["rank"], row.window_end, row.n, row.title) for row in late]
        assert told == [
            ("clock", None, None, 1, ""),
            ("lamp", None, None, 1, None),
            ("vase", None, None, 2, "öl"),
        ]
        ranked = found.filter("kind = 'item'").collect()
        assert all(row["rank"] is not None for row in ranked)
    assert items(found).count() == len(ranked)


@pytest.mark.spark
def test_what_does_not_fit_is_refused(spark: SparkSession) -> None:
    events = table(spark)
    for given, field in (
        ({"give": "rows"}, "give"),
        ({"give": "windows", "late_rows": True}, "late_rows"),
        ({"give": "deltas", "late_rows": True}, "late_rows"),
    ):
        with pytest.raises(QueryError) as caught:
            topk(events, query(), source(), **given)
        assert caught.value.field == field
    with pytest.raises(QueryError, match="can't stand in the answers") as caught:
        topk(events.withColumnRenamed("lot", "score"), query(key="score"), source())
    assert caught.value.field == "key"
    for part in (items, windows):
        with pytest.raises(QueryError, match="not of windows and items"):
            part(topk(events, query(), source()))


@pytest.mark.spark
def test_a_figure_gives_way_to_a_group_of_its_name(spark: SparkSession) -> None:
    events = table(spark).withColumnRenamed("town", "events")
    asked = query(group_by="events", refresh=None, score="n", take={"n": "count"})
    whole = topk(events, asked, give="windows")
    assert {"events", "events_"} <= set(whole.columns)
    assert windows(topk(events, asked, give="both")).columns == whole.columns
    assert {(row.events, row.events_ > 0) for row in whole.collect()} <= {
        (town, some) for town in ("Oslo", "Rome") for some in (True, False)
    }


@pytest.mark.spark
def test_a_moment_as_a_key_is_the_same_in_a_look_up(spark: SparkSession) -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    events = spark.createDataFrame([(when, 3)], "made timestamp, at bigint")
    asked = query(key="made", take={"n": "count"})
    got = topk(events, asked, remote.memory({when: 5.0}), give="both").toArrow()
    (answer,) = answers_from(got, asked)
    assert (answer.keys, answer.rows[0].remote) == ([when], 5.0)
    assert [each.key for each in answer.looked_up] == [when]
