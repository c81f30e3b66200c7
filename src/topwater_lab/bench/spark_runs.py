"""One run of a stream from start to end, and what Spark tells of it."""

from __future__ import annotations

import contextlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from topwater.spark.state import read_heads
from topwater_lab.bench.spark_data import Layout
from topwater_lab.bench.spark_peers import Answers, Contender

_FIRST = 2
"""How many micro-batches of a run don't count: the history, and one to get warm."""

_ALL_PROGRESS = {"spark.sql.streaming.numRecentProgressUpdates": "1000000"}


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run took.

    Attributes
    ----------
    whole_s
        Seconds from start to end.
    batch_ms
        Milliseconds of each micro-batch, by its number.
    written
        Bytes written to the state store in each micro-batch.
    memory
        Bytes of memory that the state store has held after each micro-batch.
    state_bytes
        What the state holds in the end, if it was asked for.
    """

    whole_s: float
    batch_ms: list[float]
    written: list[int]
    memory: list[int]
    state_bytes: int | None = None

    def steady(self, batches: int) -> list[float]:
        """The micro-batches that count, of which there are ``batches`` after the history."""
        return self.batch_ms[_FIRST : batches + 1]


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs streams, with checkpoints and sinks in folders that are gone afterwards."""

    spark: SparkSession
    root: Path

    def measure(
        self, contender: Contender, folder: Path, layout: Layout, *, state: bool = False
    ) -> Ran:
        """A run that throws its answers away."""
        with self.settings(contender.settings):
            rows = contender.build(self.spark, folder, layout)
            return self.run(rows, "noop", state=state)

    def written(self, contender: Contender, folder: Path, layout: Layout) -> Ran:
        """A run that writes its answers into parquet files."""
        with self.settings(contender.settings), self._scratch() as sink:
            rows = contender.build(self.spark, folder, layout)
            return self.run(rows, "parquet", str(sink), state=True)

    def answers(self, contender: Contender, folder: Path, layout: Layout) -> Answers:
        """The answers of a run."""
        with self.settings(contender.settings), self._scratch() as sink:
            self.run(contender.build(self.spark, folder, layout), "parquet", str(sink))
            return contender.read(self.spark.read.parquet(str(sink)).toArrow())

    def run(
        self, rows: DataFrame, sink: str, path: str | None = None, *, state: bool = False
    ) -> Ran:
        """Until the input ends."""
        with self._scratch() as checkpoint, self.settings(_ALL_PROGRESS):
            writer = rows.writeStream.format(sink).option("checkpointLocation", str(checkpoint))
            began = time.perf_counter()
            query = writer.trigger(availableNow=True).start(path)
            query.awaitTermination()
            whole = time.perf_counter() - began
            told = {progress.batchId: progress for progress in query.recentProgress}
            held = self._held(checkpoint) if state else None
        ordered = [told[number] for number in sorted(told)]
        return Ran(
            whole,
            [float(each.durationMs["triggerExecution"]) for each in ordered],
            [sum(_written(store) for store in each.stateOperators) for each in ordered],
            [sum(store.memoryUsedBytes for store in each.stateOperators) for each in ordered],
            held,
        )

    def _held(self, checkpoint: Path) -> int:
        """The bytes of the state of all shards, as it is in the checkpoint."""
        return sum(head.size for head in read_heads(self.spark, checkpoint))

    @contextlib.contextmanager
    def settings(self, wanted: Mapping[str, str]) -> Iterator[None]:
        """The session set as a contender wants it, put back afterwards."""
        before = {name: self.spark.conf.get(name) for name in wanted}
        try:
            for name, value in wanted.items():
                self.spark.conf.set(name, value)
            yield
        finally:
            for name, old in before.items():
                self.spark.conf.set(name, str(old))

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(dir=self.root))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _written(store: Any) -> int:
    return int(dict(store.customMetrics).get("rocksdbTotalBytesWritten", 0))


def median(values: list[float]) -> float | None:
    """The middle one; None if there are none."""
    return statistics.median(values) if values else None
