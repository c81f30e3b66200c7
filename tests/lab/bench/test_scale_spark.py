"""A query on Spark that remembers keys, measured with few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater_lab.bench.scale_spark import Batch, Found, ScaleRuns
from topwater_lab.bench.scale_stream import SparkPoint, StreamSize

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_query_is_fed_restarted_and_told_of(spark: SparkSession, tmp_path: Path) -> None:
    runs = ScaleRuns(spark, tmp_path, StreamSize(200, 6), seed=7)
    runs.measure("spark", SparkPoint(40, 20))
    (row,) = runs.rows()
    assert (row["case"], row["keys"], row["drawn"], row["shards"]) == ("spark", 40, 20, 1)
    for name in ("state_bytes", "written_bytes", "came_bytes", "batch_ms_p50", "rss_bytes"):
        assert row[name] > 0, name
    assert row["cache_hits"] + row["caught_up"] == 1
    assert row["ratio_to_native"] is None
    (found,) = runs.found.values()
    assert [batch.windows for batch in found.every] == [0, 1, 0, 0, 0, 1, 0]
    assert [*tmp_path.iterdir()] == []


def test_a_row_tells_the_middle_of_what_was_steady() -> None:
    found = Found()
    batches = [Batch(ms, written=10 * ms, came=20, kept=1) for ms in (900, 90, 90, 90, 90, 4, 5, 9)]
    batches[5] = batches[5]._replace(windows=1, closing_ms=3, kept=0, caught_up=1)
    batches[-1] = batches[-1]._replace(state=70)
    found.add(batches, restart=2.0, memory=5)
    found.add(batches, restart=1.0, memory=6)
    row = found.row("spark", SparkPoint(3_000, 10, shards=2))
    assert (row["batch_ms_p50"], row["closing_batch_ms_p50"], row["close_ms"]) == (5, 4, 3)
    assert row["close_ns_per_key"] == 1_000
    assert (row["written_bytes"], row["came_bytes"], row["written_to_came"]) == (50, 20, 2.5)
    assert row["written_beyond"] == 8_960, "of the history too"
    assert (row["state_bytes"], row["restart_s"], row["rss_bytes"]) == (70, 1.0, 6)
    assert (row["cache_hits"], row["caught_up"]) == (2 / 3, 1 / 3)


def test_what_spark_does_itself_is_compared_at_the_same_point(tmp_path: Path) -> None:
    runs = ScaleRuns(None, tmp_path, StreamSize(1, 1), seed=7)  # type: ignore[arg-type]
    for case, ms in (("native", 80.0), ("spark", 40.0)):
        runs.found[case, SparkPoint(10, 10)] = Found([Batch(ms)], [Batch(ms)], [0.0])
    runs.found["spark", SparkPoint(20, 10)] = Found([Batch(9.0)], [Batch(9.0)], [0.0])
    assert [row["ratio_to_native"] for row in runs.rows()] == [None, 2.0, None]
    assert [row["written_to_came"] for row in runs.rows()] == [None] * 3
