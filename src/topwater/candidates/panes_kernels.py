"""The two inner loops of the columnar list, compiled.

NumPy alone pays a few microseconds per call, several calls per pane: too much when a pane has
a thousand events. Compiled, a pane of a thousand events costs under three microseconds
(`topwater bench core`). Both loops compare scores and times only: keys, which may be strings,
decide between items of equal score and time, and are left to the caller.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit

from topwater.model import BoolArray, FloatArray, IntArray

_compiled = njit(cache=True, nogil=True)
_BLOCK = 64
_SHORT = 4_096
_SHARE = 8

Level: TypeAlias = tuple[FloatArray, IntArray, IntArray, IntArray]
"""Ranked items: score, last window, how often beaten, row."""


@_compiled
def _sift(heap_score: FloatArray, heap_row: IntArray, time: IntArray, at: int, size: int) -> None:
    """Restore the heap below ``at``; the item of lowest score, then lowest time, is on top."""
    if at >= size:
        return
    score, row = heap_score[at], heap_row[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap_score[right] < heap_score[child]
            or (
                heap_score[right] == heap_score[child]
                and time[heap_row[right]] < time[heap_row[child]]
            )
        ):
            child = right
        if heap_score[child] > score or (
            heap_score[child] == score and time[heap_row[child]] >= time[row]
        ):
            break
        heap_score[at] = heap_score[child]
        heap_row[at] = heap_row[child]
        at = child
    heap_score[at] = score
    heap_row[at] = row


@_compiled
def _hits(score: FloatArray, i: int, stop: int, lowest: float, hits: IntArray) -> int:
    """The rows of a block at or above ``lowest``, found without a branch per row.

    Indices are unsigned: for signed ones the compiler allows for counting from the end, and then
    does not compare eight rows at a time.
    """
    n = np.uint64(0)
    at = np.uint64(i)
    if stop - i == _BLOCK:
        for u in range(np.uint64(_BLOCK)):
            n += np.uint64(score[at + u] >= lowest)
        if n == 0:
            return 0
    n = np.uint64(0)
    for row in range(at, np.uint64(stop)):
        hits[n] = row
        n += np.uint64(score[row] >= lowest)
    return int(n)


@_compiled
def _scan(  # noqa: C901  (the inner loop, kept in one piece)
    score: FloatArray,
    time: IntArray,
    start: int,
    end: int,
    floor: float,
    heap_score: FloatArray,
    heap_row: IntArray,
    hits: IntArray,
) -> tuple[int, bool]:
    """Fill the heap with the best rows of a segment; tell if one left out ties with its lowest."""
    k = len(heap_score)
    n = 0
    lowest = floor
    tie_score, tie_time, has_tie = 0.0, np.int64(0), False
    for block in range(start, end, _BLOCK):
        for h in range(_hits(score, block, min(block + _BLOCK, end), lowest, hits)):
            i = hits[h]
            x = score[i]
            if n < k:
                heap_score[n] = x
                heap_row[n] = i
                n += 1
                if n == k:
                    for at in range(k // 2 - 1, -1, -1):
                        _sift(heap_score, heap_row, time, at, k)
                    lowest = heap_score[0]
            elif x >= lowest:
                out_time = time[heap_row[0]]
                if x > lowest or time[i] > out_time:
                    heap_score[0] = x
                    heap_row[0] = i
                    _sift(heap_score, heap_row, time, 0, k)
                    if heap_score[0] == lowest and time[heap_row[0]] == out_time:
                        tie_score, tie_time, has_tie = lowest, out_time, True
                    lowest = heap_score[0]
                elif time[i] == out_time:
                    tie_score, tie_time, has_tie = lowest, out_time, True
    if n < k:
        for at in range(n // 2 - 1, -1, -1):
            _sift(heap_score, heap_row, time, at, n)
        return n, False
    return n, has_tie and tie_score == lowest and tie_time == time[heap_row[0]]


@_compiled
def _unload(
    heap_score: FloatArray,
    heap_row: IntArray,
    time: IntArray,
    rows: IntArray,
    start: int,
    size: int,
) -> None:
    """Empty the heap into ``rows[start:start+size]``, best first."""
    if size <= 32:
        for next_one in range(size):
            x, row, at = heap_score[next_one], heap_row[next_one], next_one
            while at > 0 and (
                heap_score[at - 1] < x
                or (heap_score[at - 1] == x and time[heap_row[at - 1]] < time[row])
            ):
                heap_score[at], heap_row[at] = heap_score[at - 1], heap_row[at - 1]
                at -= 1
            heap_score[at], heap_row[at] = x, row
        rows[start : start + size] = heap_row[:size]
        return
    order = np.argsort(heap_score[:size])[::-1]
    at = 0
    while at < size:
        last = at + 1
        while last < size and heap_score[order[last]] == heap_score[order[at]]:
            last += 1
        if last - at > 1:
            run = order[at:last].copy()
            order[at:last] = run[np.argsort(-time[heap_row[run]])]
        at = last
    for at in range(size):
        rows[start + at] = heap_row[order[at]]


@_compiled
def _has_equals(score: FloatArray, time: IntArray, rows: IntArray, start: int, size: int) -> bool:
    for at in range(start + 1, start + size):
        a, b = rows[at - 1], rows[at]
        if score[a] == score[b] and time[a] == time[b]:
            return True
    return False


@_compiled
def _guess(score: FloatArray, rows: IntArray, start: int, size: int, k: int) -> float:
    """A floor for the next segment that it will hardly miss, if it is like this one.

    The k-th score, lowered by the gap between it and a rank some deviations above it.
    """
    if size < k or k < 2:
        return -np.inf
    up = min(k - 1, int(4.0 * np.sqrt(k)) + 2)
    last = score[rows[start + k - 1]]
    return float(2.0 * last - score[rows[start + k - 1 - up]])


@_compiled
def best_rows(
    score: FloatArray,
    time: IntArray,
    bounds: IntArray,
    floors: FloatArray,
    k: int,
    hint: FloatArray,
) -> tuple[IntArray, IntArray, BoolArray]:
    """The rows of the k best of each segment, best first, among those at or above its floor.

    O(n + s·k·log k) for n rows in s segments of random order. ``hint`` holds one number, carried
    from call to call: a score that the next segment's best are expected to exceed. It changes
    the cost, never the result.

    Returns
    -------
    rows, sizes, tied
        Row numbers, segment after segment; how many per segment; and whether two rows of equal
        score and time compete in it, so that the keys must decide.
    """
    segments = len(bounds) - 1
    capacity = 0
    for j in range(segments):
        capacity += min(k, bounds[j + 1] - bounds[j])
    rows = np.empty(capacity, np.int64)
    sizes = np.zeros(segments, np.int64)
    tied = np.zeros(segments, np.bool_)
    heap_score = np.empty(k, np.float64)
    heap_row = np.empty(k, np.int64)
    hits = np.empty(_BLOCK, np.int64)
    written = 0
    for j in range(segments):
        start, end = bounds[j], bounds[j + 1]
        floor = max(floors[j], hint[0])
        n, tie = _scan(score, time, start, end, floor, heap_score, heap_row, hits)
        missed = n < k and floor > floors[j]
        if missed:
            # The guess was too high: this segment is poorer than those before.
            n, tie = _scan(score, time, start, end, floors[j], heap_score, heap_row, hits)
        _unload(heap_score, heap_row, time, rows, written, n)
        tied[j] = tie or _has_equals(score, time, rows, written, n)
        guess = _guess(score, rows, written, n, k)
        settled = hint[0] > -np.inf and guess > -np.inf and not missed
        hint[0] = hint[0] + 0.25 * (guess - hint[0]) if settled else guess
        sizes[j] = n
        written += n
    return rows[:written], sizes, tied


@_compiled
def _fold(
    old: Level, n: int, new: Level, start: int, stop: int, out: Level, window: int, k: int
) -> int:
    """Merge ``new[start:stop]`` with ``old[:n]``, none of which outlives it, into ``out``.

    Old items are beaten by the new ones above them, and new ones by the old ones above that
    leave no earlier. Those beaten k times, and those that left before ``window``, go.
    """
    s, e, b, r = old
    s2, e2, b2, r2 = new
    s3, e3, b3, r3 = out
    newest = np.int64(-1)
    for row in range(n):
        newest = max(newest, e[row])
    # Unsigned, as in _hits: the compiler does not check for indices from the end.
    i, j, written, one = np.uint64(0), np.uint64(start), np.uint64(0), np.uint64(1)
    old_end, new_end = np.uint64(n), np.uint64(stop)
    above, lasting = np.int64(0), np.int64(0)
    while i < old_end or j < new_end:
        # At equal scores the new one goes first: it is younger.
        if j < new_end and (i >= old_end or s2[j] >= s[i]):
            beaten = b2[j] + (lasting if e2[j] == newest else 0)
            s3[written], e3[written], b3[written], r3[written] = s2[j], e2[j], beaten, r2[j]
            written += np.uint64(beaten < k and e2[j] >= window)
            above += 1
            j += one
        else:
            beaten = b[i] + above
            s3[written], e3[written], b3[written], r3[written] = s[i], e[i], beaten, r[i]
            written += np.uint64(beaten < k and e[i] >= window)
            lasting += e[i] == newest
            i += one
    return int(written)


@_compiled
def _answer(
    old: Level, n: int, new: Level, m: int, window: int, k: int, answers: IntArray, at: int
) -> int:
    """The best k of two levels, without the expired, written to ``answers`` from ``at`` on."""
    # Unpacked once: a tuple of arrays in the loop would be counted at every step.
    s, e, _, r = old
    s2, e2, _, r2 = new
    i, j, end = 0, 0, at + k
    while at < end and (i < n or j < m):
        if j < m and (i >= n or s2[j] >= s[i]):
            if e2[j] >= window:
                answers[at] = r2[j]
                at += 1
            j += 1
        else:
            if e[i] >= window:
                answers[at] = r[i]
                at += 1
            i += 1
    return at


@_compiled
def _level(size: int) -> Level:
    return (
        np.empty(size),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )


@_compiled
def roll(
    score: FloatArray,
    leaves: IntArray,
    beaten: IntArray,
    bounds: IntArray,
    enters: IntArray,
    first: int,
    last: int,
    k: int,
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Fold runs into the candidates, window by window, and answer each window.

    The columns hold the candidates, ``[:bounds[0]]``, and then the runs, each between two
    bounds. Candidates are best first, and so is every run; ``leaves`` is the last window of an
    item, ``enters`` the first window of a run, and ``beaten`` counts the items that rank higher
    and leave no earlier, in a run those of the run. Runs are in order of their panes. Items are
    referred to by their row.

    A long list of candidates is not rewritten for every pane: new ones are collected in a level
    of their own until they are worth the merge. This makes the cost per item independent of the
    length of the window.

    Returns
    -------
    answers, sizes, kept, left, left_beaten
        The items of all answers; how many per window; how many candidates each window had; the
        candidates after the last window has expired, and how often each is beaten.
    """
    span = last - first + 1
    runs: Level = (score, leaves, beaten, np.arange(len(score)))
    old, new, spare = _level(len(score)), _level(len(score)), _level(len(score))
    n, m, run, written = bounds[0], 0, 0, 0
    old[0][:n], old[1][:n], old[2][:n], old[3][:n] = score[:n], leaves[:n], beaten[:n], runs[3][:n]
    answers = np.empty(min(k, len(score)) * span, np.int64)
    sizes = np.empty(span, np.int64)
    kept = np.empty(span, np.int64)
    for w in range(first, last + 1):
        while run < len(bounds) - 1 and enters[run] <= w:
            m = _fold(new, m, runs, bounds[run], bounds[run + 1], spare, w, k)
            new, spare = spare, new
            run += 1
        if n <= _SHORT or _SHARE * m >= n:
            # Also without new ones, so that what has left is neither kept nor counted.
            n = _fold(old, n, new, 0, m, spare, w, k)
            old, spare = spare, old
            m = 0
        end = _answer(old, n, new, m, w, k, answers, written)
        sizes[w - first], kept[w - first] = end - written, n + m
        written = end
    n = _fold(old, n, new, 0, m, spare, last + 1, k)
    return answers[:written], sizes, kept, spare[3][:n].copy(), spare[2][:n].copy()
