"""The generated stream as a Spark source: the generator's rows, also across a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from topwater_lab.bids.generator import Bids
from topwater_lab.bids.spark_source import FORMAT, GeneratedReader, GeneratedSource, Rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

BIDS = Bids(rows_per_second=50, seconds=40, seed=3, disorder_ms=250)
OPTIONS = {"rows_per_second": 50, "seconds": 40, "seed": 3, "disorder_ms": 250}
ORDER = [("time", "ascending"), ("key", "ascending"), ("value", "ascending")]


def run(spark: SparkSession, checkpoint: str, sink: str, **more: int) -> list[int]:
    """Run until the stream ends; the rows that each micro-batch read."""
    events = spark.readStream.format(FORMAT).options(**(OPTIONS | more)).load()
    query = (
        events.writeStream.format("parquet")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(sink)
    )
    query.awaitTermination()
    return [progress.numInputRows for progress in query.recentProgress]


@pytest.mark.spark
def test_spark_reads_the_generators_rows_once_across_a_restart(
    spark: SparkSession, checkpoint: str, tmp_path: Path
) -> None:
    sink = str(tmp_path / "sink")
    # The stream as it was when only half of it had come.
    first = run(spark, checkpoint, sink, seconds=20, seconds_per_batch=10, tasks=2)
    second = run(spark, checkpoint, sink, seconds_per_batch=15)
    assert (first, second) == ([500, 500], [750, 250])
    got = spark.read.parquet(sink).toArrow().sort_by(ORDER)
    want = pa.Table.from_batches([BIDS.batch(0, len(BIDS))]).sort_by(ORDER)
    assert got.equals(want.cast(got.schema))


@pytest.mark.spark
def test_a_misspelt_option_is_named(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="rows_per_secnd: unknown"):
        spark.readStream.format(FORMAT).option("rows_per_secnd", 5).load()


def test_tasks_share_a_micro_batch_without_gaps() -> None:
    reader = GeneratedReader(BIDS, rows_per_batch=100, tasks=3)
    assert reader.partitions({"row": 0}, {"row": 100}) == [Rows(0, 33), Rows(33, 66), Rows(66, 100)]
    assert reader.partitions({"row": 7}, {"row": 7}) == []
    assert reader.partitions({"row": 0}, {"row": 1}) == [Rows(0, 1)]


def test_the_last_micro_batch_ends_with_the_stream() -> None:
    reader = GeneratedReader(BIDS, rows_per_batch=1_500, tasks=1)
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset({"row": 0}, limit) == {"row": 1_500}
    assert reader.latestOffset({"row": 1_500}, limit) == {"row": 2_000}
    assert reader.latestOffset({"row": 2_000}, limit) == {"row": 2_000}


def test_options_default_to_the_generators() -> None:
    assert GeneratedSource({}).bids == Bids()
