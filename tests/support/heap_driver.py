"""A large state under a small heap: heap_driver.py PHASE HEAP FOLDER, PHASE being write or read.

Written in one process and read back in another, which has no monitor: every chunk has to pass
through Java's heap, and so does all that ``read_state`` reads.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from topwater import TopKQuery, tumbling
from topwater.spark import read_state, session, start, topk

KEYS, SHARDS, BATCHES = 1_000_000, 2, 4


def events(spark: SparkSession) -> DataFrame:
    """A quarter of the keys in each micro-batch; numbers that do not compress."""
    made = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", KEYS // BATCHES)
    rows = made.option("advanceMillisPerBatch", 60_000).option("numPartitions", 2).load()
    value = F.xxhash64(F.pmod("value", F.lit(KEYS)))
    return rows.select(F.col("timestamp").alias("at"), value.alias("who"))


def main(phase: str, heap: str, folder: Path) -> None:
    conf = {"spark.driver.memory": heap}
    spark = session("heap", master="local[2]", shuffle_partitions=SHARDS, conf=conf)
    query = TopKQuery(
        key="who", time="at", window=tumbling("1 h"), take={"n": "count", "v": "sum(who)"},
        score="n", k=3,
    )  # fmt: skip
    done: list[int] = []
    running = start(
        topk(events(spark), query, shards=SHARDS),
        to=lambda rows, _: done.append(rows.count()),
        checkpoint=folder / "checkpoint",
    )
    begun = time.monotonic()
    while len(done) < (BATCHES + 2 if phase == "write" else 1) and running.isActive:
        time.sleep(0.05)
    error = running.exception()
    if error is not None:
        raise error
    running.stop()
    print(f"{phase} with {heap}: {time.monotonic() - begun:.1f} s")
    for each in read_state(spark, folder / "checkpoint") if phase == "read" else ():
        print(each.shard, each.holds.size, each.holds.rankings[0].rows)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
