"""Who takes part in the Spark benchmark: our queries, and what Spark offers for the same job.

There is no best native form for all windows: keeping every pane's list (``collect``) is cheap for
short windows and dear for long ones, keeping the k best per window (``max_by``) is the other way
round, and so it is with the two state stores. The benchmark tries all and takes the fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from topwater.model import Millis
from topwater.spark import Files, topk
from topwater_lab.bench.spark_data import FILES_PER_BATCH, SPARK_SCHEMA, K, Layout

Answers: TypeAlias = dict[Millis, list[tuple[float, int]]]
"""Per end of a window, its scores and keys, best first."""

PARTITIONS = "spark.sql.shuffle.partitions"
_STORE = "spark.sql.streaming.stateStore.providerClass"
_STORES = "org.apache.spark.sql.execution.streaming.state"


@dataclass(frozen=True, slots=True)
class Contender:
    """Someone who can do the job.

    Attributes
    ----------
    name
        Of the case, or of the peer.
    form
        Which of the peer's formulations.
    build
        The stream of answers over a folder of files.
    read
        What it wrote, as answers.
    settings
        What the session has to be set to.
    """

    name: str
    build: Callable[[SparkSession, Path, Layout], DataFrame]
    read: Callable[[pa.Table], Answers]
    form: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def partitions(self) -> int:
        """Shuffle partitions."""
        return int(self.settings.get(PARTITIONS, 1))


def events(spark: SparkSession, folder: Path, files: int = FILES_PER_BATCH) -> DataFrame:
    """The files as Spark reads them."""
    reader = spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", files)
    return reader.parquet(str(folder))


def _noop(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:  # noqa: ARG001
    return events(spark, folder)


def _panes(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    """The k best of each pane."""
    panes = F.window("time", _seconds(layout.step)).alias("pane")
    rows = events(spark, folder).withWatermark("time", "0 seconds").groupBy(panes).agg(_best())
    return rows.select(F.window_time("pane").alias("at"), "top")


def _collect(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    every = F.sort_array(F.flatten(F.collect_list("top")), False)
    rows = _panes(spark, folder, layout).groupBy(_window("at", layout))
    return rows.agg(F.slice(every, 1, K).alias("top"))


def _max_by(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    rows = _panes(spark, folder, layout).select("at", F.explode("top").alias("one"))
    return rows.groupBy(_window("at", layout)).agg(F.max_by("one", "one.value", K).alias("top"))


def _naive(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    """The obvious version: every event goes into every window that it is in."""
    rows = events(spark, folder).withWatermark("time", "0 seconds")
    return rows.groupBy(_window("time", layout)).agg(_best())


def _best() -> Column:
    return F.max_by(F.struct("value", "key"), "value", K).alias("top")


def _window(column: str, layout: Layout) -> Column:
    return F.window(column, _seconds(layout.width), _seconds(layout.step)).alias("window")


def _seconds(millis: Millis) -> str:
    return f"{millis / 1_000:g} seconds"


def _generic(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    return topk(events(spark, folder), layout.query())


def _own_source(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:  # noqa: ARG001
    return topk(Files(folder, FILES_PER_BATCH), layout.query())


def _read_peer(table: pa.Table) -> Answers:
    return {
        _millis(row["window"]["end"]): [(each["value"], each["key"]) for each in row["top"]]
        for row in table.to_pylist()
    }


def _read_ours(table: pa.Table) -> Answers:
    found: Answers = {}
    for row in table.sort_by([("window_end", "ascending"), ("rank", "ascending")]).to_pylist():
        found.setdefault(_millis(row["window_end"]), []).append((row["score"], row["key"]))
    return found


def _millis(moment: datetime) -> Millis:
    return round(moment.timestamp() * 1_000)


def _settings(partitions: int, store: str = "RocksDB") -> dict[str, str]:
    return {PARTITIONS: str(partitions), _STORE: f"{_STORES}.{store}StateStoreProvider"}


NOOP = Contender("noop", _noop, _read_peer)
NATIVE = tuple(
    Contender("native", build, _read_peer, f"{name}, {store}", _settings(2, store))
    for store in ("RocksDB", "HDFSBacked")
    for name, build in (("collect", _collect), ("max_by", _max_by))
)
"""Two levels: the k best of each pane, then of each window."""

NAIVE = Contender("naive", _naive, _read_peer, settings=_settings(2))
GENERIC = Contender("generic", _generic, _read_ours, settings=_settings(1))
FEEDBACK = Contender("feedback", _generic, _read_ours, settings=_settings(1))
"""The same where a pane spans many micro-batches, each of which could tell the next a threshold."""

OWN_SOURCE = Contender("own-source", _own_source, _read_ours, settings=_settings(1))
