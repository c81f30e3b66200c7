"""The best bids of every ten minutes, and the hour's best of these, as streaming tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

from topwater import TopKQuery, tumbling
from topwater.spark import topk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BIDS = os.environ.get("BIDS", f"{os.getcwd()}/bids")

BEST = TopKQuery(key="lot", time="at", score="amount", k=2, window=tumbling("10 min"))


@dp.table
def best_bids() -> DataFrame:
    """Each window's two best, as it closes."""
    spark = SparkSession.active()
    bids = spark.readStream.schema("lot string, at timestamp, amount double").json(BIDS)
    return topk(bids, BEST)


@dp.materialized_view
def winners() -> DataFrame:
    """How often each lot was the best."""
    best = SparkSession.active().table("best_bids")
    return best.where("rank = 1").groupBy("key").count()
