"""The generated stream as a Spark source, so that a demo or a test needs no files and no broker.

::

    register(spark)
    spark.readStream.format("topwater-generated").option("rows_per_second", 500).load()
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from topwater.errors import QueryError
from topwater.spark.read_limits import ReadMaxRows, SupportsTriggerAvailableNow
from topwater_lab.bids.generator import Bids, bids_from

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

FORMAT = "topwater-generated"
_ARROW_ROWS = 65_536


class GeneratedSource(DataSource):
    """Bids as a stream: ``time timestamp, key string, value double``.

    Options
    -------
    rows_per_second, seconds, seed, lots, disorder_ms, origin_ms
        As in :class:`topwater_lab.bids.generator.Bids`.
    seconds_per_batch
        How much event time one micro-batch covers (default 10).
    tasks
        How many tasks share the work of a micro-batch (default 1).
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        rest = dict(options.items())
        self.seconds_per_batch = _positive(rest, "seconds_per_batch", 10)
        self.tasks = _positive(rest, "tasks", 1)
        self.bids = bids_from(rest)

    @classmethod
    def name(cls) -> str:
        """The name to give to ``format``."""
        return FORMAT

    def schema(self) -> str:
        """The same columns as the generator's own schema."""
        return "time timestamp, key string, value double"

    def streamReader(self, schema: StructType) -> GeneratedReader:  # noqa: ARG002, N802
        """The reader that Spark drives."""
        rows = self.bids.rows_per_second * self.seconds_per_batch
        return GeneratedReader(self.bids, rows, self.tasks)


@dataclass(frozen=True)
class Rows(InputPartition):
    """What one task reads: rows ``start`` to ``end``, the latter excluded."""

    start: int
    end: int


class GeneratedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are row numbers. A range of rows is the same whenever it is read."""

    def __init__(self, bids: Bids, rows_per_batch: int, tasks: int) -> None:
        self.bids = bids
        self.rows_per_batch = rows_per_batch
        self.tasks = tasks

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Nothing read yet."""
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One micro-batch's share."""
        return ReadMaxRows(self.rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The whole stream is there from the start. Without this method Spark ignores limits."""

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Where the next micro-batch ends."""
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else len(self.bids)
        return {"row": min(len(self.bids), start["row"] + rows)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Rows]:
        """The rows of a micro-batch, cut into equal shares."""
        first, last = start["row"], end["row"]
        cuts = [first + (last - first) * task // self.tasks for task in range(self.tasks + 1)]
        return [Rows(a, b) for a, b in itertools.pairwise(cuts) if a < b]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task, as Arrow batches."""
        if not isinstance(partition, Rows):
            raise TypeError(f"not a partition of this source: {partition!r}")
        for start in range(partition.start, partition.end, _ARROW_ROWS):
            yield self.bids.batch(start, min(partition.end, start + _ARROW_ROWS))


def register(spark: SparkSession) -> None:
    """Make the source known to a session. Repeating it does no harm."""
    spark.dataSource.register(GeneratedSource)


def _positive(options: dict[str, Any], name: str, default: int) -> int:
    """Take an option of the source's own out of ``options``."""
    text = str(options.pop(name, default))
    if not text.isdecimal() or int(text) < 1:
        raise QueryError(f"must be 1 or more, not {text!r}", field=name, fix="give digits only")
    return int(text)
