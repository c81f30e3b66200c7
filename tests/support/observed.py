"""One run on Spark that the tests of metrics, state and starting look at."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from topwater import TopKQuery, tumbling
from topwater.testing import Scripted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from topwater.spark import Progress

START = 1_000_000
SHARDS = 2
Event = tuple[int | None, int | None]
FILES: list[list[Event]] = [
    [(key * 1_000, key) for key in (1, 2, 3, 5, 7, 8)],
    [(12_000, 4), (None, 5), (12_500, None)],
    [(5_000, 9), (25_000, 6)],
    [(26_000, 7)],
]
"""Micro-batches: the second ends a window, the third another; 9 is late, two rows are bad."""


def query(k: int = 2) -> TopKQuery:
    return TopKQuery(
        key="key",
        time="time",
        window=tumbling("10s", start=START),
        take={"n": "count"},
        score="n + remote",
        k=k,
        refresh={"remote": "remote", "budget": {"fetches": 2, "accuracy": 1.0}},
    )


def source() -> Scripted:
    """Knows every key, and does not answer for 4."""
    made = Scripted({key: float(key) for key in range(10)})
    made.failing.add(4)
    return made


def write(folder: Path, files: list[list[Event]] = FILES) -> str:
    """One file per micro-batch, in this order. Times are relative to START."""
    folder.mkdir()
    for number, events in enumerate(files):
        times = [None if time is None else (START + time) * 1_000 for time, _ in events]
        columns = {
            "time": pa.array(times, pa.timestamp("us", tz="UTC")),
            "key": pa.array([key for _, key in events], pa.int64()),
        }
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table(columns), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return str(folder)


def read(spark: SparkSession, folder: str) -> DataFrame:
    reader = spark.readStream.schema("time timestamp, key bigint")
    return reader.option("maxFilesPerTrigger", 1).parquet(folder)


def figures_of(progress: StreamingQueryProgress) -> dict[str, Any]:
    """What Spark observed of the only ranking of a query."""
    (name,) = (each for each in progress.observedMetrics if each.startswith("topwater"))
    found: dict[str, Any] = progress.observedMetrics[name].asDict()
    return found


def eventually(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something that another thread does."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)


@dataclass(frozen=True)
class Ran:
    """A run that has ended, with all that it left behind."""

    folder: Path
    progress: list[Progress]
    json_file: Path
    prom_file: Path

    @property
    def checkpoint(self) -> str:
        return str(self.folder / "checkpoint")

    @property
    def events(self) -> str:
        return str(self.folder / "in")
