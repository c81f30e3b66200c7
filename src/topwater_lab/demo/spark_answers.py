"""The demo's stream on Spark, and the answers as windows close."""

from __future__ import annotations

import contextlib
import os
import queue
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from topwater_lab.demo.scene import Scene

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from topwater.jobs.signals import StopFlag
    from topwater.model import Answer
    from topwater.protocols import Source


def answers(spark: SparkSession, scene: Scene, source: Source, stop: StopFlag) -> Iterator[Answer]:
    """The answers as windows close, until the stream ends or the user stops it."""
    from topwater.spark import answers_from, topk

    arrived: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    query = scene.query()

    def take(batch: DataFrame, _: int) -> None:
        for answer in answers_from(batch.toArrow(), query):
            arrived.put(answer)

    with tempfile.TemporaryDirectory(prefix="topwater-demo-") as folder:
        events = _stream(spark, scene, Path(folder) / "mentions")
        running = (
            topk(events, query, source, give="both")
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        while running.isActive and not stop.wait(0.1):
            yield from _drain(arrived)
        running.stop()
        stop.raise_if_set()
        if (error := running.exception()) is not None:
            raise error
        yield from _drain(arrived)


def _stream(spark: SparkSession, scene: Scene, folder: Path) -> DataFrame:
    """The mentions as files, one for each micro-batch."""
    folder.mkdir()
    for number, batch in enumerate(scene.batches()):
        path = folder / f"{number:04}.parquet"
        pq.write_table(batch, path)
        os.utime(path, (number + 1, number + 1))  # Spark takes the oldest first
    schema = "time timestamp, user bigint"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def _drain(arrived: queue.SimpleQueue[Answer]) -> Iterator[Answer]:
    with contextlib.suppress(queue.Empty):
        while True:
            yield arrived.get_nowait()
