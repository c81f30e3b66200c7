"""The same scenario in process and on Spark gives the same answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.scenarios import (
    QUERIES,
    Bench,
    Scenario,
    answered_in_shards,
    answered_locally,
    read_stream,
    run_to_the_end,
    scenario,
    written,
)
from topwater.spark import answers_from, topk
from topwater.spark.packed_rows import ANSWER, COUNTS, TOLD, packed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

GROUPED = [name for name in QUERIES if name.startswith("groups")]
ALONE = [name for name in QUERIES if name not in GROUPED]


def essence(rows: list[dict[str, Any]], *dropped: str) -> list[dict[str, Any]]:
    """Answers without what shards may differ in, by window and group."""
    rows = [row for row in rows if row["kind"] == ANSWER]
    kept = [
        {name: row[name] for name in row if name != TOLD}
        | {name: row[TOLD][name] for name in row[TOLD] if name not in dropped}
        for row in rows
    ]
    return sorted(kept, key=lambda row: (row["window_end"], row["group"] or ""))


def totals(rows: list[dict[str, Any]]) -> dict[str, int]:
    told = [row[TOLD] for row in rows if row["kind"] == ANSWER]
    return {name: sum(each[name] for each in told) for name in COUNTS}


def benched(each: Scenario, shards: int, seed: int) -> list[dict[str, Any]]:
    """The rows inside, with a restart somewhere in the middle."""
    bench = Bench(each, shards, np.random.default_rng(seed))
    cut = 1 + seed % (len(each.files) - 1)
    bench.run(each.files[:cut])
    bench.restart()
    bench.run(each.files[cut:])
    return bench.rows


def expected(each: Scenario, shards: int) -> list[dict[str, Any]]:
    remote = each.query.refresh is not None and each.query.group_by is None
    found = answered_in_shards(each, shards) if remote else answered_locally(each)
    return [packed(answer, each.query) for answer in found]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("shards", [1, 4])
def test_any_cut_and_any_restart_give_the_same_answers(name: str, shards: int, seed: int) -> None:
    """Without Java: the stages one after the other."""
    each = scenario(name, seed, files=12)
    got, right = benched(each, shards, seed), expected(each, shards)
    assert len(right) >= 8
    dropped = ["candidates"] if shards > 1 else []
    assert essence(got, *dropped) == essence(right, *dropped)


@pytest.mark.parametrize("name", ALONE)
def test_a_shard_may_have_no_key_in_a_window_or_none_at_all(name: str) -> None:
    each = scenario(name, 3, files=12, rows=60, distinct=2)
    got, right = benched(each, 8, 3), expected(each, 8)
    assert len(right) >= 8
    assert essence(got, "candidates") == essence(right, "candidates")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", GROUPED)
@pytest.mark.parametrize("shards", [1, 4])
def test_groups_have_the_same_answers_wherever_they_are(name: str, shards: int, seed: int) -> None:
    each = scenario(name, seed, files=12)
    got, right = benched(each, shards, seed), expected(each, shards)
    assert len(right) >= 30
    # What is lost with a group is told by the next answer, and that is another one in each shard.
    dropped = COUNTS if shards > 1 else []
    assert essence(got, *dropped) == essence(right, *dropped)
    assert totals(got) == totals(right)


@pytest.fixture
def two_partitions(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose shards are in two tasks."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    assert before is not None
    spark.conf.set(name, "2")
    yield spark
    spark.conf.set(name, before)


def on_spark(
    spark: SparkSession, each: Scenario, shards: int, folder: Path
) -> list[dict[str, Any]]:
    """The answers, after a restart from the checkpoint in the middle."""
    half = len(each.files) // 2
    for first, files in ((0, each.files[:half]), (half, each.files[half:])):
        events = read_stream(spark, written(folder / "in", files, first), each.keys)
        rows = topk(events, each.query, each.source, shards=shards, give="both")
        found = run_to_the_end(rows, str(folder / "checkpoint"), str(folder / "sink"))
    return [packed(answer, each.query) for answer in answers_from(found, each.query)]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "shards", "keys"),
    [
        ("each-smallest", 1, "string"),
        ("last-and-sum", 4, "string"),
        ("groups-sum", 4, "bigint"),
        ("lru", 1, "bigint"),
        ("worth", 4, "bigint"),
        ("listed", 1, "bigint"),
        ("joins", 4, "bigint"),
    ],
)
def test_spark_gives_the_same_answers(
    two_partitions: SparkSession, tmp_path: Path, name: str, shards: int, keys: str
) -> None:
    """Tenths have no exact form: a sum made in another order would show."""
    each = scenario(name, 5, keys=keys, unit=0.1)
    got, right = on_spark(two_partitions, each, shards, tmp_path), expected(each, shards)
    grouped = each.query.group_by is not None
    dropped = [*(COUNTS if grouped else []), *(["candidates"] if shards > 1 else [])]
    assert essence(got, *dropped) == essence(right, *dropped)
    assert totals(got) == totals(right)
