"""Passes over all keys that were never read, compiled: the rows that stand for cells, and lots.

One pass each, as memory is what they wait for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from topwater.model import FloatArray, IntArray

_compiled = njit(cache=True, nogil=True)


@_compiled
def ends_of_cells(
    of_row: npt.NDArray[np.int32], cells: int, scores: FloatArray, others: FloatArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Of each cell how many rows it has, the one that scores best, and the one that scores least.

    Of equals, with the other scores too; where these are equal, the first row. Of a cell without
    rows, -1.  O(rows).
    """
    count = np.zeros(cells, np.int64)
    first, last = np.full(cells, -1, np.int64), np.full(cells, -1, np.int64)
    for row in range(len(of_row)):
        cell = of_row[row]
        best, least, score = first[cell], last[cell], scores[row]
        count[cell] += 1
        if best < 0:
            first[cell] = last[cell] = row
            continue
        if score > scores[best] or (score == scores[best] and others[row] > others[best]):
            first[cell] = row
        if score < scores[least] or (score == scores[least] and others[row] < others[least]):
            last[cell] = row
    return count, first, last


@_compiled
def lots(times: IntArray, seed: np.uint64) -> IntArray:
    """Numbers in no order, one for each time; the same for the same time."""
    found = np.empty(len(times), np.int64)
    for at in range(len(times)):
        mixed = (np.uint64(times[at]) ^ seed) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        found[at] = np.int64(mixed >> np.uint64(1))
    return found
