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


class Ranking(NamedTuple):
    """The rows of the candidates, best first, and how many better ones live as long as each."""

    order: IntArray
    beaten: IntArray


@_compiled
def _place(pool: Pool, order: IntArray, m: int, row: int) -> int:
    """How many candidates rank before ``row``."""
    score, time, code = pool.score, pool.time, pool.code
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
def _ties(pool: Pool, order: IntArray, m: int, at: int, row: int) -> bool:
    """Does a neighbour of the place ``at`` have the same score and time?"""
    for near in (at - 1, at):
        if 0 <= near < m:
            other = order[near]
            if pool.score[other] == pool.score[row] and pool.time[other] == pool.time[row]:
                return True
    return False


@_compiled
def _drop(end: IntArray, ranking: Ranking, m: int, at: int) -> int:
    """Take out the candidate at ``at``: those that it kept down rise."""
    order, beaten = ranking.order, ranking.beaten
    last = end[order[at]]
    for i in range(at, m - 1):
        row = order[i + 1]
        order[i] = row
        beaten[i] = beaten[i + 1] - (end[row] <= last)
    return m - 1


@_compiled
def _insert(
    end: IntArray,
    ranking: Ranking,
    m: int,
    at: int,
    row: int,
    above: int,
    size: int,
    gone: IntArray,
) -> tuple[int, int]:
    """Put ``row`` at ``at``; those that now have ``size`` better ones leave, into ``gone``."""
    order, beaten = ranking.order, ranking.beaten
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
def _floor(pool: Pool, order: IntArray, m: int, last: int, size: int) -> float:
    """The score below which nothing that lives until window ``last`` can enter."""
    n = 0
    for i in range(m):
        n += pool.end[order[i]] >= last
        if n == size:
            return float(pool.score[order[i]])
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
) -> tuple[Ranking, npt.NDArray[np.int8], int, bool]:
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
    ranking, fate, forgotten_at, tied
        The candidates; what became of each row; the latest time as above; and whether the loop
        stopped at a tie, in which case the rest means nothing.
    """
    score, time, code, end, vague = pool
    m = len(beaten_before)
    ranking = Ranking(np.empty(room, np.int64), np.empty(room, np.int64))
    order, gone = ranking.order, np.empty(room, np.int64)
    order[:m], ranking.beaten[:m] = np.arange(m), beaten_before
    fate, holder = np.zeros(len(score), np.int8), np.full(codes, -1, np.int64)
    fate[:m], holder[code[:m]] = KEPT, np.arange(m)
    floor, floor_end = -np.inf, -1
    for row in range(m, len(score)):
        old = holder[code[row]]
        if old >= 0 and time[row] < time[old]:
            continue
        vague[row] = time[row] < forgotten_at and (old < 0 or vague[old])
        if old >= 0:
            m = _drop(end, ranking, m, _place(pool, order, m, old))
            fate[old], holder[code[row]], floor_end = REPLACED, -1, -1
        if floor_end != end[row]:
            floor, floor_end = _floor(pool, order, m, end[row], size), end[row]
        at, above = 0, size
        if score[row] >= floor:
            at = _place(pool, order, m, row)
            if not sorted_codes and _ties(pool, order, m, at, row):
                return Ranking(order[:0], order[:0]), fate, forgotten_at, True
            above = _better(end, order, at, end[row])
        if above >= size:
            fate[row], forgotten_at = LOST, max(forgotten_at, time[row])
            continue
        m, out = _insert(end, ranking, m, at, row, above, size, gone)
        fate[row], holder[code[row]], floor_end = KEPT, row, -1
        for lost in gone[:out]:
            fate[lost], holder[code[lost]] = LOST, -1
            forgotten_at = max(forgotten_at, time[lost])
    return Ranking(order[:m].copy(), ranking.beaten[:m].copy()), fate, forgotten_at, False
