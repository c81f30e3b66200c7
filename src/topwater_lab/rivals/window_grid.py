"""Compiled: a regular grid of all objects of the window, and which queries watch which cells.

Each cell has its objects in the order of arrival, column by column, in a stretch of one storage
that all cells share: a cell is scanned like a table. What leaves the window is skipped when a cell
is looked into, or needs the place.

What the objects of a cell cost a query at least is the sum (or the largest) of what each column
adds at least, its *gap*. For each query and column the gaps are sorted, the nearest part of the
column first, so that the cells within a bound are listed without looking at others. A gap is made
by the same operations as a cost, in the same order, so that rounding can't put it above the cost.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topwater.model import FloatArray, IntArray
from topwater.standing.costs import EUCLIDEAN, LARGEST, LINEAR, SQUARES
from topwater.standing.kernel_records import CostRule, Record, Records
from topwater.standing.numba_options import compiled, inlined

CELL: Final = np.dtype([("base", "i8"), ("room", "i8"), ("head", "i8"), ("tail", "i8")])
"""A stretch of the storage, how long it is, its first object that counts, one after its last."""


class Grid(NamedTuple):
    """Where objects are.

    Attributes
    ----------
    parts, strides, edges, scale
        Per column: into how many parts it is cut, what a part adds to the number of a cell, where
        the parts begin and end, and how many parts there are per unit.
    cells, objects, seqs, free
        The cells, the storage, the positions of the objects in it, and where its unused rest
        begins.
    watched
        For each cell one bit per query; and in the last line those that watch all cells.
    """

    parts: IntArray
    strides: IntArray
    edges: FloatArray
    scale: FloatArray
    cells: Records
    objects: FloatArray
    seqs: IntArray
    free: IntArray
    watched: npt.NDArray[np.uint64]


class Listing(NamedTuple):
    """Work space: cells and what their objects cost at least, and the way to them."""

    cells: IntArray
    bounds: FloatArray
    ranks: IntArray
    sums: FloatArray
    numbers: IntArray


@inlined
def cell_of(grid: Grid, columns: FloatArray, row: int) -> int:
    """The number of the cell of an object. Objects outside are in the cells at the border."""
    cell = 0
    for c in range(len(grid.parts)):
        parts = grid.parts[c]
        if parts == 1:
            continue
        value = columns[c, row]
        place = (value - grid.edges[c, 1]) * grid.scale[c] + 1.0
        at = int(place) if 0.0 < place < parts else (parts - 1 if place >= parts else 0)
        while at > 0 and value < grid.edges[c, at]:
            at -= 1
        while at < parts - 1 and value > grid.edges[c, at + 1]:
            at += 1
        cell += at * grid.strides[c]
    return cell


@compiled
def _make_place(grid: Grid, cell: Record, alive: int) -> bool:
    """Have a free place at a cell's end: where expired ones were, or in a new, longer stretch."""
    base, head, tail, room = cell["base"], cell["head"], cell["tail"], cell["room"]
    while head < tail and grid.seqs[base + head] < alive:
        head += 1
    to = base
    if 4 * head < room or room == 0:
        to, room = grid.free[0], 2 * room + 4
        if to + room > len(grid.seqs):
            cell["head"] = head
            return False
        grid.free[0] = to + room
    for c in range(len(grid.parts)):
        for at in range(tail - head):
            grid.objects[c, to + at] = grid.objects[c, base + head + at]
    for at in range(tail - head):
        grid.seqs[to + at] = grid.seqs[base + head + at]
    cell["base"], cell["room"], cell["head"], cell["tail"] = to, room, 0, tail - head
    return True


@inlined
def store(grid: Grid, number: int, columns: FloatArray, row: int, seq: int, alive: int) -> bool:
    """Put an object into its cell. False: the storage is full."""
    cell = grid.cells[number]
    if cell["tail"] == cell["room"] and not _make_place(grid, cell, alive):
        return False
    at = cell["base"] + cell["tail"]
    for c in range(len(grid.parts)):
        grid.objects[c, at] = columns[c, row]
    grid.seqs[at] = seq
    cell["tail"] += 1
    return True


