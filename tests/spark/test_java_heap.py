"""A heap that could not read a state back is told before it has to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from topwater import StateError
from topwater.monitor.journal_chunks import MOST
from topwater.spark.java_heap import JavaHeap
from topwater.spark.launch import check_heap
from topwater.spark.state import read_heads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.observed import Ran

MB = 2**20
ROOT = Path(__file__).parents[2]
SMALL = JavaHeap(350 * MB, tasks=8, setting="spark.driver.memory")


def test_what_counts_is_the_chunks_that_are_read_at_once() -> None:
    assert SMALL.needed(MB, shards=2) == 316 * MB
    assert SMALL.needed(MB, shards=8) == SMALL.needed(MB, shards=100) == 364 * MB
    SMALL.require(MB, shards=6)
    with pytest.raises(StateError, match=r"chunks of 1\.0 MB, and a Java heap of 350 MB") as caught:
        SMALL.require(MB, shards=8)
    assert "8 tasks to read them at once: that takes 364 MB" in caught.value.problem
    assert caught.value.fix == "start Spark with spark.driver.memory=384m or more"


def test_a_heap_that_a_state_may_outgrow_is_told_when_the_query_starts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    JavaHeap(SMALL.needed(MOST, 2), 2, "spark.executor.memory").warn(shards=2)
    assert not caplog.records
    JavaHeap(310 * MB, 2, "spark.executor.memory").warn(shards=2)
    assert "a Java heap of 310 MB is too small for 2 tasks" in caplog.text
    assert "spark.executor.memory=" in caplog.text


@pytest.mark.spark
def test_the_heap_of_a_session_is_known_and_a_state_too_large_for_it_refused(
    spark: SparkSession, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    heap = JavaHeap.of(spark)
    assert heap is not None
    assert (heap.tasks, heap.setting) == (2, "spark.driver.memory")
    assert heap.size > 400 * MB
    largest = max(each.chunk for each in read_heads(spark, ran.checkpoint))
    assert 0 < largest <= MOST
    tiny = JavaHeap(300 * MB + largest, 2, "spark.driver.memory")
    monkeypatch.setattr(JavaHeap, "of", lambda _: tiny)
    with pytest.raises(StateError, match="is too small for 2 tasks"):
        check_heap(spark, [largest], shards=2)


def could_read(folder: Path, heap: int, tasks: int, size: int) -> bool:
    """Whether so many tasks can read chunks of this size at once, in so many MB."""
    folder.mkdir()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.support.heap_driver", *map(str, (folder, heap, tasks, size))],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    log = (folder / "spark.log").read_text()
    assert (done.returncode == 0) is not ("OutOfMemoryError" in log), done.stderr
    return done.returncode == 0


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_what_is_said_to_be_enough_is_and_much_less_is_not(tmp_path: Path) -> None:
    many = JavaHeap(0, tasks=32, setting="")
    assert could_read(tmp_path / "enough", many.needed(MOST, shards=32) // MB, 32, MOST)
    assert not could_read(tmp_path / "too-little", 512, 32, 4 * MOST)
