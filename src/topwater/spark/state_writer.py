"""A state as a query would have written it, from rows: by a query that does nothing else.

Only Spark knows the form of its state store. So a query with the same stateful stages runs for one
micro-batch, in a checkpoint of its own, and puts into its state what it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from topwater.monitor.stored_journal import StoredJournal
from topwater.spark.planned_processor import planned
from topwater.spark.processor import opened_state
from topwater.spark.shard_placement import PLACE, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    from topwater.monitor.journal import Changes

_ROWS = (
    f"{PLACE} int, joint boolean, shard int, shards int, origin string, name string, "
    "id bigint, told binary"
)
_ARROW = pa.schema(
    [
        (PLACE, pa.int32()),
        ("joint", pa.bool_()),
        ("shard", pa.int32()),
        ("shards", pa.int32()),
        ("origin", pa.string()),
        ("name", pa.string()),
        ("id", pa.int64()),
        ("told", pa.binary()),
    ]
)
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_AT_ONCE = 32 * 2**20
_FOR_LARGE_ROWS = {
    # A row may have a chunk of 1 MB: thousands of them at a time would be too many for a heap.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    "spark.sql.parquet.enableVectorizedReader": "false",
}
_JOINT_PLACE = 0
"""Where the ranking of all shards is: see :func:`topwater.spark.joint_processor.all_in_one`."""


class StoredValue(NamedTuple):
    """What a state store has of one journal: a value, and the chunks in its map."""

    value: bytes
    chunks: dict[int, bytes]

    @staticmethod
    def of(changes: Changes) -> StoredValue:
        """That of a journal whose first record this is."""
        chunks = _Chunks()
        stored = StoredJournal(chunks)
        stored.write(changes)
        return StoredValue(stored.pack(), dict(chunks))


class _Chunks(dict[int, bytes]):
    """A map of chunks that is not in a state store yet."""

    def put(self, id_: int, chunk: bytes) -> None:
        self[id_] = chunk

    def remove(self, id_: int) -> None:
        del self[id_]


class ShardJournals(NamedTuple):
    """The journals of all shards of a ranking.

    Attributes
    ----------
    stored
        By shard; that of the ranking of all shards, if there is one, last.
    shards, origin, name
        See :class:`topwater.spark.state.ShardState`.
    joint
        Whether there is a stage for the ranking of all shards.
    """

    stored: Mapping[int, StoredValue]
    shards: int
    origin: str
    joint: bool
    name: str = ""


class StoringProcessor(StatefulProcessor):
    """Puts rows into the state of a stage; those for the stage behind it go through."""

    def __init__(self, *, joint: bool) -> None:
        self._joint = joint

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._state, self._chunks = opened_state(handle)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002  a place
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Store what is for this stage; a chunk without content goes."""
        for row in rows:
            if row.joint != self._joint:
                yield row
            elif row.id is not None and row.told is None:
                self._chunks.remove(row.id)
            elif row.id is not None:
                self._chunks.put(row.id, bytes(row.told))
            elif row.told is not None:
                self._state.update((bytes(row.told), row.shard, row.shards, row.origin, row.name))


def write_state(
    spark: SparkSession, versions: Sequence[ShardJournals], folder: str, settings: Mapping[str, str]
) -> str:
    """Write a state into a checkpoint in ``folder``, with some settings of Spark; where it is.

    Of several versions each is written after the other. The first one is a file, and those that it
    names, in each task's folder: ``1.zip``. The next is what changes from there:
    ``2.changelog``, over which an attempt at the same micro-batch may write.
    """
    before: Mapping[int, StoredValue] = {}
    for number, journals in enumerate(versions):
        # It has settings of its own, and listeners of the other session hear nothing of it.
        own = spark.newSession()
        own_settings = {**_FOR_LARGE_ROWS, **settings, _CHANGELOG: "true" if number else "false"}
        for name, value in own_settings.items():
            own.conf.set(name, value)
        for table in _tables(journals, before):
            own.createDataFrame(table).write.mode("append").parquet(f"{folder}/rows")
        rows = own.readStream.schema(_ROWS).parquet(f"{folder}/rows")
        for joint in (False, True)[: 1 + journals.joint]:
            processor = planned(StoringProcessor(joint=joint))
            rows = rows.groupBy(PLACE).transformWithState(processor, _ROWS, "Append", "None")
        writer = rows.writeStream.format("noop").option("checkpointLocation", f"{folder}/written")
        writer.trigger(availableNow=True).start().awaitTermination()
        before = journals.stored
    return f"{folder}/written/state"


def _tables(journals: ShardJournals, before: Mapping[int, StoredValue]) -> Iterator[pa.Table]:
    """All rows, not too many bytes of them at once."""
    held: list[tuple[Any, ...]] = []
    size = 0
    for row in _rows(journals, before):
        held.append(row)
        size += len(row[-1] or b"")
        if size > _AT_ONCE:
            yield _table(held)
            held, size = [], 0
    if held:
        yield _table(held)


def _rows(journals: ShardJournals, before: Mapping[int, StoredValue]) -> Iterator[tuple[Any, ...]]:
    shards = journals.shards
    # So that there is a micro-batch, even if nothing is to be stored.
    yield _JOINT_PLACE, False, 0, shards, journals.origin, journals.name, None, None
    for shard, (value, chunks) in journals.stored.items():
        place = (*places(shards), _JOINT_PLACE)[shard]
        whose = (place, shard == shards, shard, shards, journals.origin, journals.name)
        yield *whose, None, value
        for id_, chunk in chunks.items():
            yield *whose, id_, chunk
        for id_ in before[shard].chunks.keys() - chunks if shard in before else ():
            yield *whose, id_, None


def _table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(each, field.type) for each, field in zip(columns, _ARROW, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_ARROW)