@compiled
def count_cells(grid: Grid, columns: FloatArray, first: int, last: int) -> None:
    """Count the objects in rows, and give each cell room for them and half as many more."""
    for row in range(first, last):
        grid.cells[cell_of(grid, columns, row)]["room"] += 1
    for number in range(len(grid.cells)):
        cell = grid.cells[number]
        cell["room"] += cell["room"] // 2 + 4
        cell["base"] = grid.free[0]
        grid.free[0] += cell["room"]


@compiled
def store_all(grid: Grid, columns: FloatArray, first: int, last: int, origin: int) -> None:
    """Put the objects of rows into the cells, which have room for them."""
    for row in range(first, last):
        store(grid, cell_of(grid, columns, row), columns, row, origin + row, 0)


@compiled
def _gap(kind: int, low: float, high: float, point: float, weight: float) -> float:
    """What a value from ``low`` to ``high`` adds to a cost at least."""
    if kind == LINEAR:
        return min(weight * low, weight * high)
    apart = max(low - point, point - high, 0.0)
    if kind == EUCLIDEAN:
        return apart * apart
    if kind == SQUARES:
        return weight * (apart * apart)
    return weight * apart


@compiled
def sort_gaps(grid: Grid, rule: CostRule, gaps: FloatArray, adds: IntArray) -> None:
    """Sort the parts of each column by their gaps; columns of other queries have none."""
    kind, point, weight = rule.kind, rule.point, rule.weight
    for c in range(len(grid.parts)):
        d = c - rule.column
        for part in range(grid.parts[c]):
            gap = 0.0
            if 0 <= d < len(point):
                gap = _gap(kind, grid.edges[c, part], grid.edges[c, part + 1], point[d], weight[d])
            at = part
            while at > 0 and gaps[c, at - 1] > gap:
                gaps[c, at] = gaps[c, at - 1]
                adds[c, at] = adds[c, at - 1]
                at -= 1
            gaps[c, at] = gap
            adds[c, at] = part * grid.strides[c]


@compiled
def _combined(kind: int, total: float, gap: float) -> float:
    return max(total, gap) if kind == LARGEST else total + gap


@compiled
def least_cost(kind: int, gaps: FloatArray, total: float, first: int) -> float:
    """The least that is possible from column ``first`` on, after ``total``."""
    for c in range(first, len(gaps)):
        total = _combined(kind, total, gaps[c, 0])
    return total


@compiled
def list_cells(
    parts: IntArray,
    kind: int,
    gaps: FloatArray,
    adds: IntArray,
    above: float,
    bound: float,
    listing: Listing,
) -> tuple[int, float]:
    """List the cells whose objects cost at least more than ``above``, and at most ``bound``.

    No number as ``above`` leaves out none, also not those whose objects may cost minus infinity.

    Returns
    -------
    count, beyond
        How many there are, and not more than the least that those beyond the bound cost.
    """
    count, beyond = 0, np.inf
    last = len(parts) - 1
    ranks, sums, numbers = listing.ranks, listing.sums, listing.numbers
    level = 0
    ranks[0], sums[0], numbers[0] = -1, 0.0, 0
    while level >= 0:
        ranks[level] += 1
        rank = ranks[level]
        if rank == parts[level]:
            level -= 1
            continue
        total = _combined(kind, sums[level], gaps[level, rank])
        lowest = total if level == last else least_cost(kind, gaps, total, level + 1)
        if lowest > bound:
            beyond = min(beyond, lowest)
            level -= 1
            continue
        number = numbers[level] + adds[level, rank]
        if level < last:
            level += 1
            ranks[level], sums[level], numbers[level] = -1, total, number
        elif not total <= above:
            listing.cells[count] = number
            listing.bounds[count] = total
            count += 1
    return count, beyond


@compiled
def watch(watched: npt.NDArray[np.uint64], cell: int, q: int, on: bool) -> None:
    """Let a query watch a cell, or watch it no longer."""
    word, bit = q >> 6, np.uint64(1) << np.uint64(q & 63)
    if on:
        watched[cell, word] |= bit
    else:
        watched[cell, word] &= ~bit


@compiled
def watch_all(watched: npt.NDArray[np.uint64], cells: IntArray, q: int, on: bool) -> None:
    """Let a query watch cells, or watch them no longer."""
    for cell in cells:
        watch(watched, cell, q, on)
