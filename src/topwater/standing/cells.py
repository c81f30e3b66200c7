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
from topwater.standing.costs import (
    ABSOLUTE,
    EUCLIDEAN,
    LARGEST,
    LINEAR,
    compiled,
    cost_of,
)
from topwater.standing.first_look import Marks, Narrow, look

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
def reach_along(
    kind: int,
    d: int,
    point: FloatArray,
    weight: FloatArray,
    bound: float,
    rest: float,
) -> tuple[float, float]:
    """Between which values of column d an object can cost at most ``bound``.

    ``rest`` is what the other columns add to a sum at the very least.
    """
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
def gather(  # noqa: C901  (the box, and whether it pays)
    mode: int,
    kind: int,
    columns: FloatArray,
    base: int,
    first: int,
    last: int,
    point: FloatArray,
    weight: FloatArray,
    bound: float,
    edges: FloatArray,
    starts: IntArray,
    order: IntArray,
    least: FloatArray,
    most: FloatArray,
    block: int,
    narrow: Narrow,
    here: Narrow,
    marks: Marks,
    box: IntArray,
    rows: IntArray,
    costs: FloatArray,
    scratch: FloatArray,
) -> int:
    """As ``look``, through the cells of the block that begins at row ``block`` where that pays."""
    dimensions = edges.shape[0]
    if mode == NO_INDEX or bound == np.inf or first < block or base + len(point) > dimensions:
        return look(
            kind,
            columns,
            base,
            first,
            last,
            point,
            weight,
            bound,
            least,
            most,
            block,
            narrow,
            here,
            marks,
            rows,
            costs,
            scratch,
        )
    total = 0.0
    if kind == LINEAR:
        for d in range(dimensions):
            total += min(weight[d] * least[d], weight[d] * most[d])
    lines = 1
    for d in range(dimensions):
        rest = 0.0
        if kind == LINEAR:
            rest = total - min(weight[d] * least[d], weight[d] * most[d])
        low, high = reach_along(kind, d, point, weight, bound, rest)
        box[0, d] = cell_along(edges, d, low)
        box[1, d] = cell_along(edges, d, high)
        box[2, d] = box[0, d]
        if box[1, d] < box[0, d]:
            return 0
        if d < dimensions - 1:
            lines *= box[1, d] - box[0, d] + 1
    # Even where it is asked for, the index is no use for most of the objects.
    share = _SHARE if mode == WHERE_IT_PAYS else 1
    visits = lines
    if visits * share <= last - first:
        visits += walk(edges, starts, order, box, first, last, rows, False)
    if visits * share > last - first:
        return look(
            kind,
            columns,
            base,
            first,
            last,
            point,
            weight,
            bound,
            least,
            most,
            block,
            narrow,
            here,
            marks,
            rows,
            costs,
            scratch,
        )
    n = walk(edges, starts, order, box, first, last, rows, True)
    found = 0
    for i in range(n):
        row = rows[i]
        cost = cost_of(kind, columns, base, row, point, weight)
        if cost <= bound:
            at = found
            while at > 0 and rows[at - 1] > row:
                rows[at] = rows[at - 1]
                costs[at] = costs[at - 1]
                at -= 1
            rows[at] = row
            costs[at] = cost
            found += 1
    return found


@compiled
def walk(
    edges: FloatArray,
    starts: IntArray,
    order: IntArray,
    box: IntArray,
    first: int,
    last: int,
    rows: IntArray,
    write: bool,
) -> int:
    """Visit the cells of a box: how many rows they have, or (``write``) which."""
    dimensions, slices = edges.shape[0], edges.shape[1] + 1
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
