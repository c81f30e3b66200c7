"""Stage 2: a monitor inside Spark's state store.

All decisions are the monitor's. Spark brings the portions of a micro-batch, keeps the snapshot
and takes the answers. Time comes with the portions: every shard sees when the events of the whole
micro-batch happened, so all shards close the same windows in the same micro-batch, which is the
very one whose events end them.
"""

from __future__ import annotations

import functools
import pickle
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from topwater.groups import GroupedMonitor, monitor_of
from topwater.portions import Portion
from topwater.query import TopKQuery
from topwater.sharding import Shard
from topwater.spark.answers import packed, packed_late

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    from topwater.monitor import TopKMonitor
    from topwater.protocols import Source

STATE = "monitor"
"""The name of the one state variable: a snapshot, and the window to be answered next."""


class MonitorProcessor(StatefulProcessor):
    """Runs a monitor per shard: its snapshot is the state.

    One packed value, because every call to the state store costs a tenth of a millisecond.

    Parameters
    ----------
    query
        As JSON.
    shards
        How many there are.
    source
        Where remote values are fetched, pickled, or nothing.
    late
        Whether to give out what came too late.
    bounded
        Whether there is only one batch, after which every window is to be answered.
    """

    def __init__(
        self,
        query: str,
        *,
        shards: int = 1,
        source: bytes | None = None,
        late: bool = False,
        bounded: bool = False,
    ) -> None:
        self._query = query
        self._shards = shards
        self._source = source
        self._late = late
        self._bounded = bounded

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._state = handle.getValueState(STATE, "snapshot binary")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Take in a micro-batch, and answer the windows that it ends."""
        monitor = self._monitor(key[0])
        # The order in which tasks finish must not decide how sums are rounded.
        ordered = sorted(rows, key=lambda row: (row.task, row.part))
        monitor.admit(*(Portion.unpack(bytes(row.portion)) for row in ordered))
        watermark = monitor.watermark
        if self._bounded:
            answers = monitor.flush()
        else:
            answers = [] if watermark is None else monitor.close_until(watermark)
        self._state.update((monitor.snapshot(),))
        found = [packed(answer) for answer in answers]
        if self._late and (late := monitor.take_late()) is not None:
            found.append(packed_late(late, list(monitor.query.names_taken)))
        return (Row(**row) for row in found)

    def _monitor(self, shard: int) -> TopKMonitor | GroupedMonitor:
        stored = self._state.get()
        return monitor_of(
            TopKQuery.from_json(self._query),
            None if stored is None else bytes(stored[0]),
            source=None if self._source is None else _connected(self._source),
            shard=Shard(shard, self._shards),
            keep_late=self._late,
        )


def pickled(source: Source | None) -> bytes | None:
    """A source as bytes, also one whose class was defined in a notebook."""
    if source is None:
        return None
    made: bytes = cloudpickle.dumps(source)  # type: ignore[no-untyped-call]
    return made


@functools.lru_cache(maxsize=16)
def _connected(source: bytes) -> Source:
    """One source for each worker process, so that its connections outlive a micro-batch."""
    made: Source = pickle.loads(source)  # noqa: S301  our own bytes, from the driver
    return made
