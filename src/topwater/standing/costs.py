"""Compiled: what an object costs a query, 64 objects at a time.

The less it costs, the better an object ranks. A distance ranks by its square where it can, which
spares the root; a sum that should be large by its negative.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topwater.model import FloatArray
from topwater.standing.kernel_records import CostRule, Hits
from topwater.standing.lanes import LANES
from topwater.standing.numba_options import compiled
from topwater.standing.vectors import lowest, not_above

EUCLIDEAN: Final = 0
LARGEST: Final = 1
ABSOLUTE: Final = 2
SQUARES: Final = 3
LINEAR: Final = 4
"""How a cost is made: a straight distance, the weighted ones, or a weighted sum."""

STRETCH: Final = 512


@compiled
def cost_of(rule: CostRule, columns: FloatArray, row: int) -> float:
    """What one object costs: the same bits as ``costs_of``."""
    kind, point, weight = rule.kind, rule.point, rule.weight
    total, first, at = 0.0, np.uint64(rule.column), np.uint64(row)
    if kind == EUCLIDEAN:
        for d in range(np.uint64(len(point))):
            apart = columns[first + d, at] - point[d]
            total += apart * apart
        return total
    for d in range(np.uint64(len(point))):
        value, w = columns[first + d, at], weight[d]
        if kind == LINEAR:
            total += w * value
        elif kind == SQUARES:
            apart = value - point[d]
            total += w * (apart * apart)
        elif kind == ABSOLUTE:
            total += w * abs(value - point[d])
        else:
            total = max(total, w * abs(value - point[d]))
    return total


@compiled
def _add_squares(
    columns: FloatArray,
    column: int,
    first: int,
    size: int,
    px: float,
    py: float,
    out: FloatArray,
) -> None:
    """Add the squares of a column and of the next one."""
    at, n, x, y = np.uint64(first), np.uint64(size), np.uint64(column), np.uint64(column + 1)
    for j in range(n):
        dx = columns[x, at + j] - px
        dy = columns[y, at + j] - py
        out[j] = (out[j] + dx * dx) + dy * dy


@compiled
def _squares(
    columns: FloatArray, base: int, first: int, size: int, point: FloatArray, out: FloatArray
) -> None:
    """Squares of straight distances, two columns at a time, as sums in memory cost the most."""
    at, n, x, y = np.uint64(first), np.uint64(size), np.uint64(base), np.uint64(base + 1)
    px = point[0]
    if len(point) == 1:
        for j in range(n):
            dx = columns[x, at + j] - px
            out[j] = dx * dx
        return
    py = point[1]
    for j in range(n):
        dx = columns[x, at + j] - px
        dy = columns[y, at + j] - py
        out[j] = dx * dx + dy * dy
    for d in range(2, len(point) - 1, 2):
        _add_squares(columns, base + d, first, size, point[d], point[d + 1], out)
    if len(point) % 2 == 1:
        x, px = np.uint64(base + len(point) - 1), point[len(point) - 1]
        for j in range(n):
            dx = columns[x, at + j] - px
            out[j] += dx * dx


@compiled
def costs_of(  # noqa: C901  (one loop per kind, else the kind is asked for each row)
    rule: CostRule, columns: FloatArray, first: int, size: int, out: FloatArray
) -> None:
    """What ``size`` objects from row ``first`` on cost, into ``out``.

    Indices are unsigned, else the compiler allows for counting from the end and takes one row at
    a time. Each sum is in the order of the columns, so that every path gives the same bits.
    """
    kind, point, weight = rule.kind, rule.point, rule.weight
    if kind == EUCLIDEAN:
        _squares(columns, rule.column, first, size, point, out)
        return
    at, n, b = np.uint64(first), np.uint64(size), np.uint64(rule.column)
    for j in range(n):
        out[j] = 0.0
    for d in range(len(point)):
        column, p, w = b + np.uint64(d), point[d], weight[d]
        if kind == LARGEST:
            for j in range(n):
                out[j] = max(out[j], w * abs(columns[column, at + j] - p))
        elif kind == ABSOLUTE:
            for j in range(n):
                out[j] += w * abs(columns[column, at + j] - p)
        elif kind == SQUARES:
            for j in range(n):
                apart = columns[column, at + j] - p
                out[j] += w * (apart * apart)
        else:
            for j in range(n):
                out[j] += w * columns[column, at + j]


@compiled
def scan(
    rule: CostRule, columns: FloatArray, first: int, last: int, bound: float, hits: Hits
) -> int:
    """The rows from ``first`` up to ``last`` that cost at most ``bound``; how many there are."""
    rows, costs, scratch = hits.rows, hits.costs, hits.scratch
    count = 0
    row = first
    while row < last:
        size = min(STRETCH, last - row)
        costs_of(rule, columns, row, size, scratch)
        at = 0
        while at + LANES <= size:
            mask = not_above(scratch, at, bound)
            while mask:
                there = at + lowest(mask)
                rows[count] = row + there
                costs[count] = scratch[there]
                count += 1
                mask &= mask - np.uint64(1)
            at += LANES
        while at < size:
            rows[count] = row + at
            costs[count] = scratch[at]
            count += int(scratch[at] <= bound)
            at += 1
        row += size
    return count
