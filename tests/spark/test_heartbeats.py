"""What moves the time, what comes too late, and that nothing is lost on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.scenarios import (
    FAR,
    START,
    Bench,
    Scenario,
    answered_locally,
    read_stream,
    run_to_the_end,
    scenario,
    stream,
    written,
)
from topwater import TopKQuery, sliding, tumbling
from topwater.scoring import Formula
from topwater.spark import topk
from topwater.spark.frames import ITEM, WINDOW
from topwater.spark.packed_rows import ANSWER, LATE, TOLD

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

END = START + 200_000
WIDTH = 10_000


def events(*rows: tuple[int | None, int | None, float | None], team: str | None = None) -> pa.Table:
    """A file of (milliseconds since START, key, value)."""
    times = [None if time is None else (START + time) * 1_000 for time, _, _ in rows]
    return pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "key": pa.array([key for _, key, _ in rows], pa.int64()),
            "value": pa.array([value for _, _, value in rows], pa.float64()),
            "other": pa.array([0.0] * len(rows)),
            "team": pa.array([team] * len(rows), pa.string()),
        }
    )


HEARTBEAT = events((END - START, None, None))


def query_of(**change: Any) -> TopKQuery:
    settings: dict[str, Any] = {
        "key": "key",
        "time": "time",
        "window": tumbling(WIDTH, start=START),
        "take": {"n": "count", "v": "sum(value)"},
        "score": "v",
        "k": 1_000,
        "lateness": "2s",
    }
    return TopKQuery(**(settings | change))


def late_scenario(seed: int, **change: Any) -> Scenario:
    """All keys of each window are answered, and a heartbeat ends all windows but those of 2099."""
    found = scenario("count", seed, files=8, keys="bigint")
    return replace(found, query=query_of(**change), files=(*found.files, HEARTBEAT))


def usable(each: Scenario) -> list[dict[str, Any]]:
    """The events that belong into some answer before 2099, with their time in milliseconds."""
    table = pa.concat_tables(each.files)
    millis = table.column("time").cast(pa.int64()).to_pylist()
    rows = [
        row | {"time": time // 1_000}
        for row, time in zip(table.to_pylist(), millis, strict=True)
        if time is not None and row["key"] is not None and np.isfinite(row["value"])
    ]
    return [row for row in rows if START < row["time"] < FAR]


def came_late(each: Scenario) -> int:
    """How many events come after their window was answered, by what the files say alone."""
    watermark, late = 0, 0
    for file in each.files:
        # A window is answered once the watermark has passed its end.
        rows = usable(replace(each, files=(file,)))
        ends = [START + -(-(row["time"] - START) // WIDTH) * WIDTH for row in rows]
        late += sum(end < watermark for end in ends)
        watermark = max([watermark, *(row["time"] - each.query.lateness for row in rows)])
    return late


def per_key(rows: list[dict[str, Any]], kinds: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    """The events and the sum of values of each group and key, in rows of these kinds."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if row["kind"] in kinds:
            for key, (events, value) in zip(row["key"], row["values"], strict=True):
                found[row["group"], key, "events"] += events
                found[row["group"], key, "value"] += value
    return +found


def all_of(each: Scenario) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in usable(each):
        group = row["team"] if each.query.group_by else None
        if group is not None or not each.query.group_by:
            found[group, row["key"], "events"] += 1
            found[group, row["key"], "value"] += row["value"]
    return +found


@pytest.mark.parametrize("group_by", [None, "team"])
@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_answered_and_what_is_late_is_all_there_was(
    seed: int, shards: int, group_by: str | None
) -> None:
    each = late_scenario(seed, group_by=group_by)
    bench = Bench(each, shards, np.random.default_rng(seed))
    bench.run(each.files[:4])
    bench.restart()
    bench.run(each.files[4:])
    assert per_key(bench.rows, (ANSWER, LATE)) == all_of(each)
    late = per_key(bench.rows, (LATE,))
    counted = sum(row[TOLD]["late"] for row in bench.rows if row["kind"] == ANSWER)
    assert sum(late[name] for name in late if name[2] == "events") == counted > 0
    if group_by is None:
        assert counted == came_late(each)


