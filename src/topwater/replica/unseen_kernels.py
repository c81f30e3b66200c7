"""The one pass over all keys that were never read, compiled: which row stands for each cell."""

from __future__ import annotations

import numpy as np
from numba import njit

from topwater.model import FloatArray, IntArray

_compiled = njit(cache=True, nogil=True)


@_compiled
def best_of_cells(of_row: IntArray, cells: int, scores: FloatArray, others: FloatArray) -> IntArray:
    """Of each cell the row that scores best; of equals, with the other scores too.  O(rows)."""
    first = np.full(cells, -1, np.int64)
    for row in range(len(of_row)):
        cell = of_row[row]
        best = first[cell]
        if (
            best < 0
            or scores[row] > scores[best]
            or (scores[row] == scores[best] and others[row] > others[best])
        ):
            first[cell] = row
    return first
