"""A heap that could not read a state back is told before it has to."""

from __future__ import annotations

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
SMALL = JavaHeap(400 * MB, tasks=8, setting="spark.driver.memory")


def test_what_counts_is_the_chunks_that_are_read_at_once() -> None:
    assert SMALL.needed(MB, shards=2) == 340 * MB
    assert SMALL.needed(MB, shards=8) == SMALL.needed(MB, shards=100) == 460 * MB
    SMALL.require(MB, shards=5)
    with pytest.raises(StateError, match=r"chunks of 1\.0 MB, and a Java heap of 400 MB") as caught:
        SMALL.require(MB, shards=6)
    assert "6 tasks to read them at once: that takes 420 MB" in caught.value.problem
    assert caught.value.fix == "start Spark with spark.driver.memory=448m or more"


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
