"""Stage 1: what each task does with its events before anything is sent on.

The contract that decides what may be left out of a batch:

- ``take="each"``: of every pane, all but the k best of the task's rows. Scores are fixed at
  arrival, and items of a pane live in the same windows, so no other item of the pane can ever be
  in an answer.
- aggregates: nothing but the rows themselves: what is sent is one partial aggregate per key and
  pane, from which every later answer can be made.
- a remote part: the same as for aggregates. A remote value may lift any key, so no key is cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext

from topwater.monitor.reduction import reduce_for_shards
from topwater.query import TopKQuery
from topwater.scoring import Formula
from topwater.spark.partials import aggregated
from topwater.spark.score_columns import quoted, rank_score
from topwater.spark.sieve import sieved
from topwater.spark.workers import set_modules_aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

PORTIONS = "shard int, task int, part int, portion binary"
_ARROW = pa.schema(
    [("shard", pa.int32()), ("task", pa.int32()), ("part", pa.int32()), ("portion", pa.binary())]
)
ROWS_AT_ONCE = 1_048_576
"""The more rows are reduced at once, the fewer and smaller the portions."""

_SCORE = "the score"


def reduced(events: DataFrame, query: TopKQuery, shards: int) -> DataFrame:
    """The portions of a stream of events, made in Java where that is possible."""
    for in_java in (sieved, aggregated):
        portions = in_java(events, query, PORTIONS, shards)
        if portions is not None:
            return portions
    columns, inside = crossing(query, events.schema)
    return events.select(*columns).mapInArrow(_reducer(inside.to_json(), shards), PORTIONS)


def crossing(query: TopKQuery, schema: StructType) -> tuple[list[Column], TopKQuery]:
    """What has to cross from Java to Python, and the query that reads it there.

    A score of several columns is computed in Java where that gives the same numbers, so that one
    column crosses in their place.
    """
    named = (query.key_column, query.time, query.group_column, query.heartbeat)
    ours = [name for name in named if name is not None]
    score = rank_score(query.score, schema) if query.aggregation is None else None
    if score is None or len(query.score.columns) < 2 or _SCORE in ours:
        return [quoted(name) for name in dict.fromkeys([*ours, *query.value_columns])], query
    inside = replace(query, score=Formula(f"`{_SCORE}`"))
    return [*map(quoted, dict.fromkeys(ours)), score.alias(_SCORE)], inside


def partial_rows(
    query: TopKQuery, table: pa.Table, shards: int, task: int, part: int
) -> pa.RecordBatch:
    """A table of events as rows of ``PORTIONS``."""
    found = [(shard, each.pack()) for shard, each in reduce_for_shards(query, table, shards)]
    return portion_rows(found, task, part)


def portion_rows(found: Sequence[tuple[int, bytes]], task: int, part: int) -> pa.RecordBatch:
    """Pairs of a shard and what it gets, as rows of ``PORTIONS``."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([shard for shard, _ in found], pa.int32()),
            pa.array([task] * len(found), pa.int32()),
            pa.array([part] * len(found), pa.int32()),
            pa.array([packed for _, packed in found], pa.binary()),
        ],
        schema=_ARROW,
    )


def _reducer(
    query: str, shards: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def reduce(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        set_modules_aside()
        built = TopKQuery.from_json(query)
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        for part, table in enumerate(gathered(batches)):
            yield partial_rows(built, table, shards, task, part)

    return reduce


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's small batches as large ones."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)
