"""A query on Spark that remembers many keys, or many groups: what a micro-batch and a restart cost.

Beside it, over the same files and in the same session, Spark's own count of each pane and key: it
neither adds panes up, nor ranks, nor looks anything up.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.listener import StreamingQueryProgress

from topwater.spark import Progress, start, topk
from topwater_lab.bench.harness import worker_memory
from topwater_lab.bench.scale_local import Computed
from topwater_lab.bench.scale_stream import (
    FILES,
    STEP,
    SparkPoint,
    StreamSize,
    schema,
    write_last,
    write_stream,
)
from topwater_lab.bench.spark_peers import NAIVE
from topwater_lab.bench.spark_runs import Runner

_FIRST = 4
"""How many micro-batches after the history don't count: until workers and compilers are warm."""

_WRITTEN = "rocksdbTotalBytesWritten"


class Batch(NamedTuple):
    """A micro-batch: what it took, answered, wrote and was given, and how shards found monitors."""

    ms: float
    closing_ms: float = 0.0
    windows: int = 0
    state: int = 0
    written: int = 0
    came: int = 0
    kept: int = 0
    caught_up: int = 0
    rebuilt: int = 0

    @staticmethod
    def of(told: StreamingQueryProgress) -> Batch:
        """Ours, or one of Spark's own."""
        ours = Progress.of(told)
        if ours is None:
            stores = [dict(each.customMetrics) for each in told.stateOperators]
            return Batch(
                told.batchDuration, written=sum(int(each.get(_WRITTEN, 0)) for each in stores)
            )
        return Batch(
            ours.batch_ms,
            ours.closing_ms,
            ours.windows,
            ours.state_bytes,
            ours.state_written,
            ours.state_came,
            ours.state_kept,
            ours.state_caught_up,
            ours.state_rebuilt,
        )


@dataclass(slots=True)
class Found:
    """All runs of one point.

    Attributes
    ----------
    steady
        The micro-batches that count.
    every
        All of them, the history among them.
    restarts
        Seconds that a query took to its first micro-batch's end after a restart, less those that
        it took with an empty checkpoint.
    memory
        Bytes that the Python workers had in the end.
    """

    steady: list[Batch] = field(default_factory=list)
    every: list[Batch] = field(default_factory=list)
    restarts: list[float] = field(default_factory=list)
    memory: int | None = None

    def add(self, batches: list[Batch], restart: float, memory: int | None) -> None:
        """Another run."""
        self.steady += batches[1 + _FIRST :]
        self.every += batches
        self.restarts.append(restart)
        self.memory = memory

    def row(self, case: str, point: SparkPoint) -> dict[str, Any]:
        """In the columns of the benchmark."""
        closing = [batch for batch in self.steady if batch.windows]
        close_ms = _median([batch.closing_ms for batch in closing])
        met = [sum(batch[at] for batch in self.steady) for at in (-3, -2, -1)]
        came = [batch for batch in self.steady if batch.came]
        return {
            "case": case,
            "keys": point.keys,
            "drawn": point.drawn,
            "text": False,
            "groups": point.groups,
            "shards": point.shards,
            "close_ms": close_ms,
            "close_ns_per_key": close_ms and point.keys and 1e6 * close_ms / point.keys,
            "state_bytes": self.every[-1].state or None,
            "written_bytes": _median([batch.written for batch in self.steady]),
            "came_bytes": _median([batch.came for batch in came]),
            "written_to_came": _median([batch.written / batch.came for batch in came]),
            "written_beyond": max(batch.written - 2 * batch.came for batch in self.every),
            "batch_ms_p50": _median([batch.ms for batch in self.steady]),
            "closing_batch_ms_p50": _median([batch.ms for batch in closing]),
            "cache_hits": met[0] / sum(met) if sum(met) else None,
            "caught_up": met[1] / sum(met) if sum(met) else None,
            "restart_s": min(self.restarts),
            "rss_bytes": self.memory,
        }


class ScaleRuns:
    """Runs points in a session, with files and checkpoints in a folder of theirs.

    Parameters
    ----------
    spark
        The session.
    root
        An empty folder; whoever gives it removes it.
    size
        Of the streams.
    seed
        Another seed, another stream.
    """

    def __init__(self, spark: SparkSession, root: Path, size: StreamSize, seed: int) -> None:
        self._spark = spark
        self._root = root
        self._size = size
        self._seed = seed
        self._runs = 0
        self.found: dict[tuple[str, SparkPoint], Found] = {}

    def measure(self, case: str, point: SparkPoint) -> None:
        """Run it once more."""
        self._runs += 1
        home = self._root / str(self._runs)
        home.mkdir()
        write_stream(home / "in", point, self._size, self._seed)
        run = self._ours if case == "spark" else self._native
        batches, _ = run(point, home / "in", home / "checkpoint")
        write_last(home / "last", point, self._size, self._seed)
        _, empty = run(point, home / "last", home / "empty")
        write_last(home / "in", point, self._size, self._seed)
        _, again = run(point, home / "in", home / "checkpoint")
        found = self.found.setdefault((case, point), Found())
        found.add(batches, again - empty, worker_memory())
        shutil.rmtree(home)

    def rows(self) -> list[dict[str, Any]]:
        """One for each case and point; ours with how many times as fast as Spark's own it is."""
        rows = [found.row(*each) for each, found in self.found.items()]
        native = {_same(row): row["batch_ms_p50"] for row in rows if row["case"] == "native"}
        for row in rows:
            theirs = native.get(_same(row)) if row["case"] == "spark" else None
            row["ratio_to_native"] = None if theirs is None else theirs / row["batch_ms_p50"]
        return rows

    def _ours(self, point: SparkPoint, folder: Path, checkpoint: Path) -> tuple[list[Batch], float]:
        def begin() -> Any:
            query = point.query(self._size)
            rows = topk(self._events(point, folder), query, Computed(), shards=point.shards)
            return start(
                rows,
                to="noop",
                checkpoint=checkpoint,
                trigger={"availableNow": True},
                partitions=point.shards,
            )

        return _ran(begin)

    def _native(
        self, point: SparkPoint, folder: Path, checkpoint: Path
    ) -> tuple[list[Batch], float]:
        def begin() -> Any:
            names = ["group", "key"] if point.groups else ["key"]
            pane = F.window("time", f"{STEP} milliseconds")
            events = self._events(point, folder).withWatermark("time", "0 seconds")
            writer = events.groupBy(pane, *names).count().writeStream.format("noop")
            writer = writer.option("checkpointLocation", str(checkpoint))
            return writer.trigger(availableNow=True).start()

        with Runner(self._spark, self._root).settings(NAIVE.settings):
            return _ran(begin)

    def _events(self, point: SparkPoint, folder: Path) -> DataFrame:
        reader = self._spark.readStream.schema(schema(point))
        return reader.option("maxFilesPerTrigger", FILES).parquet(str(folder))


def _ran(begin: Callable[[], Any]) -> tuple[list[Batch], float]:
    """The micro-batches with events, and seconds from before the start to the end."""
    began = time.perf_counter()
    query = begin()
    query.awaitTermination()
    seconds = time.perf_counter() - began
    told = {each.batchId: each for each in query.recentProgress if each.numInputRows}
    return [Batch.of(told[number]) for number in sorted(told)], seconds


def _same(row: dict[str, Any]) -> tuple[int, ...]:
    return row["keys"], row["drawn"], row["groups"]


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None
