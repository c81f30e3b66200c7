"""A journal that outgrows its value, and shrinks again, through restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from tests.support.scenarios import read_stream, run_to_the_end, written
from topwater import TopKQuery, run, sliding
from topwater.monitor.stored_journal import BESIDE, NO_MAP, StoredJournal
from topwater.spark import read_state, topk
from topwater.spark.answer_rows import answers_from
from topwater.spark.chunk_map import CHUNKS
from topwater.spark.processor import STATE, MonitorProcessor
from topwater.spark.state import state_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

START = 1_000_000
QUERY = TopKQuery(
    key="key",
    time="time",
    take={"v": "sum(value)"},
    score="v",
    k=3,
    window=sliding("20s", "10s", start=START),
)


def events(second: int, keys: int) -> pa.Table:
    """So many keys, each once, all within a second."""
    rng = np.random.default_rng(second)
    times = START + 1_000 * second + np.sort(rng.integers(0, 1_000, keys))
    return pa.table(
        {
            "time": pa.array(times * 1_000, pa.timestamp("us", "UTC")),
            "key": rng.permutation(10**9 + np.arange(keys) * 7_919),
            "value": rng.random(keys),
            "other": rng.random(keys),
            "team": pa.array(["red"] * keys),
        }
    )


@pytest.mark.spark
def test_a_journal_goes_to_the_map_and_back_through_restarts(
    spark: SparkSession, tmp_path: Path, checkpoint: str
) -> None:
    """
    ::

        keys      20   20   12,000   20   20   20     20   20   20
        chunks    ── beside ──►│ ── in the map ─────────►│ beside ──►
        restarts           |        |                      |
    """
    seconds = [1, 3, 5, 7, 12, 15, 33, 36, 51]
    files = [events(second, 12_000 if second == 5 else 20) for second in seconds]
    for first, last, beside in ((0, 2, True), (2, 4, False), (4, 7, True), (7, 9, True)):
        folder = written(tmp_path / "in", files[first:last], first)
        rows = topk(read_stream(spark, folder, "bigint"), QUERY, give="both")
        found = run_to_the_end(rows, checkpoint, str(tmp_path / "out"))
        (row,) = state_rows(spark, checkpoint, STATE)
        assert (StoredJournal.unpack(bytes(row.snapshot), NO_MAP).beside is not None) is beside
        (state,) = read_state(spark, checkpoint)
        assert (state.holds.size < BESIDE) is beside
        assert (state.holds.rankings[0].rows >= 12_000) is not beside
    answers = answers_from(found, QUERY)
    assert len(answers) >= 4
    assert answers == list(run(QUERY, files))[: len(answers)]


def test_without_java_the_map_is_opened_at_once() -> None:
    tester = TwsTester(MonitorProcessor(QUERY.to_json()))
    assert tester.peekMapState(CHUNKS, 0) == {}
