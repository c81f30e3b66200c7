"""The inner loop of the possible worlds, compiled: who stands where in a world.

Only the places of a few keys count: those shown, and those that enter. Sorting every world for
them took most of the time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from topwater.model import FloatArray, IntArray

_compiled = njit(cache=True, nogil=True)


@_compiled
def places_among(worlds: FloatArray, world: IntArray, column: IntArray) -> IntArray:
    """The place of one key in one world, from 0, for each pair; equals keep their order.

    O(keys) a pair, eight keys at a time.
    """
    places = np.empty(len(world), np.int64)
    for at in range(len(world)):
        row = worlds[world[at]]
        own = column[at]
        score = row[own]
        place = 0
        for other in row[:own]:
            place += other >= score
        for other in row[own + 1 :]:
            place += other > score
        places[at] = place
    return places
