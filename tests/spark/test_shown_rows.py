"""What a query shows beside its sink: the newest windows, whole, and the figures of all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from topwater import TopKQuery, tumbling
from topwater.spark import shown_rows, start, topk
from topwater.spark.shown_rows import AnswerFeed, Told, observed, told_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

QUERY = TopKQuery(
    key="user", time="at", window=tumbling(10), take={"n": "count"}, score="n", k=2, group_by="town"
)
SCHEMA = "user string, town string, at bigint"


def answers(spark: SparkSession, folder: Path, *, late: bool = False) -> DataFrame:
    """Windows that end at 10, 20, … 50, in two towns, in two micro-batches."""
    (folder / "in").mkdir()
    for number, times in enumerate([range(1, 25), range(21, 62)]):
        lines = [
            f'{{"user": "{user}", "town": "{town}", "at": {at}}}'
            for at in times
            for user, town in (("ann", "n"), ("bob", "n"), ("cid", "s"))
        ]
        path = folder / "in" / f"{number}.json"
        path.write_text("\n".join(lines))
        os.utime(path, (number, number))  # the order in which they are read
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    return topk(events, QUERY, give="both", late_rows=late)


def told(spark: SparkSession, rows: DataFrame, folder: Path) -> list[Told]:
    with AnswerFeed(spark) as feed:
        query = start(
            rows,
            path=folder / "out",
            checkpoint=folder / "state",
            trigger={"availableNow": True},
        )
        feed.run = str(query.runId)
        query.awaitTermination()
        return [*feed.rest()]


def windows(rows: list[dict[str, Any]]) -> set[tuple[int, str]]:
    return {(round(row["window_end"].timestamp() * 1_000), row["town"]) for row in rows}


@pytest.mark.spark
def test_what_is_shown_is_what_was_written(spark: SparkSession, tmp_path: Path) -> None:
    found = told(spark, observed(answers(spark, tmp_path, late=True), ["town"]), tmp_path)
    written = spark.read.parquet(f"{tmp_path}/out").where("kind <> 'late'")
    rows = [each.asDict(recursive=True) for each in written.collect()]
    seen = [row for each in found for row in each.rows]
    order = ("window_end", "town", "kind")
    assert sorted(map(str, seen)) == sorted(map(str, rows))
    assert len(seen) > 6
    assert not any(each.cut for each in found)
    figures = [each.progress for each in found if each.progress is not None]
    assert sum(each.windows for each in figures) == len(windows(rows))
    assert sum(each.rows for each in figures) == 195
    assert all(row[name] is not None for row in seen for name in order)


@pytest.mark.spark
def test_of_many_windows_the_newest_are_shown_as_a_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_rows, "MOST_ROWS", 7)
    rows = observed(answers(spark, tmp_path), ["town"])
    last = told(spark, rows, tmp_path)[-1]
    assert last.cut
    assert last.progress is not None
    assert last.progress.windows > len(windows(last.rows))
    newest = max(end for end, _ in windows(last.rows))
    assert {end for end, _ in windows(last.rows)} == {newest}
    found = [(row["town"], row["kind"], row["rank"]) for row in last.rows]
    assert found == [
        ("s", "window", None),
        ("s", "item", 1),
        ("n", "window", None),
        ("n", "item", 1),
        ("n", "item", 2),
    ]


@pytest.mark.spark
def test_queries_that_are_not_ours_tell_nothing(spark: SparkSession, tmp_path: Path) -> None:
    query = (
        spark.readStream.format("rate")
        .load()
        .observe("other", F.count(F.lit(1)).alias("n"))
        .writeStream.format("noop")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert [told_of(each) for each in query.recentProgress] == [None] * len(query.recentProgress)
