"""All that a checkpoint has of our rankings, to be divided and written again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from topwater.monitor.journal import Head
from topwater.monitor.shard_division import Written
from topwater.monitor.stored_journal import NO_MAP, StoredJournal
from topwater.spark.processor import STATE
from topwater.spark.shard_placement import PLACE
from topwater.spark.state import (
    all_chunks,
    checked,
    grouped,
    head_rows,
    known_stages,
    stages_with,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


class Stored(NamedTuple):
    """All that a checkpoint has of one ranking of ours.

    Attributes
    ----------
    journals
        By shard; that of the ranking of all shards follows the last. None before the first event.
    shards, origin, name
        See :class:`topwater.spark.state.ShardState`; 0 shards if that is not known yet.
    stages
        The numbers of its stateful stages, in order.
    """

    journals: dict[int, Written]
    shards: int
    origin: str
    name: str
    stages: tuple[int, ...]


class StoredQuery(NamedTuple):
    """All that a checkpoint has of one query of Spark.

    Attributes
    ----------
    rankings
        Ours, in the order of the plan.
    operators
        The numbers of all stateful stages, in order.
    partitions
        How many tasks each of them has.
    """

    rankings: list[Stored]
    operators: list[int]
    partitions: int


def read_journals(
    spark: SparkSession,
    checkpoint: str | Path,
    *,
    joint: Sequence[bool] = (),
    groups: Sequence[tuple[int, ...]] = (),
) -> StoredQuery:
    """The journals of all shards after the last finished micro-batch.

    Which stages belong together is found out, unless it is said. See
    :func:`topwater.spark.read_state` for the other parameters, and for what is raised.
    """
    folder = checked(spark, checkpoint)
    rows = head_rows(spark, folder)
    values = [(row, StoredJournal.unpack(bytes(row.snapshot), NO_MAP)) for row in rows]
    mapped = {row.operator for row, stored in values if stored.beside is None}
    chunks = all_chunks(spark, folder, mapped)
    journals: dict[int, dict[int, Written]] = {}
    for row, stored in values:
        found = chunks.get((row.operator, row.key[PLACE]), {})
        get = found.get if stored.beside is None else stored.beside.get
        journals.setdefault(row.operator, {})[row.shard] = Written(Head.unpack(stored.head), get)
    ours = stages_with(spark, folder, STATE)
    rankings = []
    for group in groups or grouped(ours, rows, joint):
        mine = [row for row in rows if row.operator in group]
        rankings.append(
            Stored(
                {shard: one for stage in group for shard, one in journals.get(stage, {}).items()},
                max((row.shards for row in mine), default=0),
                next((row.origin for row in mine), ""),
                next((row.name for row in mine), ""),
                tuple(group),
            )
        )
    return StoredQuery(rankings, *known_stages(spark, folder))
