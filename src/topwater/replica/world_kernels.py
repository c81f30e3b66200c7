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

    O(keys) a pair. Indices are unsigned: for signed ones the compiler allows for counting from the
    end, and then does not compare eight keys at a time.
    """
    places = np.empty(len(world), np.int64)
    keys = np.uint64(worlds.shape[1])
    for at in range(len(world)):
        row, own = np.uint64(world[at]), np.uint64(column[at])
        score = worlds[row, own]
        place = np.uint64(0)
        for other in range(own):
            place += np.uint64(worlds[row, other] >= score)
        for other in range(own + np.uint64(1), keys):
            place += np.uint64(worlds[row, other] > score)
        places[at] = place
    return places
