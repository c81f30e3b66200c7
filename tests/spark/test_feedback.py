"""Rows that are known to be useless stay in Java, and the answers are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from test_topk import START, collect, essence, read_files, write_files

from topwater import QueryError, TopKMonitor, TopKQuery, run, sliding, tumbling
from topwater.spark import topk
from topwater.spark.feedback import board_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from topwater import Answer

Event = tuple[int | None, int | None, float]


def query_of(**change: Any) -> TopKQuery:
    settings: dict[str, Any] = {
        "key": "key",
        "time": "time",
        "score": "value",
        "k": 3,
        "window": sliding("10s", "5s", start=START),
        "lateness": "1s",
    }
    return TopKQuery(**(settings | change))


def files(seed: int) -> list[list[Event]]:
    """Six micro-batches to a pane, with ties at the limit, late rows and rows without a key."""
    rng = np.random.default_rng(seed)
    found: list[list[Event]] = []
    for number in range(22):
        newest = 800 * (number + 1)
        times = np.maximum(1, newest - rng.integers(0, 1_600, 60))
        scores = rng.choice([1.0, 2.0, 5.0, 7.0, 7.5, 8.0], 60, p=[0.5, 0.2, 0.2, 0.04, 0.04, 0.02])
        rows: list[Event] = [
            (int(time), int(rng.integers(0, 9)), float(score))
            for time, score in zip(times, scores, strict=True)
        ]
        found.append([*rows, (newest, None, 1.0), (newest - 900, 4, float("nan"))])
    return found


def locally(query: TopKQuery, batches: list[list[Event]]) -> list[Answer]:
    columns = [
        {
            "time": pa.array([START + (time or 0) for time, _, _ in rows], pa.timestamp("ms")),
            "key": [key for _, key, _ in rows],
            "value": [value for _, _, value in rows],
        }
        for rows in batches
    ]
    return list(run(query, columns))


@pytest.mark.spark
@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_the_answers_are_the_same_and_fewer_rows_cross(
    spark: SparkSession, tmp_path: Path, order: str
) -> None:
    query = query_of(score={"kind": "formula", "text": "value * 2 - 1", "order": order})
    batches = files(1)
    folder = write_files(tmp_path / "in", *batches)
    events = read_files(spark, folder)
    got = collect(
        topk(events, query, feedback=str(tmp_path)),
        query,
        str(tmp_path / "ck"),
        str(tmp_path / "s"),
    )
    right = locally(query, batches)[: len(got)]
    assert len(got) >= 2
    assert essence(got) == essence(right)
    crossed = sum(answer.counts.events for answer in got)
    assert crossed < 0.8 * sum(answer.counts.events for answer in right)
    assert sum(answer.counts.bad for answer in got) == sum(answer.counts.bad for answer in right)


def test_a_cut_is_of_the_newest_pane_alone() -> None:
    monitor = TopKMonitor.build(query_of(k=2, window=sliding(20, 10), lateness=5))
    assert monitor.cut() is None
    monitor.ingest({"key": [1, 2, 3], "time": [12, 13, 4], "value": [5.0, 7.0, 9.0]})
    cut = monitor.cut()
    assert cut is not None
    assert (cut.opens, cut.closes, cut.floor) == (10, 20, 5.0)


def test_nothing_is_cut_before_there_are_k() -> None:
    monitor = TopKMonitor.build(query_of(k=2, window=tumbling(10)))
    monitor.ingest({"key": [1], "time": [2], "value": [5.0]})
    assert monitor.cut() is None


@pytest.mark.spark
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"take": {"n": "count"}, "score": "n"}, "single events"),
        ({"group_by": "key"}, "single events"),
        ({"score": "exp(value)"}, "exactly"),
    ],
)
def test_what_can_not_be_cut_is_said(
    spark: SparkSession, tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    events = read_files(spark, write_files(tmp_path / "in", [(1, 1, 1.0)]))
    with pytest.raises(QueryError, match=problem):
        topk(events, query_of(**change), feedback=True)


def test_a_cluster_needs_a_folder() -> None:
    with pytest.raises(QueryError, match="all executors see"):
        board_folder(True, "spark://host:7077")
