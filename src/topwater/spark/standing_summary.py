"""What a checkpoint of standing queries remembers, for people and for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from topwater.spark.standing_processor import STATE
from topwater.spark.standing_state import unpacked_snapshot
from topwater.spark.state import checked, moment, state_rows
from topwater.standing import Standing

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from topwater.model import Millis

_NO_TIME = -(2**62)


@dataclass(frozen=True, slots=True)
class StandingState:
    """What one shard of standing queries remembers.

    Attributes
    ----------
    shard, shards
        Which one it is, and of how many.
    algorithm, columns
        How candidates are kept, and the attributes of the objects.
    queries
        How many it has.
    references, objects
        How many objects they refer to, each as often as it is; and how many different ones.
    seen, newest
        How many objects came, and the time of the last one, if they have times.
    size
        In bytes.
    """

    shard: int
    shards: int
    algorithm: str
    columns: tuple[str, ...]
    queries: int
    references: int
    objects: int
    seen: int
    newest: Millis | None
    size: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """As text, for people."""
        return [
            f"shard    {self.shard} of {self.shards}, {self.size:,} bytes",
            f"  newest {moment(self.newest)}, {self.seen:,} objects seen",
            f"  keeps  {self.queries:,} queries by {self.algorithm} over {', '.join(self.columns)}",
            f"         {self.references:,} references, {self.objects:,} objects",
        ]


def read_standing(spark: SparkSession, checkpoint: str | Path) -> list[StandingState]:
    """The state of standing queries as of the last finished micro-batch, shard by shard.

    The parameters and errors are those of :func:`~topwater.spark.read_state`.
    """
    rows = state_rows(spark, checked(spark, checkpoint), STATE)
    return sorted((_state(bytes(row.snapshot)) for row in rows), key=lambda each: each.shard)


def _state(packed: bytes) -> StandingState:
    snapshot, meta = unpacked_snapshot(packed)
    standing = Standing.build(snapshot)
    newest = snapshot["newest"]
    return StandingState(
        meta["shard"],
        meta["shards"],
        standing.settings.algorithm,
        tuple(standing.settings.columns),
        len(standing),
        standing.references,
        standing.objects,
        standing.counts.events,
        None if newest == _NO_TIME else newest,
        len(packed),
    )
