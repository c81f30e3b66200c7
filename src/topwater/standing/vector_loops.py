"""Compiled: what ``vector_intrinsics`` does, in plain loops.

They are slower, but need nothing that only some versions of Numba have; and without a compiler
they run as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topwater.standing.lanes import LANES
from topwater.standing.numba_options import compiled

Floats = npt.NDArray[np.floating]


@compiled
def squares_within(columns: Floats, row: int, point: Floats, bound: float) -> np.uint64:
    """Which of 64 rows from ``row`` on are so near to a point that the square is at most ``bound``.

    A mask, all in the precision of the columns.
    """
    mask = np.uint64(0)
    for lane in range(LANES):
        total = columns[0, row + lane] - point[0]
        total *= total
        for d in range(1, len(point)):
            apart = columns[d, row + lane] - point[d]
            total += apart * apart
        mask |= np.uint64(total <= bound) << np.uint64(lane)
    return mask


@compiled
def squares_within_plane(columns: Floats, row: int, x: float, y: float, bound: float) -> np.uint64:
    """``squares_within`` for two columns."""
    mask = np.uint64(0)
    for lane in range(LANES):
        dx, dy = columns[0, row + lane] - x, columns[1, row + lane] - y
        mask |= np.uint64(dx * dx + dy * dy <= bound) << np.uint64(lane)
    return mask


@compiled
def not_above(values: Floats, at: int, bound: float) -> np.uint64:
    """Which of 64 values from place ``at`` on are at most ``bound``: a mask."""
    mask = np.uint64(0)
    for lane in range(LANES):
        mask |= np.uint64(values[at + lane] <= bound) << np.uint64(lane)
    return mask


@compiled
def lowest(mask: np.uint64) -> int:
    """The place of the first bit that is set; one has to be."""
    at = 0
    while (mask >> np.uint64(at)) & np.uint64(1) == np.uint64(0):
        at += 1
    return at


@compiled
def masks(columns: Any, point: Any, bound: Any, out: Any) -> None:
    """All of them for the first 64 rows, to be compared with what another module gives."""
    out[0] = squares_within(columns, 0, point, bound)
    out[1] = squares_within_plane(columns, 0, point[0], point[1], bound)
    out[2] = not_above(columns[0], 0, bound)
    out[3] = lowest(out[2])
