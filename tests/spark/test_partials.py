"""Partial aggregates made in Java are those that Python makes, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topwater import Formula, TopKQuery, sliding
from topwater.model import Counts
from topwater.monitor.event_time import PaneTimes
from topwater.monitor.reduction import PartialBatch, reduce_for_shards
from topwater.spark.partials import MARK, aggregated, read_partials
from topwater.spark.stage_one import PORTIONS
from topwater.windows import tumbling

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from topwater.windows import Windows

pytestmark = pytest.mark.spark

START = 1_000
COUNT = TopKQuery(
    key="id", time="at", take={"n": "count"}, score="n", k=5, window=tumbling(100, start=START)
)
ODD_TIMES = [None, START, START - 1, START + 1, -5, 2**53 - 1, 2**53, -(2**53), 2**63 - 1]
ODD_NUMBERS = [None, float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e300, -5e-324]
BEATS = [True, None, *[False] * 8]
NAMES = [b"", "ä\U0001f600".encode(), b"\0", b"\xff", b"ann", b"bob of the twelve bytes or more"]
NUMBERS = {
    "float": pa.float64(),
    "single": pa.float32(),
    "long": pa.int64(),
    "small": pa.int8(),
    "yes": pa.bool_(),
    "money": pa.decimal128(9, 2),
}
FUNCTIONS = ("sum", "mean", "min", "max", "last")


def odd(rng: np.random.Generator, column: list[Any], values: Sequence[Any]) -> list[Any]:
    for at in rng.integers(0, len(column), len(column) // 10):
        column[at] = values[int(rng.integers(len(values)))]
    return column


def keys(rng: np.random.Generator, rows: int, kind: pa.DataType, most: int) -> pa.Array:
    drawn = odd(rng, rng.integers(-5, most, rows).tolist(), [None])
    if not pa.types.is_string(kind):
        return pa.array(drawn, kind)
    texts = [None if each is None else NAMES[each % 6] * min(abs(each), 7) for each in drawn]
    return pa.array(texts, pa.binary()).view(pa.string())


def times(rng: np.random.Generator, rows: int, kind: pa.DataType) -> pa.Array:
    drawn = rng.integers(START - 50, START + 1_500, rows).tolist()
    if pa.types.is_timestamp(kind):
        micros = [None if rng.random() < 0.05 else each * 1_000 + 7 for each in drawn]
        return pa.array([*micros[:-1], -1], kind)
    return pa.array(odd(rng, drawn, ODD_TIMES), kind)


def numbers(rng: np.random.Generator, rows: int, name: str) -> pa.Array:
    drawn = np.round(rng.normal(0, 40, rows), int(rng.integers(0, 9)))
    kind = NUMBERS[name]
    if pa.types.is_floating(kind):
        return pa.array(odd(rng, drawn.tolist(), ODD_NUMBERS), pa.float64()).cast(kind, safe=False)
    if pa.types.is_decimal(kind):
        plain: list[Any] = [Decimal(f"{each:.2f}") for each in drawn]
    elif pa.types.is_boolean(kind):
        plain = (drawn > 0).tolist()
    else:
        large = 2**60 + 1 if kind == pa.int64() else 1
        plain = [int(each) * large // 200 if abs(each) < 120 else 3 for each in drawn]
    return pa.array(odd(rng, plain, [None]), kind)


def events_of(rng: np.random.Generator, rows: int, *, group: pa.DataType | None) -> pa.Table:
    """Rows with everything that may be wrong with them, in any order, and with many ties."""
    integers = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
    kind = rng.choice([*integers, pa.string(), pa.string(), pa.string()])
    moment = pa.timestamp("us", "UTC") if rng.random() < 0.4 else pa.int64()
    table = {"at": times(rng, rows, moment), "id": keys(rng, rows, kind, int(rng.choice([9, 60])))}
    if group is not None:
        table["team"] = keys(rng, rows, group, 4)
    table["beat"] = pa.array(
        [BEATS[each] for each in rng.integers(0, len(BEATS), rows)], pa.bool_()
    )
    return pa.table(table | {name: numbers(rng, rows, name) for name in NUMBERS})


def query_of(rng: np.random.Generator, *, group: bool) -> TopKQuery:
    asked = [
        f"{function}({column})"
        for function in FUNCTIONS
        for column in NUMBERS
        if rng.random() < rng.choice([0.05, 0.3])
    ]
    take = {"n": "count"} | {f"a{at}": each for at, each in enumerate(asked)}
    windows: list[Windows] = [
        tumbling(700, start=START),
        sliding(300, 100, start=START),
        tumbling("40 days", start=START),
    ]
    return replace(
        COUNT,
        take=take,
        score=Formula("n"),
        window=windows[rng.integers(3)],
        heartbeat="beat" if rng.random() < 0.5 else None,
        group_by="team" if group else None,
    )


def one_file(spark: SparkSession, folder: Path, table: pa.Table) -> DataFrame:
    pq.write_table(table, folder / "events.parquet")
    return spark.read.parquet(str(folder)).coalesce(1)


def in_java(events: DataFrame, query: TopKQuery, shards: int = 1) -> list[tuple[int, PartialBatch]]:
    found = aggregated(events, query, PORTIONS, shards)
    assert found is not None
    rows = sorted(found.collect(), key=lambda row: (row.task, row.part))
    assert all(bytes(row.portion).startswith(MARK) for row in rows)
    return [(row.shard, part) for row in rows for part in read_partials(bytes(row.portion), query)]


def told(parts: Iterable[tuple[int, PartialBatch]]) -> dict[tuple[Any, ...], Any]:
    """All that is in parts, by shard and group, whatever the order; bits count."""
    found: dict[tuple[Any, ...], Any] = {}
    for shard, part in parts:
        times = [getattr(part.times, name).tolist() for name in ("panes", "events", "newest")]
        bits = table_bits(part.table) if part.table.num_rows else []
        if bits or part.counts != Counts() or times[0]:
            clock = part.group is None and not part.counted
            assert (shard, part.group, clock) not in found
            found[shard, part.group, clock] = (part.counts, times, bits)
    return found


def bits_of(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_floating(column.type):
        return list(np.asarray(column).view(np.int64))
    return list(column.to_pylist())


def table_bits(table: pa.Table) -> list[tuple[str, str, list[Any]]]:
    ordered = table.sort_by([("pane", "ascending"), ("key", "ascending")])
    names = sorted(ordered.column_names)
    return [(name, str(ordered[name].type), bits_of(ordered[name])) for name in names]


def check(spark: SparkSession, folder: Path, seed: int, kind: pa.DataType | None) -> None:
    rng = np.random.default_rng([seed, kind is not None])
    table = events_of(rng, int(rng.choice([1, 40, 700, 3_000])), group=kind)
    query, shards = query_of(rng, group=kind is not None), int(rng.choice([1, 1, 3]))
    ours = told(in_java(one_file(spark, folder, table), query, shards))
    assert ours == told(reduce_for_shards(query, table, shards))


@pytest.mark.parametrize("seed", range(10))
def test_a_portion_is_the_same(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check(spark, tmp_path, seed, None)


@pytest.mark.parametrize("kind", [pa.string(), pa.int32()], ids=["text", "numbers"])
@pytest.mark.parametrize("seed", range(4))
def test_so_are_those_of_groups(
    spark: SparkSession, tmp_path: Path, seed: int, kind: pa.DataType
) -> None:
    check(spark, tmp_path, seed, kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [None, pa.string(), pa.int64()], ids=["none", "text", "numbers"])
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_portions_are_the_same(
    spark: SparkSession, tmp_path: Path, seed: int, kind: pa.DataType | None
) -> None:
    check(spark, tmp_path, seed, kind)


def test_tasks_are_told_apart_and_together_make_the_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    table = events_of(rng, 2_000, group=None)
    query = replace(COUNT, take={"n": "count", "most": "max(single)"})
    parts = [part for _, part in in_java(one_file(spark, tmp_path, table).repartition(3), query)]
    assert len(parts) == 3
    ((_, whole),) = reduce_for_shards(query, table)
    together(query, parts, whole)


def together(query: TopKQuery, parts: list[PartialBatch], whole: PartialBatch) -> None:
    assert query.aggregation is not None
    assert sum((part.counts for part in parts), Counts()) == whole.counts
    times = PaneTimes.union([part.times for part in parts])
    assert np.array_equal(times.events, whole.times.events)
    assert np.array_equal(times.newest, whole.times.newest)
    merged = query.aggregation.merge(pa.concat_tables([part.table for part in parts]))
    names = sorted(merged.column_names)
    order = [("pane", "ascending"), ("key", "ascending")]
    assert merged.select(names).sort_by(order).equals(whole.table.select(names).sort_by(order))


def test_too_many_keys_for_memory_make_several_portions(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = 1_300_000
    table = pa.table({"at": np.full(rows, START + 7), "id": np.arange(rows) * 1_000_003})
    parts = [part for _, part in in_java(one_file(spark, tmp_path, table), COUNT)]
    assert [part.table.num_rows for part in parts] == [2**20, rows - 2**20]
    ((_, whole),) = reduce_for_shards(COUNT, table)
    together(COUNT, parts, whole)


def test_so_does_too_much_text(spark: SparkSession) -> None:
    """A key of a megabyte each: 64 MB is the most that is held."""
    names = [f"{number:03}" + "x" * 1_000_000 for number in range(70)]
    table = pa.table({"at": np.full(70, START + 7), "id": names})
    parts = in_java(spark.createDataFrame(table).coalesce(1), COUNT, 2)
    assert sum(part.counts.events for _, part in parts) == 70
    assert len(parts) == 4
    found = [key for _, part in parts for key in part.table["key"].to_pylist()]
    assert sorted(found) == names


def test_so_do_very_many_panes(spark: SparkSession, tmp_path: Path) -> None:
    rows = 300_000
    table = pa.table({"at": START + 1 + np.arange(rows), "id": np.arange(rows)})
    query = replace(COUNT, window=sliding("1 s", "1 ms", start=START))
    parts = [part for _, part in in_java(one_file(spark, tmp_path, table), query)]
    assert [len(part.times) for part in parts] == [2**18, rows - 2**18]
    ((_, whole),) = reduce_for_shards(query, table)
    together(query, parts, whole)


def test_a_task_that_is_tried_again_gives_the_same(spark: SparkSession, tmp_path: Path) -> None:
    events = one_file(spark, tmp_path, events_of(np.random.default_rng(3), 900, group=None))
    found = aggregated(events, replace(COUNT, take={"n": "sum(float)"}), PORTIONS, 2)
    assert found is not None
    assert found.collect() == found.collect()


@pytest.mark.parametrize(
    ("query", "schema"),
    [
        (replace(COUNT, take="each", score=Formula("x")), "at bigint, x double, id bigint"),
        (COUNT, "at timestamp_ntz, id bigint"),
        (COUNT, "at date, id bigint"),
        (replace(COUNT, time="id"), "id string"),
        (replace(COUNT, take={"n": "sum(x)"}), "at bigint, x decimal(20, 2), id bigint"),
        (replace(COUNT, heartbeat="x"), "at bigint, x void, id bigint"),
    ],
)
def test_the_rest_is_left_to_python(spark: SparkSession, query: TopKQuery, schema: str) -> None:
    assert aggregated(spark.createDataFrame([], schema), query, PORTIONS, 1) is None


def test_no_rows_make_no_portion(spark: SparkSession) -> None:
    assert in_java(spark.createDataFrame([], "at bigint, id string"), COUNT) == []
