"""Compiled: a block of objects sorted into cells, so that a query looks only where it must.

The published index has the queries in the cells of a grid, and moves a query when its sphere of
interest grows. Here the *objects* of a block are in the cells, and a query visits those that its
bound reaches: nothing has to be moved when the bound changes, and a query's memory is touched once
per block instead of once per object. The cells follow the distribution of the data: each has about
the same share of it along every column.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing.coarse_scan import coarse_scan
from topwater.standing.costs import ABSOLUTE, EUCLIDEAN, LARGEST, LINEAR, cost_of
from topwater.standing.kernel_records import Block, CostRule, Hits, Workspace
from topwater.standing.numba_options import compiled, inlined

NO_INDEX: Final = 0
WHERE_IT_PAYS: Final = 1
ALWAYS: Final = 2

_SHARE: Final = 24
"""An object visited through a cell costs about as much as this many in a row."""


@compiled
def cell_along(edges: FloatArray, column: int, value: float) -> int:
    """In which slice along a column a value lies."""
    at = 0
    for edge in range(edges.shape[1]):
        at += int(edges[column, edge] < value)
    return at


@compiled
def sort_into_cells(
    columns: FloatArray,
    first: int,
    end: int,
    edges: FloatArray,
    starts: IntArray,
    order: IntArray,
    cell_of: IntArray,
) -> None:
    """Sort the rows from ``first`` to ``end`` by cell.

    ``order[starts[c] : starts[c + 1]]`` are the rows of cell c, ascending.
    """
    dimensions, slices = edges.shape[0], edges.shape[1] + 1
    for i in range(end - first):
        cell_of[i] = 0
    for d in range(dimensions):
        for i in range(end - first):
            cell_of[i] = cell_of[i] * slices + cell_along(edges, d, columns[d, first + i])
    for cell in range(len(starts)):
        starts[cell] = 0
    for i in range(end - first):
        starts[cell_of[i] + 1] += 1
    for cell in range(1, len(starts)):
        starts[cell] += starts[cell - 1]
    for i in range(end - first - 1, -1, -1):
        starts[cell_of[i] + 1] -= 1
        order[starts[cell_of[i] + 1]] = first + i
    # Each start has now moved down to its cell's first row; shift them back by one cell.
    for cell in range(len(starts) - 1):
        starts[cell] = starts[cell + 1]
    starts[len(starts) - 1] = end - first


@compiled
def reach_along(rule: CostRule, d: int, bound: float, rest: float) -> tuple[float, float]:
    """Between which values of column d an object can cost at most ``bound``.

    ``rest`` is what the other columns add to a sum at the very least.
    """
    kind, point, weight = rule.kind, rule.point, rule.weight
    if kind == LINEAR:
        if weight[d] == 0.0:
            return -np.inf, np.inf
        end = (bound - rest) / weight[d]
        # A sum's rounding must not leave out an object at the edge.
        end += 1e-9 * (abs(end) + abs(rest / weight[d]))
        low_end = end - 2e-9 * (abs(end) + abs(rest / weight[d]))
        return (-np.inf, end) if weight[d] > 0 else (low_end, np.inf)
    if kind == EUCLIDEAN:
        half = np.sqrt(bound)
    elif weight[d] == 0.0:
        return -np.inf, np.inf
    elif kind in (LARGEST, ABSOLUTE):
        half = bound / weight[d]
    else:
        half = np.sqrt(bound / weight[d])
    half += 1e-9 * (half + abs(point[d]))
    return point[d] - half, point[d] + half


@compiled
def _lines_reached(
    rule: CostRule,
    bound: float,
    edges: FloatArray,
    least: FloatArray,
    most: FloatArray,
    box: IntArray,
) -> int:
    """Note the box of cells that a bound reaches; of how many lines of cells it consists."""
    dimensions, weight = edges.shape[0], rule.weight
    total = 0.0
    if rule.kind == LINEAR:
        for d in range(dimensions):
            total += min(weight[d] * least[d], weight[d] * most[d])
    lines = 1
    for d in range(dimensions):
        rest = 0.0
        if rule.kind == LINEAR:
            rest = total - min(weight[d] * least[d], weight[d] * most[d])
        low, high = reach_along(rule, d, bound, rest)
        box[0, d] = cell_along(edges, d, low)
        box[1, d] = cell_along(edges, d, high)
        box[2, d] = box[0, d]
        if box[1, d] < box[0, d]:
            return 0
        if d < dimensions - 1:
            lines *= box[1, d] - box[0, d] + 1
    return lines


@compiled
def _within(rule: CostRule, columns: FloatArray, bound: float, hits: Hits, n: int) -> int:
    """Keep those of the first n rows that cost at most ``bound``, ascending; how many."""
    rows, costs, count = hits.rows, hits.costs, 0
    for i in range(n):
        row = rows[i]
        cost = cost_of(rule, columns, row)
        if cost <= bound:
            at = count
            while at > 0 and rows[at - 1] > row:
                rows[at] = rows[at - 1]
                costs[at] = costs[at - 1]
                at -= 1
            rows[at] = row
            costs[at] = cost
            count += 1
    return count


@compiled
def _through_cells(
    rule: CostRule, block: Block, first: int, last: int, bound: float, work: Workspace
) -> int:
    """Find rows through the cells that the bound reaches; -1 if those are too many."""
    lines = _lines_reached(rule, bound, block.edges, block.least, block.most, work.box)
    if lines == 0:
        return 0
    # Even where it is asked for, the index is useless for most of the objects.
    share = _SHARE if block.mode == WHERE_IT_PAYS else 1
    if lines * share > last - first:
        return -1
    visits = lines + walk(block, work.box, first, last, work.hits.rows, False)
    if visits * share > last - first:
        return -1
    n = walk(block, work.box, first, last, work.hits.rows, True)
    return _within(rule, block.columns, bound, work.hits, n)


@inlined
def gather(
    rule: CostRule, block: Block, first: int, last: int, bound: float, work: Workspace
) -> int:
    """As ``coarse_scan``, through the cells of the block where that pays."""
    n: int = -1
    inside = first >= block.first and rule.column + len(rule.point) <= block.edges.shape[0]
    if block.mode != NO_INDEX and bound < np.inf and inside:
        n = _through_cells(rule, block, first, last, bound, work)
    if n < 0:
        n = coarse_scan(rule, block, first, last, bound, work)
    return n


@compiled
def walk(block: Block, box: IntArray, first: int, last: int, rows: IntArray, write: bool) -> int:
    """Visit the cells of a box: how many rows they have, or (``write``) which."""
    starts, order = block.starts, block.order
    dimensions, slices = block.edges.shape[0], block.edges.shape[1] + 1
    final = dimensions - 1
    for d in range(dimensions):
        box[2, d] = box[0, d]
    n = 0
    while True:
        line = 0
        for d in range(final):
            line = line * slices + box[2, d]
        begin = starts[line * slices + box[0, final]]
        end = starts[line * slices + box[1, final] + 1]
        if write:
            for at in range(begin, end):
                row = order[at]
                rows[n] = row
                n += int(first <= row) & int(row < last)
        else:
            n += end - begin
        d = final - 1
        while d >= 0 and box[2, d] == box[1, d]:
            box[2, d] = box[0, d]
            d -= 1
        if d < 0:
            return n
        box[2, d] += 1
