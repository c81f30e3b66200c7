"""A stream of changes on Spark: its notices travel with the portions of the events.

Each goes to where a replica is kept that it concerns: to the shard of its key, or to the stage in
which all shards rank together. What is of no single key goes to all.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from topwater.errors import QueryError
from topwater.monitor.notice_reader import check_columns, read_notices
from topwater.monitor.notice_settings import ChangeStream, NoticeSettings, require_notices
from topwater.monitor.shards import shard_of
from topwater.query import TopKQuery
from topwater.spark.compat import arrow_schema
from topwater.spark.stage_one import PORTIONS, gathered, portion_rows
from topwater.tables import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, Row

    from topwater.model import KeyForm

MARK = b"notices\n"
"""What a portion of notices begins with."""


def notice_portions(
    changes: ChangeStream, query: TopKQuery, key: KeyForm, shards: int, *, bounded: bool
) -> DataFrame:
    """The portions of a stream of changes.

    Parameters
    ----------
    changes
        The stream.
    query
        What is asked, with keys as they are inside.
    key
        What keys are in the stream of events.
    shards
        Among how many replicas entries are divided.
    bounded
        Whether the events are a table.

    Raises
    ------
    QueryError
        If the stream and the query do not fit together.
    """
    frame = changes.stream
    if not hasattr(frame, "mapInArrow"):
        raise QueryError(
            f"on Spark changes are a DataFrame, not a {type(frame).__name__}",
            field="changes",
            fix="pass a stream, as session.readStream.format(…).load()",
        )
    if frame.isStreaming == bounded:
        what = ("stream", "table") if bounded else ("table", "stream")
        raise QueryError(
            f"the changes are a {what[0]}, and the events are a {what[1]}",
            field="changes",
            fix=f"pass a {what[1]} for both",
        )
    require_notices(query, changes.settings)
    check_columns(query, changes.settings, arrow_schema(frame.schema))
    own = changes.settings
    if not own.key and key.composite:
        own = replace(own, key=key.names)
    settings = json.dumps(own.to_dict())
    read = partial(_portions, query.to_json(), settings, key, shards)
    found: DataFrame = frame.mapInArrow(read, PORTIONS)
    return found


def notices_of(portion: bytes) -> tuple[pa.Table, Mapping[str, int]]:
    """The notices of a portion, and how many could not be read."""
    table, meta = unpack(portion[len(MARK) :])
    return table, meta["tallies"]


def split_rows(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The portions of events, and those of notices."""
    notices = [row for row in rows if bytes(row.portion[: len(MARK)]) == MARK]
    if not notices:
        return rows, notices
    return [row for row in rows if bytes(row.portion[: len(MARK)]) != MARK], notices


def settings_of(written: str) -> NoticeSettings | None:
    """Settings from JSON; None where nobody listens."""
    return NoticeSettings.of(json.loads(written)) if written else None


def _portions(
    query: str, settings: str, key: KeyForm, shards: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    built, told = TopKQuery.from_json(query), settings_of(settings)
    assert told is not None  # noqa: S101  it was written
    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    for part, table in enumerate(gathered(batches)):
        notices, tallies = read_notices(built, told, table, key)
        tables = divided(notices, key, shards)
        found = [
            (shard, MARK + pack(own, {"tallies": {} if shard else dict(tallies)}))
            for shard, own in enumerate(tables)
        ]
        yield portion_rows(found, task, part)


def divided(notices: pa.Table, key: KeyForm, shards: int) -> list[pa.Table]:
    """The notices of each of several shards; those of no key, or of none that can be, of all."""
    if shards == 1:
        return [notices]
    keys = notices.column("key").combine_chunks()
    fitting = _fitting(keys, key)
    owner = np.full(notices.num_rows, -1)
    known = np.asarray(fitting.is_valid())
    owner[known] = shard_of(fitting.filter(pa.array(known)), shards)
    return [notices.filter(pa.array((owner == shard) | (owner < 0))) for shard in range(shards)]


def _fitting(keys: pa.Array, key: KeyForm) -> pa.Array:
    """Keys as those of the stream are, by which they have their shards."""
    from topwater.replica.key_slots import fitting

    whole: Any = pa.int64() if key.counted else pa.large_string()
    return fitting(keys, whole)
