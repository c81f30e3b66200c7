"""How fast keys are counted on Spark, next to Spark's own count of each pane.

Spark counts the keys of each pane and no more; the query also adds the panes of a window up, and
ranks them. The first stage is measured by itself too: all that is done to every row.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from topwater.model import IntArray, Millis
from topwater.query import TopKQuery
from topwater.spark import topk
from topwater.spark.stage_one import reduced
from topwater.windows import sliding
from topwater_lab.bench.harness import Ticker
from topwater_lab.bench.spark_data import BATCH_MILLIS, ORIGIN, Data, K, Layout
from topwater_lab.bench.spark_peers import GENERIC, NAIVE, NOOP, Answers, Contender, events
from topwater_lab.bench.spark_runs import Runner, median

KEYS = (10_000, 200_000)
"""How many there are to be counted."""

PANES = Layout(5, step=BATCH_MILLIS)
"""Every micro-batch is a pane."""

_CHECKED = 3


@dataclass(frozen=True, slots=True)
class Count:
    """Counting so many keys. Ratios are of speeds: 2 means twice as fast."""

    keys: int
    rows_per_batch: int
    batches: int
    batch_ms_p50: float | None
    stage_ms_p50: float | None
    noop_batch_ms_p50: float | None
    native_batch_ms_p50: float | None
    ratio_to_native: float | None
    ratio_to_noop: float | None
    stage_ratio_to_noop: float | None
    same_answers: bool


def query(layout: Layout) -> TopKQuery:
    """What is asked."""
    window = sliding(layout.width, layout.step)
    return TopKQuery(key="key", time="time", take={"n": "count"}, score="n", k=K, window=window)


def _columns(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:  # noqa: ARG001
    return events(spark, folder).select("time", "key")


def _native(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    pane = F.window("time", f"{layout.step} milliseconds")
    return events(spark, folder).withWatermark("time", "0 seconds").groupBy(pane, "key").count()


def _stage(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    return reduced(events(spark, folder), query(layout), 1)


def _ours(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    return topk(events(spark, folder), query(layout))


OURS = Contender("count", _ours, GENERIC.read, settings=GENERIC.settings)
STAGE = Contender("first stage", _stage, GENERIC.read, settings=GENERIC.settings)
COLUMNS = Contender("two columns", _columns, NOOP.read)
PER_PANE = Contender("count per pane", _native, NOOP.read, settings=NAIVE.settings)


def counts(runner: Runner, data: Data, ticker: Ticker, repeats: int) -> Count:
    """Count the keys of these data, which are not written yet: all take turns."""
    keys, size = data.keys, data.size
    for _ in data.write():
        pass
    ticker.step(f"checking counts of {keys:,} keys")
    same = _same(runner, data)
    took: dict[str, list[float]] = defaultdict(list)
    for _ in range(repeats):
        for contender in (COLUMNS, PER_PANE, STAGE, OURS):
            ticker.step(f"{contender.name}, {keys:,} keys")
            ran = runner.measure(contender, data.folder(PANES), PANES)
            took[contender.name] += ran.steady(size.batches)
    each = partial(_median, took)
    ours, stage, noop, native = map(each, (OURS, STAGE, COLUMNS, PER_PANE))
    return Count(
        keys=keys,
        rows_per_batch=size.rows_per_batch,
        batches=len(took[OURS.name]),
        batch_ms_p50=ours,
        stage_ms_p50=stage,
        noop_batch_ms_p50=noop,
        native_batch_ms_p50=native,
        ratio_to_native=_ratio(native, ours),
        ratio_to_noop=_ratio(noop, ours),
        stage_ratio_to_noop=_ratio(noop, stage),
        same_answers=same,
    )


def _median(took: dict[str, list[float]], contender: Contender) -> float | None:
    return median(took[contender.name])


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return None if theirs is None or ours is None else theirs / ours


def _same(runner: Runner, data: Data) -> bool:
    """Whether the answers are those that the files give."""
    folder = data.folder(PANES, _CHECKED)
    found = runner.answers(OURS, folder, PANES)
    right = recounted(folder)
    return bool(right) and all(found.get(closes) == right[closes] for closes in right)


def recounted(folder: Path) -> Answers:
    """The counts of each window whose end lies in the data, one file after the other."""
    files = [pq.read_table(path, columns=["time", "key"]) for path in folder.iterdir()]
    time = np.concatenate([np.asarray(f["time"].cast("int64")) // 1_000 for f in files])
    key = np.concatenate([np.asarray(f["key"]) for f in files])
    ends = range(ORIGIN + PANES.step, int(time.max()), PANES.step)
    return {end: _top(time, key, end) for end in ends}


def _top(time: IntArray, key: IntArray, end: Millis) -> list[tuple[float, int]]:
    inside = (time > end - PANES.width) & (time <= end)
    names, where, sizes = np.unique(key[inside], return_inverse=True, return_counts=True)
    newest = np.zeros(len(names), np.int64)
    np.maximum.at(newest, where, time[inside])
    best = np.lexsort((names, -newest, -sizes))[:K]
    return [(float(sizes[at]), int(names[at])) for at in best]
