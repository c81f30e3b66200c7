"""A real stream on Spark, stopped and started again, under a page that stays open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.live_browser import browser, tab
from tests.support.live_page_process import process
from topwater import TopKQuery, tumbling
from topwater.live.folder import Folder
from topwater.spark import start, topk

pytestmark = pytest.mark.spark

QUERY = TopKQuery(key="lot", time="at", score="amount", k=2, window=tumbling("1 min"))
SCHEMA = "lot string, at timestamp, amount double"


def write_minute(folder: Path, minute: int) -> None:
    """A file of bids: in each minute another lot is the best, named by it."""
    folder.mkdir(exist_ok=True)
    bids = [("vase", 5, 20.0), (f"lot {minute}", 30, 50.0 + minute)]
    lines = [
        json.dumps({"lot": lot, "at": f"2026-01-01T00:{minute:02}:{second:02}Z", "amount": amount})
        for lot, second, amount in bids
    ]
    (folder / f"{minute:04}.json").write_text("\n".join(lines), encoding="utf-8")


def run(spark: SparkSession, here: Path, form: str) -> None:
    """All that is there, as a stream that goes on from its checkpoint."""
    answers = topk(spark.readStream.schema(SCHEMA).json(str(here / "bids")), QUERY, give="both")
    running = start(
        answers,
        to=form,
        path=here / "best",
        checkpoint=here / "state",
        trigger={"availableNow": True},
    )
    running.awaitTermination()


def test_the_page_shows_on_when_the_stream_starts_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    with browser() as chromium, process(tmp_path / "best") as url, tab(chromium, url) as seen:
        for minute in range(3):
            write_minute(tmp_path / "bids", minute)
        run(spark, tmp_path, "parquet")
        seen.until_first("lot 1")
        assert seen.text("#place") == "window 2 of 2 kept"
        for minute in range(3, 6):
            write_minute(tmp_path / "bids", minute)
        run(spark, tmp_path, "parquet")
        seen.until_first("lot 4")
        assert seen.text("#place") == "window 5 of 5 kept"
        assert seen.labels() == ["lot 4", "vase"]
        assert seen.errors == []


def test_json_as_spark_writes_it(spark: SparkSession, tmp_path: Path) -> None:
    for minute in range(3):
        write_minute(tmp_path / "bids", minute)
    run(spark, tmp_path, "json")
    first, second = Folder(tmp_path / "best").news()
    assert [row["label"] for row in first["rows"]] == ["lot 0", "vase"]
    assert second["window"]["end"] - first["window"]["end"] == 60_000
    assert first["counts"]["events"] == 6
