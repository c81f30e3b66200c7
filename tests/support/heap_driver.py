"""Tasks that all read chunks of a state at once, in a heap of some size: FOLDER MB TASKS BYTES.

Ends with 0 if all could be read.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from topwater.spark import session
from topwater.spark.chunk_map import SparkChunks
from topwater.spark.shard_placement import PLACE, places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

CHUNKS = 12
"""How many each task has."""


class Reading(StatefulProcessor):
    """Writes its chunks in the first micro-batch, and reads them in the second."""

    def __init__(self, folder: str, tasks: int, size: int) -> None:
        self._folder, self._tasks, self._size = folder, tasks, size

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._chunks = SparkChunks(handle)

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        second = next(row.second for row in rows)
        self._wait(f"{second}-", self._tasks)
        for id_ in range(CHUNKS):
            if second:
                assert len(self._chunks.get(id_) or b"") == self._size
            else:
                rng = np.random.default_rng([*key, id_])
                self._chunks.put(id_, rng.bytes(self._size))
        return iter([Row(place=key[0])])

    def _wait(self, name: str, tasks: int) -> None:
        """Until all tasks are here."""
        folder = Path(self._folder)
        (folder / f"{name}{uuid4().hex}").touch()
        until = time.monotonic() + 120
        while len(list(folder.glob(f"{name}*"))) < tasks:
            assert time.monotonic() < until
            time.sleep(0.01)


def main(folder: Path, heap: int, tasks: int, size: int) -> None:
    events, marks = folder / "in", folder / "marks"
    events.mkdir()
    marks.mkdir()
    for second in (0, 1):
        table = pa.table({PLACE: pa.array(places(tasks), pa.int32()), "second": [second] * tasks})
        pq.write_table(table, events / f"{second}.parquet")
        time.sleep(1.1)  # the files are taken by their age
    spark = session(
        "heap",
        master=f"local[{tasks}]",
        shuffle_partitions=tasks,
        log_file=folder / "spark.log",
        conf={"spark.driver.memory": f"{heap}m"},
    )
    stream = spark.readStream.schema(f"{PLACE} int, second long").option("maxFilesPerTrigger", 1)
    keyed = stream.parquet(str(events)).groupBy(PLACE)
    reading = Reading(str(marks), tasks, size)
    rows = keyed.transformWithState(reading, f"{PLACE} int", "Append", "None")
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(folder / "state"))
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(each) for each in sys.argv[2:]))
