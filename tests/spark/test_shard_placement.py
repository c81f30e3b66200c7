"""Where Spark puts shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F  # noqa: N812

from topwater.spark.shard_placement import hashes, places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("tasks", [2, 3, 4, 8])
def test_every_shard_has_a_task_of_its_own(tasks: int) -> None:
    where = hashes(np.array(places(tasks), np.int64)) % tasks
    assert where.tolist() == list(range(tasks))
    assert len(set(places(50_000))) == 50_000


@pytest.mark.spark
def test_our_hash_is_sparks(spark: SparkSession) -> None:
    found = spark.range(-3, 100).select(F.hash(F.col("id").cast("int")).alias("h")).toArrow()
    assert hashes(np.arange(-3, 100)).tolist() == found.column("h").to_pylist()
