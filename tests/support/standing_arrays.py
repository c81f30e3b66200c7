"""Small arrays for the compiled loops of standing queries, to be compared with plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing.block_index import BLOCK, BlockIndex
from topwater.standing.coarse_scan import room_for_marks
from topwater.standing.kernel_records import (
    BAG,
    ENTRY,
    NEVER,
    QUERY,
    RELAXED,
    RESULT,
    Block,
    CostRule,
    Hits,
    Member,
    Records,
    Workspace,
)


def room_to_work(dimensions: int, results: int = 256) -> Workspace:
    """Work space for small queries."""
    hits = Hits(np.empty(BLOCK + 1, np.int64), np.empty(BLOCK + 1), np.empty(1024))
    box = np.empty((3, dimensions), np.int64)
    here, marks = np.zeros(dimensions, np.float32), room_for_marks(BLOCK)
    return Workspace(here, marks, box, hits, np.empty(256), np.zeros(results, RESULT))


def block_of(columns: FloatArray, stamps: IntArray | None = None, first: int = 0) -> Block:
    """Rows as a block, without an index; the first row has position 1."""
    size = columns.shape[1]
    given = np.arange(1, size + 1) if stamps is None else stamps
    return BlockIndex(len(columns), False).block(columns, given, 1, first, size)


def bags_of(k: int, rule: int = RELAXED, room: int = 200) -> tuple[Records, Records]:
    """A band and a filter, both empty, and their pool."""
    bags, pool = np.zeros(2, BAG), np.zeros(2 * (room + 2 * k), ENTRY)
    for at, bag in enumerate(bags):
        bag["base"] = at * (room + 2 * k)
        bag["room"], bag["top"], bag["wide"] = room, bag["base"] + room, 2 * k
        bag["k"], bag["rule"], bag["limit"] = k, rule, 4 * k
        bag["covers"], bag["oldest"], bag["bound"] = 1, NEVER, np.inf
    return bags, pool


def member_of(rule: CostRule, k: int, width: int, *, band: int = RELAXED, slots: int = 8) -> Member:
    """A query that began with position 1, with empty bags."""
    bags, pool = bags_of(k, band)
    record = np.zeros(1, QUERY)[0]
    record["active"], record["kind"], record["column"] = 1, rule.kind, rule.column
    record["dimensions"], record["width"], record["born"] = len(rule.point), width, 1
    record["done"], record["slots"], record["portion"] = 1, slots, max(1, width // slots)
    record["current"], record["recent"], record["keep"] = -NEVER, (width + 1) // 2, 4 * k
    minima = np.full(slots + 16, np.inf)
    return Member(0, record, bags[0], bags[1], pool, minima, rule, 0.2)


def entries(bag: np.void, pool: Records) -> list[tuple[float, int]]:
    """Cost and position of what a bag holds, in the order of arrival."""
    held = pool[bag["base"] + bag["head"] : bag["base"] + bag["tail"]]
    return list(zip(held["cost"].tolist(), held["seq"].tolist(), strict=True))


def top_of(bag: np.void, pool: Records) -> list[tuple[float, int]]:
    """Cost and position of a bag's k best, best first."""
    best = pool[bag["top"] : bag["top"] + min(bag["size"], bag["k"])]
    return list(zip(best["cost"].tolist(), best["seq"].tolist(), strict=True))


def skyband(costs: Sequence[float], k: int) -> list[int]:
    """The places of those that fewer than k later ones are not above."""
    return [
        at for at, cost in enumerate(costs) if sum(other <= cost for other in costs[at + 1 :]) < k
    ]
