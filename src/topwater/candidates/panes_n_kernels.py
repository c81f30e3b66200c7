"""The inner loop of the columnar list for changing scores, compiled.

Objects are rows of a pool: first those that the list has, best first, then the arrivals in their
order. A row is a candidate while fewer than ``size`` better ones live as long as it does. That
is what the published marks and pointers express too, so the candidates are the same.

Keys come as numbers. If they do not ascend as the keys do, the loop can't settle a tie of score
and time between two keys; it stops and says so, and the caller sorts the keys and starts again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from topwater.model import BoolArray, FloatArray, IntArray

_compiled = njit(cache=True, nogil=True)

REPLACED, LOST, KEPT = 0, 1, 2
"""What became of a row: a later one took its place, it was forgotten, or it is a candidate."""


@_compiled
def _place(
    score: FloatArray, time: IntArray, code: IntArray, order: IntArray, m: int, row: int
) -> int:
    """How many candidates rank before ``row``."""
    low, high = 0, m
    while low < high:
        middle = (low + high) // 2
        other = order[middle]
        if score[other] != score[row]:
            before = score[other] > score[row]
        elif time[other] != time[row]:
            before = time[other] > time[row]
        else:
            before = code[other] < code[row]
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@_compiled
def _ties(score: FloatArray, time: IntArray, order: IntArray, m: int, at: int, row: int) -> bool:
    """Does a neighbour of the place ``at`` have the same score and time?"""
    for near in (at - 1, at):
        if 0 <= near < m:
            other = order[near]
            if score[other] == score[row] and time[other] == time[row]:
                return True
    return False


@_compiled
def _drop(end: IntArray, order: IntArray, beaten: IntArray, m: int, at: int) -> int:
    """Take out the candidate at ``at``: those that it kept down rise."""
    last = end[order[at]]
    for i in range(at, m - 1):
        row = order[i + 1]
        order[i] = row
        beaten[i] = beaten[i + 1] - (end[row] <= last)
    return m - 1


@_compiled
def _insert(
    end: IntArray,
    order: IntArray,
    beaten: IntArray,
    m: int,
    at: int,
    row: int,
    above: int,
    size: int,
    gone: IntArray,
) -> tuple[int, int]:
    """Put ``row`` at ``at``; those that now have ``size`` better ones leave, into ``gone``."""
    for i in range(m, at, -1):
        order[i] = order[i - 1]
        beaten[i] = beaten[i - 1] + (end[order[i]] <= end[row])
    order[at], beaten[at] = row, above
    n, out = at + 1, 0
    for i in range(at + 1, m + 1):
        if beaten[i] >= size:
            gone[out] = order[i]
            out += 1
        else:
            order[n], beaten[n] = order[i], beaten[i]
            n += 1
    return n, out


@_compiled
def _better(end: IntArray, order: IntArray, at: int, last: int) -> int:
    """How many of the first ``at`` candidates live until window ``last``."""
    n = 0
    for i in range(at):
        n += end[order[i]] >= last
    return n


@_compiled
def _floor(
    score: FloatArray, end: IntArray, order: IntArray, m: int, last: int, size: int
) -> float:
    """The score below which nothing that lives until window ``last`` can enter."""
    n = 0
    for i in range(m):
        n += end[order[i]] >= last
        if n == size:
            return float(score[order[i]])
    return -np.inf


@_compiled
def take_in(
    score: FloatArray,
    time: IntArray,
    code: IntArray,
    end: IntArray,
    vague: BoolArray,
    beaten_before: IntArray,
    codes: int,
    size: int,
    room: int,
    forgotten_at: int,
    sorted_codes: bool,
) -> tuple[IntArray, IntArray, npt.NDArray[np.int8], int, bool]:
    """Candidates after all arrivals, one by one.

    Parameters
    ----------
    score, time, code, end, vague
        The pool: the candidates before, best first, then the arrivals. ``vague`` is filled in.
    beaten_before
        Of each candidate before, how many better ones live as long.
    codes
        How many different codes there are.
    size
        How many members a window has.
    room
        The largest number of candidates that there can be, and one more.
    forgotten_at
        The latest time of an object that was forgotten.
    sorted_codes
        Whether smaller codes belong to smaller keys.

    Returns
    -------
    order, beaten, fate, forgotten_at, tied
        The rows of the candidates, best first, and how often each is beaten; what became of each
        row; and whether the loop stopped at a tie, in which case the rest means nothing.
    """
    m = len(beaten_before)
    order = np.empty(room, np.int64)
    beaten = np.empty(room, np.int64)
    gone = np.empty(room, np.int64)
    fate = np.zeros(len(score), np.int8)
    holder = np.full(codes, -1, np.int64)
    for row in range(m):
        order[row], beaten[row] = row, beaten_before[row]
        holder[code[row]], fate[row] = row, KEPT
    floor, floor_end = -np.inf, -1
    for row in range(m, len(score)):
        old = holder[code[row]]
        if old >= 0 and time[row] < time[old]:
            continue
        vague[row] = time[row] < forgotten_at and (old < 0 or vague[old])
        if old >= 0:
            m = _drop(end, order, beaten, m, _place(score, time, code, order, m, old))
            fate[old] = REPLACED
            holder[code[row]] = -1
            floor_end = -1
        if floor_end != end[row]:
            floor, floor_end = _floor(score, end, order, m, end[row], size), end[row]
        if score[row] < floor:
            fate[row] = LOST
            forgotten_at = max(forgotten_at, time[row])
            continue
        at = _place(score, time, code, order, m, row)
        if not sorted_codes and _ties(score, time, order, m, at, row):
            return order[:0], beaten[:0], fate, forgotten_at, True
        above = _better(end, order, at, end[row])
        if above >= size:
            fate[row] = LOST
            forgotten_at = max(forgotten_at, time[row])
            continue
        m, out = _insert(end, order, beaten, m, at, row, above, size, gone)
        fate[row] = KEPT
        holder[code[row]] = row
        floor_end = -1
        for i in range(out):
            fate[gone[i]] = LOST
            holder[code[gone[i]]] = -1
            forgotten_at = max(forgotten_at, time[gone[i]])
    return order[:m].copy(), beaten[:m].copy(), fate, forgotten_at, False
