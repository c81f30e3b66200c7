"""A query with new keys all the time, as a process of its own: steady_driver.py FOLDER MINUTES.

After every micro-batch a line of ``told.jsonl`` says what it takes: the resident memory of the
Python workers and of Java, Java's heap after a collection, the bytes of the checkpoint's folder.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812

from topwater import TopKQuery, sliding
from topwater.model import Fetched
from topwater.spark import session, start, topk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from topwater.model import KeyArray

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

KEYS, ROWS, SECONDS, NEW, SHARDS = 100_000, 50_000, 30, 50, 2
"""Keys alive at any time; a micro-batch's rows, and seconds of the stream; new keys a second."""

CONF = {
    "spark.driver.memory": "1g",
    # So that what is removed later is removed soon, and a short run shows it.
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.stateStore.maintenanceInterval": "5s",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "5",
}


class Hashed:
    """A source that knows every key."""

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        return Fetched((keys * 2_654_435_761 % 10_007) / 10.0, np.ones(len(keys), bool))


def events(spark: SparkSession) -> DataFrame:
    """Keys that come, have events for half an hour, and go."""
    made = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS)
    rows = made.option("advanceMillisPerBatch", SECONDS * 1_000).option("numPartitions", 2).load()
    young = F.floor(F.col("value") * (NEW * SECONDS) / ROWS)
    return rows.select(
        F.col("timestamp").alias("at"),
        (young + F.pmod(F.xxhash64("value"), F.lit(KEYS))).alias("who"),
    )


def query() -> TopKQuery:
    """With a replica that is full after a third of an hour."""
    refresh = {"remote": "f", "budget": 400, "memory": "4 MB"}
    return TopKQuery(
        key="who", time="at", window=sliding("5 min", "1 min"), take={"n": "count"},
        score="n * f", k=10, refresh=refresh,
    )  # fmt: skip


class Watch:
    """Tells what everything takes."""

    def __init__(self, spark: SparkSession, folder: Path, last: int) -> None:
        self._spark, self._folder, self._last = spark, folder, last
        self._java: Any = spark._jvm.java.lang  # type: ignore[union-attr]

    def __call__(self, rows: DataFrame, number: int) -> None:
        answers = rows.count()
        self._java.System.gc()
        run = self._java.Runtime.getRuntime()
        java = self._java.ProcessHandle.current().pid()
        workers = [_resident(pid) for pid in _workers(java)]
        told = {
            "batch": number,
            "answers": answers,
            "worker": max(workers, default=0),
            "workers": sum(workers),
            "java": _resident(java),
            "heap": run.totalMemory() - run.freeMemory(),
            "driver": _resident(os.getpid()),
            "checkpoint": _size(self._folder / "checkpoint"),
        }
        with (self._folder / "told.jsonl").open("a") as out:
            out.write(json.dumps(told) + "\n")
        if number >= self._last:
            (self._folder / "done").touch()


def _workers(java: int) -> list[int]:
    listing = subprocess.run(
        ["ps", "-eww", "-o", "pid=,ppid="],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    parents = {int(pid): int(parent) for pid, parent in map(str.split, listing.stdout.splitlines())}
    daemons = {pid for pid, parent in parents.items() if parent == java}
    return [pid for pid, parent in parents.items() if parent in daemons]


def _resident(pid: int) -> int:
    try:
        told = Path(f"/proc/{pid}/statm").read_text()
    except OSError:
        return 0
    return int(told.split()[1]) * resource.getpagesize()


def _size(folder: Path) -> int:
    total = 0
    for each in folder.rglob("*"):
        try:
            total += each.stat().st_size
        except FileNotFoundError:  # removed meanwhile
            continue
    return total


def main(folder: Path, minutes: float) -> None:
    spark = session("steady", master="local[2]", shuffle_partitions=SHARDS, conf=CONF)
    last = round(minutes * 60 / SECONDS)
    rows = topk(events(spark), query(), Hashed(), shards=SHARDS)
    running = start(rows, to=Watch(spark, folder, last), checkpoint=folder / "checkpoint")
    while not (folder / "done").exists():
        running.awaitTermination(1)
    running.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
