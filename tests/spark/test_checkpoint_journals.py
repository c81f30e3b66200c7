"""What is read of a checkpoint, to be written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.observed import SHARDS, query
from topwater.spark.checkpoint_journals import read_journals
from topwater.spark.checkpoint_plan import query_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.observed import Ran


@pytest.mark.spark
def test_the_stages_of_a_ranking_are_found_together(spark: SparkSession, ran: Ran) -> None:
    found = read_journals(spark, ran.checkpoint)
    (ranking,) = found.rankings
    assert sorted(ranking.journals) == [0, 1, SHARDS]
    assert (ranking.shards, ranking.name, ranking.stages) == (SHARDS, "", (0, 1))
    assert (found.operators, found.partitions) == ([0, 1], 1)
    assert query_of(ranking) == query()
    # Said by whoever knows them, each is a ranking of its own.
    apart = read_journals(spark, ran.checkpoint, groups=[(0,), (1,)]).rankings
    assert [sorted(each.journals) for each in apart] == [[SHARDS], [0, 1]]
