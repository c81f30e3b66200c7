"""Compiled: the k least costs so far, and the cost that a given number are not above."""

from __future__ import annotations

from typing import Final

import numpy as np

from topwater.model import FloatArray
from topwater.standing.numba_options import compiled

_HALVES: Final = 8


@compiled
def _sift_down(heap: FloatArray, size: int, value: float) -> None:
    """Replace the top of the heap, whose largest is on top."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@compiled
def _sift_up(heap: FloatArray, at: int, value: float) -> None:
    while at > 0:
        parent = (at - 1) // 2
        if heap[parent] >= value:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = value


@compiled
def undominated(heap: FloatArray, size: int, k: int, cost: float) -> bool:
    """Is one that is older than all in the heap beaten by fewer than k of them? Adds it if so.

    The caller counts: the heap grows by one while ``size`` is below k.
    """
    if size < k:
        _sift_up(heap, size, cost)
        return True
    if cost < heap[0]:
        _sift_down(heap, k, cost)
        return True
    return False


@compiled
def select(values: FloatArray, size: int, rank: int) -> float:
    """The value that ``rank`` others of the first ``size`` are not above; reorders them."""
    low, high = 0, size - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return float(values[rank])


@compiled
def nearly_selected(values: FloatArray, size: int, least: int, most: int) -> float:
    """A number that between ``least`` and ``most`` of the values are not above; reorders them.

    By halves, as counting needs no branch. Where that leads nowhere, exactly ``least``; more only
    if some are equal.
    """
    n = np.uint64(size)
    low = high = values[0]
    for i in range(n):
        low = values[i] if values[i] < low else low
        high = values[i] if values[i] > high else high
    for _ in range(_HALVES):
        middle = 0.5 * low + 0.5 * high
        count = 0
        for i in range(n):
            count += int(values[i] <= middle)
        if least <= count <= most:
            return float(middle)
        if count < least:
            low = middle
        else:
            high = middle
    return select(values, size, least - 1)
