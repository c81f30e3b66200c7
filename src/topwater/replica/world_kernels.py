"""The inner loops of the possible worlds, compiled: what moves in each, and who stands where.

Only the places of a few keys count: those shown, and those that enter. Sorting every world for
them took most of the time. All numbers are those that NumPy gives, bit by bit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from topwater.model import FloatArray, IntArray

Bits = npt.NDArray[np.uint64]

_compiled = njit(cache=True, nogil=True)


@_compiled
def moved_in_worlds(chosen: Bits, stale: FloatArray) -> tuple[IntArray, IntArray]:
    """Where the first 21 bits say that a value has moved: a row a world, a column a value.

    The places of these numbers, and the columns that they are in.
    """
    values = len(stale)
    found, columns = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    count = 0
    for start in range(0, len(chosen), max(1, values)):
        for column in range(values):
            found[count], columns[count] = start + column, column
            drawn = (chosen[start + column] & np.uint64(2**21 - 1)) * 2.0**-21
            count += drawn < stale[column]
    return found[:count].copy(), columns[:count].copy()


@_compiled
def ways_taken(rows: IntArray, chosen: FloatArray, weight: FloatArray) -> IntArray:
    """Which way each of some values took, by a number from 0 to 1, and how likely each way is."""
    ways = np.empty(len(rows), np.int64)
    last = weight.shape[1] - 1
    for at in range(len(rows)):
        row, total = rows[at], 0.0
        for way in range(last + 1):
            total += weight[row, way]
        step, way = weight[row, 0], 0
        while way < last and chosen[at] * total >= step:
            way += 1
            step += weight[row, way]
        ways[at] = way
    return ways


@_compiled
def best_in_worlds(
    reached: FloatArray,
    above: FloatArray,
    ranked: FloatArray,
    points: IntArray,
    lots: FloatArray,
    usual: FloatArray,
    most: int,
) -> FloatArray:
    """The first scores of each world that its lots let through; minus infinity for the rest.

    Parameters
    ----------
    reached, lots
        A row a world: so many keys are above each score, and what decides whether it counts.
    above
        How many keys are expected down to each score, ascending.
    ranked, points
        Of each of these: the score, and which column of ``usual`` it goes by, from the end if less
        than 0.
    usual
        A row a world: up to which lot a score counts there.
    most
        How many scores are wanted.
    """
    found = np.full((len(reached), most), -np.inf)
    for world in range(len(reached)):
        column, at = 0, 0
        for each in range(reached.shape[1]):
            at += np.searchsorted(above[at:], reached[world, each])
            if column == most or at == len(above):
                break
            if lots[world, each] < usual[world, points[at]]:
                found[world, column] = ranked[at]
                column += 1
    return found


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
