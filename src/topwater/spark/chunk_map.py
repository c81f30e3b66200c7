"""The chunks of large journals in Spark's state store: a map that is opened when it is needed.

Spark opens a state variable anew in every task, which takes it some 20 ms for a map. Small journals
have no use for it. What Spark has to know before a query starts, it is told where it plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from topwater.spark.compat import can_open_late, opening_late

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

CHUNKS = "chunks"
"""The state variable with the chunks, by id."""

# Not as text: for that Spark's parser would be asked, twice for each.
_ID = StructType([StructField("id", LongType())])
_CHUNK = StructType([StructField("chunk", BinaryType())])


class SparkChunks:
    """The chunks of the shard whose turn it is.

    Parameters
    ----------
    handle
        What Spark gives a processor.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._map: MapState | None = None
        if not can_open_late(handle):
            self._map = _opened(handle)

    def get(self, id_: int) -> bytes | None:
        """A chunk; None if there is none."""
        found = self._opened().getValue((id_,))
        return None if found is None else bytes(found[0])

    def put(self, id_: int, chunk: bytes) -> None:
        """Keep a chunk."""
        self._opened().updateValue((id_,), (chunk,))

    def remove(self, id_: int) -> None:
        """Let a chunk go."""
        self._opened().removeKey((id_,))

    def _opened(self) -> MapState:
        if self._map is None:
            with opening_late(self._handle):
                self._map = _opened(self._handle)
        return self._map


def _opened(handle: StatefulProcessorHandle) -> MapState:
    return handle.getMapState(CHUNKS, _ID, _CHUNK)
