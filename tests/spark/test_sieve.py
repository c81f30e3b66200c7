"""Portions made in Java are the portions that Python makes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from topwater import Formula, TopKQuery, sliding
from topwater.model import Counts
from topwater.monitor.event_time import PaneTimes
from topwater.monitor.reduction import PartialBatch, reduce_batch
from topwater.spark.sieve import MARK, plain, read_partial_batch, sieved
from topwater.spark.stage_one import PORTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

START = 1_000
QUERY = TopKQuery(key="id", time="at", score="x", k=5, window=sliding("1 s", "100 ms", start=START))
ODD_SCORES = [None, float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e300, -5e-324]
ODD_TIMES = [None, START, START - 1, START + 1, -5, 2**53 - 1, 2**53, -(2**53), 2**63 - 1]
BEATS = [True, None, *[False] * 8]


def draw(rng: np.random.Generator, rows: int, *, text: bool) -> pa.Table:
    """Rows with everything that may be wrong with them, in any order, and with many ties."""
    times = rng.integers(START - 50, START + 2_000, rows).tolist()
    scores = np.round(rng.normal(0, 3, rows), int(rng.integers(0, 4))).tolist()
    keys: list[Any] = rng.integers(-5, 50, rows).tolist()
    for odd, column in ((ODD_TIMES, times), (ODD_SCORES, scores), ([None], keys)):
        for at in rng.integers(0, rows, rows // 8):
            column[at] = odd[rng.integers(len(odd))]
    if text:
        names = (b"", "ä\U0001f600".encode(), b"\0", b"\xff")
        keys = [None if key is None else names[key % 4] * min(key, 7) for key in keys]
    made = pa.array(keys, pa.binary()).view(pa.string()) if text else pa.array(keys, pa.int64())
    return pa.table(
        {
            "at": pa.array(times, pa.int64()),
            "x": pa.array(scores, pa.float64()),
            "id": made,
            "beat": pa.array([BEATS[each] for each in rng.integers(0, len(BEATS), rows)]),
        }
    )


def in_java(events: DataFrame, query: TopKQuery) -> list[PartialBatch]:
    found = sieved(events, query, PORTIONS, 1)
    assert found is not None
    rows = sorted(found.collect(), key=lambda row: (row.task, row.part))
    return [read_partial_batch(bytes(row.portion), plain(query)) for row in rows]


def same(ours: PartialBatch, right: PartialBatch) -> None:
    assert ours.table.cast(right.table.schema).equals(right.table)
    for name in ("panes", "events", "newest"):
        found, wanted = getattr(ours.times, name), getattr(right.times, name)
        assert found.tolist() == wanted.tolist(), name
    assert ours.counts == right.counts
    assert (ours.counted, ours.group) == (right.counted, right.group)


def one_file(spark: SparkSession, folder: Path, table: pa.Table) -> DataFrame:
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "events.parquet")
    return spark.read.parquet(str(folder)).coalesce(1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_a_portion_is_the_same(spark: SparkSession, tmp_path: Path, seed: int, text: bool) -> None:
    rng = np.random.default_rng([seed, text])
    table = draw(rng, int(rng.integers(1, 3_000)), text=text)
    query = replace(QUERY, k=int(rng.choice([1, 5, 40, 10_000])))
    if seed % 2:
        query = replace(query, score=Formula("x * 2 + abs(x)", order="smallest"))
    if seed % 3:
        query = replace(query, heartbeat="beat")
    (ours,) = in_java(one_file(spark, tmp_path, table), query)
    same(ours, reduce_batch(query, table))


def test_times_may_be_timestamps_and_keys_small_numbers(
    spark: SparkSession, tmp_path: Path
) -> None:
    rng = np.random.default_rng(9)
    micros = rng.integers(-3_000_000, 9_000_000, 500)
    table = pa.table(
        {
            "at": pa.array(micros, pa.timestamp("us", "UTC")),
            "x": pa.array(rng.integers(0, 9, 500), pa.int32()),
            "id": pa.array(rng.integers(-9, 9, 500), pa.int8()),
        }
    )
    query = replace(QUERY, window=sliding("2 s", "500 ms", start=-2_500))
    (ours,) = in_java(one_file(spark, tmp_path, table), query)
    same(ours, reduce_batch(query, table))


def test_a_row_without_a_key_tells_the_time_from_the_first_millisecond_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    times = pa.array([START, START + 1], pa.int64())
    table = pa.table({"at": times, "x": [1.0, 1.0], "id": pa.nulls(2, pa.int64())})
    (ours,) = in_java(one_file(spark, tmp_path, table), QUERY)
    same(ours, reduce_batch(QUERY, table))
    assert ours.times.newest.tolist() == [START + 1]


def test_all_rows_may_tie(spark: SparkSession, tmp_path: Path) -> None:
    rows = 5_000
    table = pa.table(
        {"at": np.full(rows, START + 7), "x": np.ones(rows), "id": np.arange(rows)[::-1].copy()}
    )
    (ours,) = in_java(one_file(spark, tmp_path, table), QUERY)
    assert ours.table.column("key").to_pylist() == [0, 1, 2, 3, 4]
    assert ours.times.events.tolist() == [rows]


def test_tasks_are_told_apart_and_together_make_the_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    table = draw(rng, 2_000, text=True)
    parts = in_java(one_file(spark, tmp_path, table).repartition(3), QUERY)
    assert len(parts) == 3
    whole = reduce_batch(QUERY, table)
    assert sum((part.counts for part in parts), Counts()) == whole.counts
    moments = PaneTimes.union([part.times for part in parts])
    assert moments.events.tolist() == whole.times.events.tolist()
    names = {"key": "id", "time": "at", "score": "x"}
    kept = pa.concat_tables([part.table for part in parts])
    again = reduce_batch(QUERY, kept.rename_columns([names[name] for name in kept.column_names]))
    assert again.table.equals(whole.table)


def test_too_much_for_one_portion_makes_several(spark: SparkSession) -> None:
    """A key of a megabyte each, all of which tie: 64 MB is the most that is held."""
    table = pa.table(
        {
            "at": np.full(70, START + 7),
            "x": np.ones(70),
            "id": [f"{number:03}" + "x" * 1_000_000 for number in range(70)],
        }
    )
    found = sieved(spark.createDataFrame(table).coalesce(1), QUERY, PORTIONS, 2)
    assert found is not None
    rows = found.select("shard", "part", "portion").collect()
    assert sorted((row.shard, row.part) for row in rows) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    parts = [read_partial_batch(bytes(row.portion), plain(QUERY)) for row in rows if row.shard == 0]
    assert sum(part.counts.events for part in parts) == 70
    assert all(bytes(row.portion).startswith(MARK) for row in rows)


def test_very_many_panes_are_held_in_little_memory(spark: SparkSession, tmp_path: Path) -> None:
    rows = 300_000
    table = pa.table({"at": START + 1 + np.arange(rows), "x": np.ones(rows), "id": np.arange(rows)})
    query = replace(QUERY, window=sliding("1 s", "1 ms", start=START), k=2**40)
    parts = in_java(one_file(spark, tmp_path, table), query)
    assert [len(part.times) for part in parts] == [262_144, rows - 262_144]
    assert sum(part.counts.events for part in parts) == rows


@pytest.mark.parametrize(
    ("query", "schema"),
    [
        (replace(QUERY, take={"n": "count"}, score=Formula("n")), "at bigint, x double, id bigint"),
        (replace(QUERY, group_by="g"), "at bigint, x double, id bigint, g string"),
        (replace(QUERY, score=Formula("log(x)")), "at bigint, x double, id bigint"),
        (QUERY, "at timestamp_ntz, x double, id bigint"),
        (QUERY, "at date, x double, id bigint"),
        (QUERY, "at bigint, x decimal(9, 2), id bigint"),
    ],
)
def test_the_rest_is_left_to_python(spark: SparkSession, query: TopKQuery, schema: str) -> None:
    assert sieved(spark.createDataFrame([], schema), query, PORTIONS, 1) is None


def test_no_rows_make_no_portion(spark: SparkSession) -> None:
    assert in_java(spark.createDataFrame([], "at bigint, x double, id bigint"), QUERY) == []
