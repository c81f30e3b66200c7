"""What many keys and many groups cost, next to few: in this process, and on Spark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from topwater_lab.bench.core_targets import Measured
from topwater_lab.bench.harness import Ticker, ticking
from topwater_lab.bench.scale_churn import ChurnPoint, churn_rows
from topwater_lab.bench.scale_local import LocalPoint, measured
from topwater_lab.bench.scale_stream import SparkPoint, StreamSize
from topwater_lab.bench.scale_targets import check_targets

_FETCHED = 20_000


@dataclass(frozen=True, slots=True)
class OnSpark:
    """How much to measure on Spark.

    Attributes
    ----------
    size
        Of the streams.
    keys
        How many keys are remembered, the fewest first. Each is measured with events for all of
        them, and with the same few that the first has.
    groups
        How many groups are remembered, of which twenty have events.
    shards
        How many shards to try, besides one.
    sharded
        With how many keys.
    """

    size: StreamSize
    keys: tuple[int, ...]
    groups: tuple[int, ...]
    shards: tuple[int, ...] = (2, 4)
    sharded: int = 100_000

    def runs(self) -> list[tuple[str, SparkPoint]]:
        """In order. The first query is run twice, as all others are compared with it."""
        first = SparkPoint(self.keys[0], self.keys[0])
        few = [SparkPoint(keys, self.keys[0]) for keys in self.keys[1:]]
        spread = [SparkPoint(keys, keys) for keys in self.keys[1:]]
        shared = [SparkPoint(self.sharded, self.sharded, shards=each) for each in self.shards]
        grouped = [SparkPoint(0, 0, groups=each) for each in self.groups]
        # Shards come last: with the workers that they leave, one shard would change between them.
        ours = [("spark", point) for point in (first, *grouped, *spread, *few, first, *shared)]
        return [*(("native", point) for point in (first, *spread)), *ours]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Attributes
    ----------
    keys, text_keys
        How many keys a window has, as whole numbers and as text.
    groups
        How many groups are remembered, of which twenty have events.
    windows
        How many are closed at each point.
    spark
        What to measure on Spark; None for nothing.
    churn
        Streams whose keys are new all the time.
    """

    keys: tuple[int, ...]
    text_keys: tuple[int, ...]
    groups: tuple[int, ...]
    windows: int = 5
    spark: OnSpark | None = None
    churn: tuple[ChurnPoint, ...] = ()

    def points(self) -> list[LocalPoint]:
        """All points in this process, the small ones first."""
        return [
            *(self._point(keys) for keys in self.keys),
            *(self._point(keys, text=True) for keys in self.text_keys),
            *(LocalPoint(0, groups=each, windows=self.windows) for each in self.groups),
        ]

    def _point(self, keys: int, *, text: bool = False) -> LocalPoint:
        return LocalPoint(keys, text, fetched=min(_FETCHED, keys // 10), windows=self.windows)


FULL = Effort(
    (1_000, 10_000, 100_000, 680_000, 1_000_000),
    (1_000, 680_000),
    (20, 100, 10_000),
    spark=OnSpark(StreamSize(200_000, 16), (1_000, 10_000, 100_000, 1_000_000), (20, 100, 10_000)),
    churn=(ChurnPoint(),),
)
QUICK = Effort(
    (1_000, 10_000, 200_000),
    (200_000,),
    (20, 1_000),
    windows=3,
    spark=OnSpark(StreamSize(200_000, 8), (1_000, 200_000), (20, 10_000), (4,), 200_000),
    churn=(ChurnPoint(96, 60, budget=20, memory=200_000),),
)


def bench_scale(effort: Effort, seed: int = 7, *, quiet: bool = False) -> dict[str, Any]:
    """Measure all points.

    Parameters
    ----------
    effort
        How much to measure.
    seed
        Of the streams.
    quiet
        Whether to show no progress.
    """
    points = effort.points()
    runs = [] if effort.spark is None else effort.spark.runs()
    rows: list[Measured] = []
    with ticking(len(points) + len(effort.churn) + len(runs), quiet=quiet) as ticker:
        for point, row in zip(points, measured(points, seed), strict=True):
            ticker.step(f"{point.keys:,} keys, {point.groups:,} groups")
            rows.append(row)
        for each in churn_rows(effort.churn, seed):
            ticker.step(f"{each['keys']:,} keys, always new ones")
            rows.append(each)
        if effort.spark is not None:
            rows += _on_spark(effort.spark, seed, ticker)
    rows = [*_with_ratios(rows)]
    targets = [asdict(target) for target in check_targets(rows)]
    return {"bench": "scale", "seed": seed, "rows": rows, "targets": targets}


def _on_spark(effort: OnSpark, seed: int, ticker: Ticker) -> list[Measured]:
    # Spark takes a second to import.
    from topwater.spark import session
    from topwater_lab.bench.scale_spark import ScaleRuns

    root = Path(tempfile.mkdtemp(prefix="topwater-bench-"))
    try:
        runs = ScaleRuns(session("bench", master="local[2]"), root, effort.size, seed)
        for case, point in effort.runs():
            ticker.step(f"{case}, {point.keys:,} keys, {point.groups:,} groups")
            runs.measure(case, point)
        return runs.rows()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _with_ratios(rows: list[Measured]) -> Iterator[Measured]:
    """Each with what its micro-batch costs, as a multiple of the smallest of its kind."""
    for row in rows:
        alike = [each for each in rows if _kind(each) == _kind(row)]
        small = min(alike, key=lambda each: (each["keys"], each["groups"], each["shards"]))
        yield row | {"ratio_to_small": row["batch_ms_p50"] / small["batch_ms_p50"]}


def _kind(row: Measured) -> tuple[str, bool, bool]:
    return row["case"], row["text"], bool(row["groups"])
