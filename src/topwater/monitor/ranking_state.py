"""What one monitor remembers, opened: for those who change it while no monitor runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from topwater.query import TopKQuery
from topwater.tables import pack, unpack


class RankingState(NamedTuple):
    """The snapshot of one ranking.

    Attributes
    ----------
    facts
        Its few numbers; those of its replica are among them, as ``remote``.
    held
        What its open windows hold.
    replica
        The rows of its replica, if it has one.
    """

    facts: dict[str, Any]
    held: pa.Table
    replica: pa.Table | None = None

    @staticmethod
    def unpack(state: bytes) -> RankingState:
        """What is in a snapshot."""
        table, meta = unpack(state)
        if "remote" not in meta["facts"]:
            return RankingState(meta["facts"], table)
        held, replica = (unpack(part.as_py())[0] for part in table.column("part"))
        return RankingState(meta["facts"], held, replica)

    def pack(self, query: TopKQuery) -> bytes:
        """The snapshot again."""
        meta = {"query": query.to_dict(), "facts": self.facts}
        if self.replica is None:
            return pack(self.held, meta)
        parts = [pack(self.held, {}), pack(self.replica, {})]
        return pack(pa.table({"part": pa.array(parts, pa.binary())}), meta)
