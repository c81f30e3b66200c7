"""The best bids of every ten minutes as a streaming table, and who won most often as a view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

from topwater import TopKQuery, tumbling
from topwater.spark import topk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

spark = SparkSession.active()
bids = spark.readStream.schema("lot string, at timestamp, amount double").json(f"{Path.cwd()}/bids")
query = TopKQuery(key="lot", time="at", score="amount", k=2, window=tumbling("10 min"))

# Here, and not in the function: topk looks at the columns of its events, and Spark allows no
# function of a pipeline to do so.
best = topk(bids, query)


@dp.table
def best_bids() -> DataFrame:
    """Each window's two best, as it closes."""
    return best


@dp.materialized_view
def winners() -> DataFrame:
    """How often each lot was the best."""
    return spark.table("best_bids").where("rank = 1").groupBy("key").count()
