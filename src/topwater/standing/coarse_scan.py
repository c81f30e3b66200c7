"""Compiled: a first look at a block of objects in single precision, 64 at a time.

Most objects are far from what a query wants, and to see that needs no exact distance. A block is
copied once for all queries, in single precision and with the middle of each column as zero; for
each query its bound is widened by what the rounding can amount to. Whoever is within is computed
again in full, so that the answers are those of double precision.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topwater.model import FloatArray
from topwater.standing.costs import EUCLIDEAN, cost_of, scan
from topwater.standing.kernel_records import Block, CostRule, Marks, Narrow, Workspace
from topwater.standing.lanes import LANES, aligned
from topwater.standing.numba_options import compiled, inlined
from topwater.standing.vectors import lowest, squares_within, squares_within_plane

_HALF_BIT: Final = 2.0**-24
_LARGEST: Final = 1e17
_SMALLEST: Final = 1e-15
"""Squares of what is farther out, or nearer, single precision can't hold."""
_WORTH: Final = 16.0
"""By what part of itself a radius may be widened before a first look is useless."""


def narrow_columns(dimensions: int, rows: int) -> Narrow:
    """Room for a block, in whole chunks."""
    columns: Narrow = aligned((dimensions, -(-rows // LANES) * LANES), np.float32)
    return columns


def room_for_marks(rows: int) -> Marks:
    """Room for all chunks of a block, and one more to write over."""
    return np.zeros((2, rows // LANES + 2), np.uint64)


@compiled
def narrow_block(
    columns: FloatArray,
    first: int,
    end: int,
    least: FloatArray,
    most: FloatArray,
    narrow: Narrow,
) -> None:
    """Copy the rows from ``first`` to ``end``, and note the range of each column."""
    start, n = np.uint64(first), np.uint64(end - first)
    for d in range(np.uint64(len(narrow))):
        low = high = columns[d, start]
        for i in range(n):
            value = columns[d, start + i]
            low = value if value < low else low
            high = value if value > high else high
        least[d], most[d] = low, high
        middle = 0.5 * low + 0.5 * high
        for i in range(n):
            narrow[d, i] = np.float32(columns[d, start + i] - middle)


@compiled
def widened_bound(
    point: FloatArray, bound: float, least: FloatArray, most: FloatArray, here: Narrow
) -> float:
    """What nothing within ``bound`` exceeds in single precision, or -1 if that is useless.

    Each coordinate is off by at most half a bit of what it is and of what the query's is, so that
    the root of the bound grows by the length of these errors; the rest is for the squares and sums.
    """
    error = 0.0
    for d in range(len(point)):
        middle = 0.5 * least[d] + 0.5 * most[d]
        apart = point[d] - middle
        here[d] = np.float32(apart)
        largest = 0.5 * most[d] - 0.5 * least[d] + abs(apart)
        if not largest < _LARGEST:
            return -1.0
        off = 1.01 * _HALF_BIT * largest
        error += off * off
    radius, error = np.sqrt(bound), np.sqrt(error)
    if not error * _WORTH < radius or not _SMALLEST < radius < _LARGEST:
        return -1.0
    radius += error
    return float(radius * radius * (1.0 + 4.0 * (len(point) + 6) * _HALF_BIT))


@compiled
def _mark_chunks(
    narrow: Narrow, first: int, last: int, here: Narrow, bound: np.float32, marks: Marks
) -> int:
    """Note the chunks with objects within the bound, and which; how many there are.

    A branch for each chunk would be guessed wrongly at each of these, which costs more than all
    the rest: so everyone is written down, and most are written over.
    """
    n = 0
    x, y = here[0], here[len(here) - 1]
    for at in range(first // LANES * LANES, last, LANES):
        if len(here) == 2:
            mask = squares_within_plane(narrow, at, x, y, bound)
        else:
            mask = squares_within(narrow, at, here, bound)
        marks[0, n] = mask
        marks[1, n] = np.uint64(at)
        n += int(mask != np.uint64(0))
    return n


@inlined
def coarse_scan(
    rule: CostRule, block: Block, first: int, last: int, bound: float, work: Workspace
) -> int:
    """As ``scan``, with a first look where there can be one."""
    start, hits, wide = block.first, work.hits, -1.0
    fits = rule.column == 0 and len(rule.point) == len(block.narrow)
    if rule.kind == EUCLIDEAN and first >= start and fits:
        wide = widened_bound(rule.point, bound, block.least, block.most, work.here)
    if wide < 0.0:
        return scan(rule, block.columns, first, last, bound, hits)
    single = np.float32(wide)
    n = _mark_chunks(block.narrow, first - start, last - start, work.here, single, work.marks)
    count = 0
    for i in range(n):
        mask, chunk = work.marks[0, i], start + np.int64(work.marks[1, i])
        while mask:
            row = chunk + lowest(mask)
            mask &= mask - np.uint64(1)
            if first <= row < last:
                cost = cost_of(rule, block.columns, row)
                hits.rows[count] = row
                hits.costs[count] = cost
                count += int(cost <= bound)
    return count