@pytest.mark.spark
def test_nothing_late_is_lost_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """With shards, one event of the year 2099, a restart, and a heartbeat at the end."""
    each = late_scenario(1)
    for first, files in ((0, each.files[:4]), (4, each.files[4:])):
        folder = written(tmp_path / "in", files, first)
        rows = topk(
            read_stream(spark, folder, each.keys),
            each.query,
            give="both",
            shards=3,
            late_rows=True,
        )
        table = run_to_the_end(rows, str(tmp_path / "checkpoint"), str(tmp_path / "sink"))
    found = table.to_pylist()
    listed = [
        {"kind": row["kind"], "group": None, "key": [row["key"]], "values": [(row["n"], row["v"])]}
        for row in found
        if row["key"] is not None
    ]
    assert per_key(listed, (ITEM, LATE)) == all_of(each)
    assert sum(row["n"] for row in found if row["kind"] == LATE) == came_late(each)
    windows = [row["figures"]["late"] for row in found if row["kind"] == WINDOW]
    assert sum(windows) == came_late(each)
    assert all(row["figures"] is None for row in found if row["kind"] != WINDOW)


@pytest.mark.parametrize("shards", [1, 3])
def test_late_items_show_the_scores_that_answers_would(shards: int) -> None:
    """Smallest first is ranked by negated scores, which nobody is to see."""
    query = query_of(take="each", score=Formula("value", order="smallest"), k=5)
    files = (events((25_000, 1, 7.0)), events((4_000, 2, 3.0)))
    bench = Bench(Scenario(query, files, "bigint"), shards, np.random.default_rng(0))
    bench.run(files)
    bench.run([events((5_000, 3, 2.5)), HEARTBEAT])
    late = [row for row in bench.rows if row["kind"] == LATE]
    assert [(row["key"], row["score"]) for row in late] == [([3], [2.5])]


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("far", [FAR, START + 9_000_000])
def test_one_wrong_date_makes_no_other_event_late(shards: int, far: int) -> None:
    rng = np.random.default_rng(shards)
    table = stream(rng, 400, "bigint")
    times = np.sort(rng.integers(START + 1, START + 100_000, 400))
    times[200] = far
    column = pa.array(times * 1_000, pa.timestamp("us", "UTC"))
    table = table.set_column(0, "time", column)
    files = tuple(table.slice(start, 40) for start in range(0, 400, 40))
    each = Scenario(query_of(window=sliding("12s", "5s", start=START), k=3), files, "bigint")
    bench = Bench(each, shards, rng)
    bench.run(files)
    local = answered_locally(each)
    assert [row["key"] for row in bench.rows] == [answer.keys for answer in local]
    assert sum(answer.counts.late for answer in local) == 0
    assert sum(row[TOLD]["late"] for row in bench.rows) == 0
    assert local[-1].window.end > START + 85_000


@pytest.mark.parametrize("group_by", [None, "team"])
@pytest.mark.parametrize("shards", [1, 4])
def test_rows_without_a_key_end_the_windows_of_a_silent_stream(
    shards: int, group_by: str | None
) -> None:
    """Such a row has no group either, and is counted as one without a key.

    ::

        window    (0        10]        20]        30]
        file 0       1●2●
        file 1                 ♥                          ends the first
        file 2                                    ♥       ends the second, which is empty
    """
    files = (
        events((2_000, 1, 1.0), (3_000, 2, 2.0), team="red"),
        events((12_001, None, 0.0)),
        events((29_000, None, 0.0)),
    )
    each = Scenario(query_of(group_by=group_by), files, "bigint")
    bench = Bench(each, shards, np.random.default_rng(0))
    ends: list[list[int]] = []
    for file in files:
        bench.rows.clear()
        bench.run([file])
        ends.append([row["window_end"] - START for row in bench.rows])
    empty = [20_000] if group_by is None else []
    assert ends == [[], [10_000], empty]
    local = answered_locally(each)
    assert [answer.window.end - START for answer in local] == [10_000, *empty]
    assert sum(answer.counts.bad_key for answer in local) == (2 if empty else 1)
