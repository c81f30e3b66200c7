"""Rows that repeat what is said of their window, for RSP-QL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater import TopKQuery, tumbling
from topwater.spark.topk import answer_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_window_without_items_has_one_row_and_figures_are_repeated(spark: SparkSession) -> None:
    query = TopKQuery(
        key="who", time="at", window=tumbling(10), k=2, take={"n": "count"}, score="n"
    )
    events = spark.createDataFrame([("a", 3), ("b", 4), ("a", 5), ("c", 25)], "who string, at long")
    found = answer_frame(events, query, None, shards=1, origin="a pattern").collect()
    assert [(row["rank"], row.key, row.values, row.remote) for row in found] == [
        (1, "a", [2.0], None),
        (2, "b", [1.0], None),
        (None, None, None, None),
        (1, "c", [1.0], None),
    ]
    assert [row.events for row in found] == [4, 4, 0, 0]
    assert [row.problems for row in found] == [{}] * 4
