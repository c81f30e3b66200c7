"""The inner loops of weighing entries, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from topwater.model import BoolArray, FloatArray, IntArray

_compiled = njit(cache=True, nogil=True)


@_compiled
def gains_of_entries(
    believed: FloatArray,
    known: FloatArray,
    true: FloatArray,
    rows: IntArray,
    starts: IntArray,
    worth: FloatArray,
    discount: FloatArray,
) -> FloatArray:
    """What knowing each entry brings to the answers of all worlds, summed.

    An entry that changes moves all of its rows at once; the answer is ranked anew with them.

    Parameters
    ----------
    believed
        Scores by which answers are ranked now, the best first.
    known, true
        A row a world: scores that rows would have whose entry were known, and true ones.
    rows, starts
        The rows of each entry, ascending, one entry after the other, and where those of each
        begin; and the end.
    worth, discount
        Of each true place, what it is worth to show that row at all, and what it is worth beside
        that times the discount of the place at which it is shown.
    """
    worlds, n = true.shape
    k, entries = len(discount), len(starts) - 1
    found = np.zeros(entries)
    place, moved = np.empty(n, np.int64), np.empty(n, np.int64)
    away = np.zeros(n, np.bool_)
    for world in range(worlds):
        place[:] = -1
        usual, ranked = 0.0, False
        for entry in range(entries):
            mine = rows[starts[entry] : starts[entry + 1]]
            count = _moved(believed, known[world], mine, k, moved)
            if not count:
                continue
            if not ranked:
                usual = _utility(
                    believed, known[world], true[world], moved[:0], away, place, worth, discount
                )
                ranked = True
            now = _utility(
                believed, known[world], true[world], moved[:count], away, place, worth, discount
            )
            found[entry] += now - usual
    return found


@_compiled
def _moved(believed: FloatArray, known: FloatArray, rows: IntArray, k: int, moved: IntArray) -> int:
    """Which of an entry's rows have other scores, the best first; none if that is no matter."""
    count, matters = 0, False
    for row in rows:
        if known[row] == believed[row]:
            continue
        matters |= row < k or known[row] >= believed[k - 1]
        # They are few: sorted one by one.
        to = count
        while to > 0 and known[moved[to - 1]] < known[row]:
            moved[to] = moved[to - 1]
            to -= 1
        moved[to] = row
        count += 1
    return count if matters else 0


@_compiled
def _utility(
    believed: FloatArray,
    known: FloatArray,
    true: FloatArray,
    moved: IntArray,
    away: BoolArray,
    place: IntArray,
    worth: FloatArray,
    discount: FloatArray,
) -> float:
    """What the answer of one world is worth where some rows are known, the best of them first."""
    k, n = len(discount), len(believed)
    for row in moved:
        away[row] = True
    total, stays, enters = 0.0, 0, 0
    for at in range(k):
        while stays < n and away[stays]:
            stays += 1
        if enters < len(moved) and (stays == n or known[moved[enters]] >= believed[stays]):
            row = moved[enters]
            enters += 1
        else:
            row = stays
            stays += 1
        if place[row] < 0:
            place[row] = _place(true, row)
        total += worth[place[row], 0] + discount[at] * worth[place[row], 1]
    for row in moved:
        away[row] = False
    return total


@_compiled
def _place(true: FloatArray, row: int) -> int:
    """The true place of a row, from 0; equals keep the order of their columns."""
    score, above = true[row], 0
    for other in range(row):
        above += true[other] >= score
    for other in range(row + 1, len(true)):
        above += true[other] > score
    return above
