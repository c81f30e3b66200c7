"""The two inner loops of the columnar list, compiled.

NumPy alone pays a few microseconds per call, several calls per pane: too much when a pane has
a thousand events. Compiled, a pane of a thousand events costs under three microseconds
(`topwater bench core`). Both loops compare scores and times only: keys, which may be strings,
decide between items of equal score and time, and are left to the caller.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from topwater.model import BoolArray, FloatArray, IntArray

_compiled = njit(cache=True, nogil=True)
_BLOCK = 64


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
    """The rows of a block at or above ``lowest``, found without a branch per row."""
    n = 0
    if stop - i == _BLOCK:
        for u in range(_BLOCK):
            n += score[i + u] >= lowest
        if n == 0:
            return 0
    n = 0
    for row in range(i, stop):
        hits[n] = row
        n += score[row] >= lowest
    return n


@_compiled
def _scan(  # noqa: C901  (the inner loop, kept in one piece)
    score: FloatArray,
    time: IntArray,
    start: int,
    end: int,
    floor: float,
    heap_score: FloatArray,
    heap_row: IntArray,
) -> tuple[int, bool]:
    """Fill the heap with the best rows of a segment; tell if one left out ties with its lowest."""
    k = len(heap_score)
    n = 0
    lowest = floor
    hits = np.empty(_BLOCK, np.int64)
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
        for left in range(size, 0, -1):
            rows[start + left - 1] = heap_row[0]
            heap_score[0] = heap_score[left - 1]
            heap_row[0] = heap_row[left - 1]
            _sift(heap_score, heap_row, time, 0, left - 1)
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
    score: FloatArray, time: IntArray, bounds: IntArray, floors: FloatArray, k: int
) -> tuple[IntArray, IntArray, BoolArray]:
    """The rows of the k best of each segment, best first, among those at or above its floor.

    O(n + s·k·log k) for n rows in s segments of random order.

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
    written = 0
    guess = -np.inf
    for j in range(segments):
        start, end = bounds[j], bounds[j + 1]
        floor = max(floors[j], guess)
        n, tie = _scan(score, time, start, end, floor, heap_score, heap_row)
        if n < k and floor > floors[j]:
            # The guess was too high: this segment is poorer than the last one.
            n, tie = _scan(score, time, start, end, floors[j], heap_score, heap_row)
        _unload(heap_score, heap_row, time, rows, written, n)
        tied[j] = tie or _has_equals(score, time, rows, written, n)
        guess = _guess(score, rows, written, n, k)
        sizes[j] = n
        written += n
    return rows[:written], sizes, tied


@_compiled
def _drop(s: FloatArray, p: IntArray, b: IntArray, r: IntArray, n: int, low: int) -> int:
    """Drop the candidates of panes before ``low``, in place."""
    out = 0
    for i in range(n):
        if p[i] >= low:
            s[out], p[out], b[out], r[out] = s[i], p[i], b[i], r[i]
            out += 1
    return out


@_compiled
def _fold(
    s: FloatArray,
    p: IntArray,
    b: IntArray,
    r: IntArray,
    n: int,
    s2: FloatArray,
    p2: IntArray,
    b2: IntArray,
    r2: IntArray,
    run_score: FloatArray,
    start: int,
    stop: int,
    pane: int,
    offset: int,
    low: int,
    k: int,
) -> int:
    """Merge one run into the candidates; drop the expired, and those beaten k times."""
    i, j, out = 0, start, 0
    while i < n or j < stop:
        # At equal scores the run goes first: its pane is younger.
        if j < stop and (i >= n or run_score[j] >= s[i]):
            s2[out], p2[out], b2[out], r2[out] = run_score[j], pane, j - start, offset + j
            out += 1
            j += 1
            continue
        if j - start >= k:
            break
        times_beaten = b[i] + (j - start)
        if times_beaten < k and p[i] >= low:
            s2[out], p2[out], b2[out], r2[out] = s[i], p[i], times_beaten, r[i]
            out += 1
        i += 1
    return out


@_compiled
def roll(
    score: FloatArray,
    pane: IntArray,
    beaten: IntArray,
    run_score: FloatArray,
    run_panes: IntArray,
    run_bounds: IntArray,
    first: int,
    last: int,
    panes_per_step: int,
    panes_per_window: int,
    k: int,
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Fold runs into the candidates, window by window, and answer each window.

    Candidates are best first; ``beaten`` counts the items of the same or a later pane that rank
    higher. Every run is best first and of a later pane than all candidates and runs before it.
    Items are referred to by number: candidates from 0 on, then the runs' items.

    O(candidates + k) per pane and per window.

    Returns
    -------
    answers, sizes, kept, left, left_beaten
        The items of all answers; how many per window; how many candidates each window had; the
        candidates after the last window has expired, and how often each is beaten.
    """
    n = len(score)
    span = last - first + 1
    most = n + len(run_score)
    answers = np.empty(min(k, most) * span, np.int64)
    sizes = np.zeros(span, np.int64)
    kept = np.zeros(span, np.int64)
    s, p, b, r = np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64), np.arange(most)
    s[:n], p[:n], b[:n] = score, pane, beaten
    s2, p2, b2, r2 = (
        np.empty(most),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    run = 0
    written = 0
    for w in range(first, last + 1):
        low = w * panes_per_step
        high = low + panes_per_window - 1
        fresh = False
        while run < len(run_panes) and run_panes[run] <= high:
            if run_panes[run] >= low:
                n = _fold(
                    s,
                    p,
                    b,
                    r,
                    n,
                    s2,
                    p2,
                    b2,
                    r2,
                    run_score,
                    run_bounds[run],
                    run_bounds[run + 1],
                    run_panes[run],
                    len(score),
                    low,
                    k,
                )
                s, s2, p, p2, b, b2, r, r2 = s2, s, p2, p, b2, b, r2, r
                fresh = True
            run += 1
        if not fresh:
            n = _drop(s, p, b, r, n, low)
        size = min(k, n)
        answers[written : written + size] = r[:size]
        written += size
        sizes[w - first] = size
        kept[w - first] = n
    n = _drop(s, p, b, r, n, (last + 1) * panes_per_step)
    return answers[:written], sizes, kept, r[:n].copy(), b[:n].copy()
