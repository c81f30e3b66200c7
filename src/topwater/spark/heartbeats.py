"""Heartbeats: the windows of a live stream also end when no event comes.

Time is what the events say. When a micro-batch brings none, a heartbeat says it instead: that
nothing older than now, less some patience, is expected. It is heeded in such micro-batches only:
a stream that works through a backlog has events in each, and is not hurried.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from topwater.monitor.event_time import PaneTimes
from topwater.monitor.reduction import PartialBatch
from topwater.spark.stage_one import PORTIONS
from topwater.validation import whole_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, Row, SparkSession

    from topwater.model import Millis
    from topwater.windows import Windows

BEAT = -1
"""In place of the number of a task: what tells a heartbeat from events."""


def beats(spark: SparkSession, windows: Windows, patience: Millis, shards: int) -> DataFrame:
    """One heartbeat a second for every shard, as parts without events.

    Spark's ``rate`` source gives the time: it keeps it in the checkpoint, so that a micro-batch
    that runs twice hears the same heartbeat.
    """
    whole_of(patience, "idle", 0, fix='give the longest delay of an event, as "30 s"')
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1)
    times = ticks.load().select((F.unix_millis("timestamp") - patience).alias("time"))
    return times.mapInArrow(partial(_beating, windows, shards), PORTIONS)


def _unpacked(packed: bytes) -> tuple[PartialBatch]:
    return (PartialBatch.unpack(packed),)


def heeded(
    rows: list[Row], read: Callable[[bytes], Iterable[PartialBatch]] = _unpacked
) -> list[PartialBatch]:
    """The parts of a micro-batch; heartbeats only if nothing else tells the time."""
    told = [part for row in rows if row.task != BEAT for part in read(bytes(row.portion))]
    if any(len(part.times) for part in told):
        return told
    return told + [part for row in rows if row.task == BEAT for part in read(bytes(row.portion))]


def _beating(
    windows: Windows, shards: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    times = [batch.column("time").to_numpy() for batch in batches]
    newest = max((int(each.max()) for each in times if len(each)), default=windows.start)
    if newest <= windows.start:
        return
    packed = beat(windows, newest).pack()
    yield pa.RecordBatch.from_pydict(
        {
            "shard": pa.array(range(shards), pa.int32()),
            "task": pa.array([BEAT] * shards, pa.int32()),
            "part": pa.array([0] * shards, pa.int32()),
            "portion": pa.array([packed] * shards, pa.binary()),
        }
    )


def beat(windows: Windows, time: Millis) -> PartialBatch:
    """A part that holds nothing but a time."""
    at = np.array([time])
    times = PaneTimes(windows.pane_of(at), np.zeros(1, np.int64), at)
    return PartialBatch(pa.table({}), times, counted=False)
