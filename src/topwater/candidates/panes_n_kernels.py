"""The inner loop of the columnar list for changing scores, compiled.

Objects are rows of a pool: first those that the list has, best first, then the arrivals in their
order. A row is a candidate while fewer than ``size`` better ones live as long as it does. That
is what the published marks and pointers express too, so the candidates are the same.

Keys come as numbers. If they do not ascend as the keys do, the loop can't settle a tie of score
and time between two keys; it stops and says so, and the caller sorts the keys and starts again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from topwater.model import BoolArray, FloatArray, IntArray

_compiled = njit(cache=True, nogil=True)

REPLACED, LOST, KEPT = 0, 1, 2
"""What became of a row: a later one took its place, it was forgotten, or it is a candidate."""


class Pool(NamedTuple):
    """Rows: the candidates before, best first, then the arrivals. ``vague`` is filled in.

    ``end`` is the last window of a row, ``code`` the number of its key.
    """

    score: FloatArray
    time: IntArray
    code: IntArray
    end: IntArray
    vague: BoolArray


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
    size: int,
    gone: IntArray,
) -> tuple[int, int]:
    """Put ``row`` at ``at``; those that now have ``size`` better ones leave, into ``gone``.

    By how many it is beaten itself, the caller notes. Returns how many stay, and how many leave.
    """
    for i in range(m, at, -1):
        order[i] = order[i - 1]
        beaten[i] = beaten[i - 1] + (end[order[i]] <= end[row])
    order[at] = row
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
    pool: Pool,
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
    pool, beaten_before
        The rows; and of each candidate before, how many better ones live as long.
    codes, sorted_codes
        How many codes there are, and whether smaller ones belong to smaller keys.
    size, room, forgotten_at
        How many members a window has; one more than there can be candidates; the latest time of
        one that was forgotten.

    Returns
    -------
    order, beaten, fate, forgotten_at, tied
        The rows of the candidates, best first; how often each is beaten; what became of each row;
        the latest time as above; whether a tie stopped the loop, so that the rest means nothing.
    """
    score, time, code, end, vague = pool
    m = len(beaten_before)
    order, beaten = np.empty(room, np.int64), np.empty(room, np.int64)
    order[:m], beaten[:m], gone = np.arange(m), beaten_before, np.empty(room, np.int64)
    fate, holder = np.zeros(len(score), np.int8), np.full(codes, -1, np.int64)
    fate[:m], holder[code[:m]] = KEPT, np.arange(m)
    floor, floor_end = -np.inf, -1
    for row in range(m, len(score)):
        old = holder[code[row]]
        if old >= 0 and time[row] < time[old]:
            continue
        vague[row] = time[row] < forgotten_at and (old < 0 or vague[old])
        if old >= 0:
            m = _drop(end, order, beaten, m, _place(score, time, code, order, m, old))
            fate[old], holder[code[row]], floor_end = REPLACED, -1, -1
        if floor_end != end[row]:
            floor, floor_end = _floor(score, end, order, m, end[row], size), end[row]
        at, above = 0, size
        if score[row] >= floor:
            at = _place(score, time, code, order, m, row)
            if not sorted_codes and _ties(score, time, order, m, at, row):
                return order[:0], order[:0], fate, forgotten_at, True
            above = _better(end, order, at, end[row])
        if above >= size:
            fate[row], forgotten_at = LOST, max(forgotten_at, time[row])
            continue
        m, out = _insert(end, order, beaten, m, at, row, size, gone)
        beaten[at], fate[row], holder[code[row]], floor_end = above, KEPT, row, -1
        for i in range(out):
            fate[gone[i]], holder[code[gone[i]]] = LOST, -1
            forgotten_at = max(forgotten_at, time[gone[i]])
    return order[:m].copy(), beaten[:m].copy(), fate, forgotten_at, False
