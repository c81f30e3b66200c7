"""A query on Spark: equal to the local host and to sorting, and exact at the windows' edges."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812

from tests.support.bid_stream import wrong_windows
from topwater import QueryError, TopKQuery, counting, run, sliding, tumbling
from topwater.scoring import WeightedSum
from topwater.spark import answers_from, topk
from topwater_lab.bids.generator import SCHEMA, Bids
from topwater_lab.bids.spark_source import FORMAT

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from topwater import Answer

START = 1_000_000
SCHEMA_TEXT = "time timestamp, key bigint, value double"
Event = tuple[int | None, int | None, float]


def write_files(folder: Path, *files: list[Event]) -> str:
    """One file per micro-batch, in this order. Times are relative to START."""
    folder.mkdir()
    for number, events in enumerate(files):
        times = [None if time is None else (START + time) * 1_000 for time, _, _ in events]
        table = pa.table(
            {
                "time": pa.array(times, pa.timestamp("us", tz="UTC")),
                "key": pa.array([key for _, key, _ in events], pa.int64()),
                "value": pa.array([value for _, _, value in events], pa.float64()),
            }
        )
        path = folder / f"{number}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return str(folder)


def read_files(spark: SparkSession, folder: str) -> DataFrame:
    return spark.readStream.schema(SCHEMA_TEXT).option("maxFilesPerTrigger", 1).parquet(folder)


def collect(rows: DataFrame, query: TopKQuery, checkpoint: str, sink: str) -> list[Answer]:
    """Run until the input ends; all answers in the sink."""
    running = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(sink)
    )
    running.awaitTermination()
    return answers_from(rows.sparkSession.read.parquet(sink).toArrow(), query)


def essence(answers: list[Answer]) -> list[tuple[Any, ...]]:
    return [(answer.window, answer.rows, answer.exact) for answer in answers]


@pytest.mark.spark
def test_spark_equals_local_and_sorting_across_a_restart(
    spark: SparkSession, checkpoint: str, tmp_path: Path
) -> None:
    bids = Bids(rows_per_second=100, seconds=120, seed=5, disorder_ms=1_500, lots=300)
    query = TopKQuery(
        key="key",
        time="time",
        score="value",
        k=4,
        window=sliding("30s", "10s", start=bids.origin_ms),
        lateness=bids.disorder_ms,
    )
    # The stream as it was after 70 s, then all of it: the second run goes on from the first.
    for seconds, seconds_per_batch in ((70, 35), (120, 50)):
        events = (
            spark.readStream.format(FORMAT)
            .options(rows_per_second=100, seconds=seconds, seed=5, disorder_ms=1_500, lots=300)
            .options(seconds_per_batch=seconds_per_batch, tasks=2)
            .load()
        )
        got = collect(topk(events, query, give="both"), query, checkpoint, str(tmp_path / "sink"))
    assert [answer.window.index for answer in got] == list(range(9))
    assert wrong_windows(bids, query, got) == []
    local = list(run(query, bids.batches(512)))
    assert essence(got) == essence(local[:9])
    assert sum(answer.counts.events for answer in got) == len(bids)
    assert all(answer.counts.late == 0 for answer in got)


@pytest.mark.spark
def test_the_border_the_late_the_bad_and_the_empty(
    spark: SparkSession, checkpoint: str, tmp_path: Path
) -> None:
    """Seconds of event time; one line per micro-batch, and the watermark after it.

    ::

        window    (0        10]        20]        30]
        file 0       2●     1●                          10
        file 1              3●9●                        10.001  W0 closes after its events
        file 2              5○                          10.001  5 is late
        file 3              7○                     8●   35      7 is late; bad events
    """
    bad: list[Event] = [(12_000, None, 1.0), (None, 1, 1.0), (11_000, 1, float("nan"))]
    folder = write_files(
        tmp_path / "in",
        [(10_000, 1, 1.0), (4_000, 2, 2.0)],
        [(10_000, 3, 3.0), (10_001, 9, 9.0)],
        [(10_000, 5, 2.5)],
        [(10_000, 7, 99.0), (35_000, 8, 8.0), *bad],
    )
    query = TopKQuery(
        key="key", time="time", score="value", k=2, window=tumbling("10s", start=START)
    )
    rows = topk(read_files(spark, folder), query, give="both")
    got = collect(rows, query, checkpoint, str(tmp_path / "sink"))
    assert [answer.window.end - START for answer in got] == [10_000, 20_000, 30_000]
    assert [answer.keys for answer in got] == [[3, 2], [9], []]
    assert [answer.rows[0].time - START for answer in got[:2]] == [10_000, 10_001]
    late = got[1].counts
    assert (late.late, late.bad_key, late.bad_time, late.bad_score) == (2, 1, 1, 1)
    assert sum(answer.counts.events for answer in got) == 10
    whole = spark.read.parquet(str(tmp_path / "sink")).filter("rank is null").collect()
    assert [(row.kind, row.key, row.score, row.time) for row in whole] == [
        ("window", None, None, None)
    ] * 3


@pytest.mark.spark
def test_the_first_event_may_be_older_than_the_watermark(
    spark: SparkSession, checkpoint: str, tmp_path: Path
) -> None:
    """A row without a key moves the time all the same."""
    folder = write_files(tmp_path / "in", [(25_000, None, 1.0)], [(5_000, 1, 1.0)])
    query = TopKQuery(
        key="key", time="time", score="value", k=1, window=tumbling("10s", start=START)
    )
    rows = topk(read_files(spark, folder), query, give="both")
    got = collect(rows, query, checkpoint, str(tmp_path / "sink"))
    assert [answer.keys for answer in got] == [[1], []]


@pytest.mark.spark
def test_counts_per_key_with_times_as_whole_numbers(
    spark: SparkSession, checkpoint: str, tmp_path: Path
) -> None:
    folder = write_files(
        tmp_path / "in",
        [(1_000, 1, 1.0), (2_000, 2, 1.0), (9_000, 2, 1.0)],
        [(3_000, 1, 1.0), (4_000, 1, 1.0), (10_002, 3, 1.0)],
    )
    query = TopKQuery(
        key="key",
        time="at",
        take={"n": "count"},
        score="n",
        k=1,
        window=tumbling("10s", start=START),
    )
    events = read_files(spark, folder).withColumn("at", F.unix_millis("time")).drop("time")
    got = collect(topk(events, query, give="both"), query, checkpoint, str(tmp_path / "sink"))
    assert [(answer.keys, answer.scores) for answer in got] == [([1], [3.0])]


def stream(spark: SparkSession) -> DataFrame:
    return spark.readStream.format(FORMAT).load()


GOOD: dict[str, Any] = {
    "key": "key",
    "time": "time",
    "score": "value",
    "k": 3,
    "window": sliding("60s", "10s"),
}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("change", "problem", "fix"),
    [
        ({"key": "who"}, "the key column 'who' is not there", "key"),
        ({"key": "value"}, "the key column 'value' is of type double", "cast"),
        ({"time": "value"}, "the time column 'value' is of type double", "timestamps"),
        ({"score": "price"}, "the score column 'price' is not there", "score"),
        ({"score": "key"}, "the score column 'key' is of type", "cast"),
        ({"window": counting(5), "time": None}, "count windows", "time windows"),
        (
            {"score": WeightedSum({"value": 1.0}, ranges={"value": "running"})},
            "running ranges",
            "declare",
        ),
    ],
)
def test_what_does_not_fit_is_named_before_the_stream_starts(
    spark: SparkSession, change: dict[str, Any], problem: str, fix: str
) -> None:
    with pytest.raises(QueryError) as caught:
        topk(stream(spark), TopKQuery(**(GOOD | change)))
    assert problem in caught.value.problem
    assert fix in caught.value.fix


@pytest.mark.spark
def test_a_wrong_name_is_told_with_all_columns_and_the_nearest(spark: SparkSession) -> None:
    table = spark.createDataFrame(
        [("a", 1, 2.0, "x")], "user string, at bigint, n double, city string"
    )
    query = TopKQuery(**(GOOD | {"key": "users", "time": "at", "score": "n"}))
    with pytest.raises(QueryError) as caught:
        topk(table, query)
    assert caught.value.problem == (
        "the key column 'users' is not there; there are: user, at, n, city"
    )
    assert caught.value.fix.startswith("did you mean user?")


@pytest.mark.spark
def test_times_may_be_text(spark: SparkSession) -> None:
    rows = [("a", "2026-01-01T09:00:01Z", 1.0), ("b", "2026-01-01 09:00:02+00:00", 2.0)]
    table = spark.createDataFrame(
        [*rows, ("c", "soon", 3.0)], "key string, time string, value double"
    )
    query = TopKQuery(**(GOOD | {"window": tumbling("1 min")}))
    (answer,) = answers_from(topk(table, query, give="both").toArrow(), query)
    (local,) = run(query, [table.toArrow()])
    assert answer.keys == local.keys == ["b", "a"]
    assert answer.window == local.window
    assert answer.counts.bad_time == local.counts.bad_time == 1


@pytest.mark.spark
@pytest.mark.parametrize("shards", [1, 3])
def test_a_table_is_answered_at_once(spark: SparkSession, shards: int) -> None:
    bids = Bids(rows_per_second=50, seconds=60, seed=3, disorder_ms=500, lots=50)
    query = TopKQuery(**(GOOD | {"window": sliding("20s", "5s", start=bids.origin_ms)}))
    table = spark.createDataFrame(bids.batch(0, len(bids)).to_pandas()).repartition(3)
    got = answers_from(topk(table, query, shards=shards, give="both").toArrow(), query)
    assert essence(got) == essence(list(run(query, [bids.batch(0, len(bids))])))
    assert sum(answer.counts.events for answer in got) == len(bids)


def test_the_generated_schema_is_the_sources() -> None:
    assert SCHEMA.names == ["time", "key", "value"]
