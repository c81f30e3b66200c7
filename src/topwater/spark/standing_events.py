"""Stage 1 of standing queries: events and changes, packed once and sent to whom they concern.

Every shard must see every event. So events cross to Python once, are packed there, and Java hands
each shard the same few packed rows: what is copied for a shard is bytes, not events.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import functions as F  # noqa: N812

from topwater.model import BoolArray, Counts, FloatArray
from topwater.monitor.shards import shard_of
from topwater.spark.score_columns import quoted
from topwater.spark.stage_one import gathered
from topwater.spark.standing_queries import FIELDS
from topwater.spark.workers import set_modules_aside
from topwater.tables import pack
from topwater.windows import FARTHEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

TIME, KEY, ORDER, CHANGE = "time", "key", "order", "change"
EVENTS, CHANGES = "events", "changes"
"""Kinds of packed rows."""

_PACKED = "task int, part int, portion binary"
_FOR_ONE = f"shard int, {_PACKED}"


def value_name(number: int) -> str:
    """What the column with this number is called inside, whatever the user calls it."""
    return f"value {number}"


def packed_events(
    events: DataFrame,
    columns: Sequence[str],
    time: str,
    key: str | None,
    order: str | None,
    shards: int,
) -> DataFrame:
    """Each task's usable events as one packed row, for every shard."""
    crossing = [
        moment(events.schema, time).alias(TIME),
        *(quoted(name).cast("double").alias(value_name(at)) for at, name in enumerate(columns)),
    ]
    if key is not None:
        kind = "string" if events.schema[key].dataType.typeName() == "string" else "bigint"
        crossing.append(quoted(key).cast(kind).alias(KEY))
    if order is not None:
        crossing.append(moment(events.schema, order).alias(ORDER))
    packed = events.select(*crossing).mapInArrow(_pack_events, _PACKED)
    every = F.explode(F.array(*(F.lit(shard) for shard in range(shards)))).alias("shard")
    return packed.select(every, F.lit(EVENTS).alias("kind"), "task", "part", "portion")


def packed_changes(changes: DataFrame, name_kind: str, shards: int) -> DataFrame:
    """Each task's changes as one packed row for each shard that they concern."""
    there = [name for name in ("op", *FIELDS) if name in changes.columns]
    kinds = {"name": name_kind, "k": "bigint"}
    struct = F.struct(*(quoted(name).cast(kinds.get(name, "string")).alias(name) for name in there))
    at = moment(changes.schema, TIME) if TIME in changes.columns else F.lit(None).cast("bigint")
    rows = changes.select(
        quoted("name").cast(name_kind).alias("name"),
        F.to_json(struct).alias(CHANGE),
        at.alias(TIME),
    )
    packed = rows.mapInArrow(partial(_pack_changes, shards), _FOR_ONE)
    return packed.select("shard", F.lit(CHANGES).alias("kind"), "task", "part", "portion")


def moment(schema: StructType, name: str) -> Column:
    """A column of times as milliseconds; of whole numbers, as they are."""
    column = quoted(name)
    if schema[name].dataType.typeName() == "timestamp":
        return F.unix_millis(column)
    return column.cast("bigint")


def usable(table: pa.Table) -> tuple[pa.Table, Counts]:
    """The events that can be used, and how many there were of each kind.

    What is wrong with an event is counted once: its numbers, else its key, else its time.
    """
    good = np.ones(table.num_rows, bool)
    for name in table.column_names:
        if name.startswith(value_name(0)[:-1]):
            good &= np.abs(_numbers(table.column(name))) < FARTHEST
    key_ok = _present(table, KEY) if KEY in table.column_names else np.ones_like(good)
    times = table.column(TIME).fill_null(FARTHEST).to_numpy()
    time_ok = np.abs(times) < FARTHEST
    counts = Counts(
        events=table.num_rows,
        bad_score=int(np.count_nonzero(~good)),
        bad_key=int(np.count_nonzero(good & ~key_ok)),
        bad_time=int(np.count_nonzero(good & key_ok & ~time_ok)),
    )
    use = good & key_ok & time_ok
    return (table if use.all() else table.filter(pa.array(use))), counts


def _pack_events(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    set_modules_aside()
    for part, table in enumerate(gathered(batches)):
        kept, counts = usable(table)
        meta = {name: getattr(counts, name) for name in Counts.__slots__}
        yield _row(part, portion=pack(kept.combine_chunks(), meta))


def _pack_changes(shards: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    set_modules_aside()
    for part, table in enumerate(gathered(batches)):
        names = table.column("name")
        nameless = 0 if pa.types.is_integer(names.type) else ""
        shard = shard_of(pc.fill_null(names, nameless).combine_chunks(), shards)
        for each in np.unique(shard).tolist():
            mine = table.select([CHANGE, TIME]).filter(pa.array(shard == each))
            yield _row(part, shard=each, portion=pack(mine.combine_chunks(), {}))


def changes_of(table: pa.Table) -> list[tuple[int | None, dict[str, Any]]]:
    """Packed changes as times and what is asked for."""
    asked = [json.loads(text) for text in table.column(CHANGE).to_pylist()]
    return list(zip(table.column(TIME).to_pylist(), asked, strict=True))


def _row(part: int, *, portion: bytes, shard: int | None = None) -> pa.RecordBatch:
    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    numbers = {"shard": shard, "task": task, "part": part}
    found = {
        name: pa.array([number], pa.int32())
        for name, number in numbers.items()
        if number is not None
    }
    return pa.RecordBatch.from_pydict({**found, "portion": pa.array([portion], pa.binary())})


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    return np.asarray(column.fill_null(float("nan")).to_numpy())


def _present(table: pa.Table, name: str) -> BoolArray:
    return np.asarray(table.column(name).is_valid().to_numpy())
