"""Compiled: what an object costs a query, 64 objects at a time.

The less it costs, the better an object ranks. A distance ranks by its square where it can, which
spares the root; a sum that should be large by its negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
from numba import njit

from topwater.model import FloatArray, IntArray

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile, without reference counts, which would cost more than the work itself.

    Hence compiled functions may not allocate: what they need is handed to them.
    """
    return cast("F", njit(**_OPTIONS)(function))


EUCLIDEAN: Final = 0
LARGEST: Final = 1
ABSOLUTE: Final = 2
SQUARES: Final = 3
LINEAR: Final = 4
"""How a cost is made: a straight distance, the weighted ones, or a weighted sum."""

CHUNK: Final = 64
STRETCH: Final = 512
_CODE: Final = 1 << 32


@compiled
def cost_of(
    kind: int,
    columns: FloatArray,
    base: int,
    row: int,
    point: FloatArray,
    weight: FloatArray,
) -> float:
    """What one object costs: the same bits as ``costs_of``. The first column is ``base``."""
    total, first, at = 0.0, np.uint64(base), np.uint64(row)
    if kind == EUCLIDEAN:
        for d in range(np.uint64(len(point))):
            apart = columns[first + d, at] - point[d]
            total += apart * apart
        return total
    for d in range(np.uint64(len(point))):
        value, w = columns[first + d, at], weight[d]
        if kind == LINEAR:
            total += w * value
        elif kind == SQUARES:
            apart = value - point[d]
            total += w * (apart * apart)
        elif kind == ABSOLUTE:
            total += w * abs(value - point[d])
        else:
            total = max(total, w * abs(value - point[d]))
    return total


@compiled
def costs_of(  # noqa: C901  (one loop per kind, else the kind is asked for each row)
    kind: int,
    columns: FloatArray,
    base: int,
    first: int,
    size: int,
    point: FloatArray,
    weight: FloatArray,
    out: FloatArray,
) -> None:
    """What ``size`` objects from row ``first`` on cost, into ``out``.

    Indices are unsigned, else the compiler allows for counting from the end and takes one row at
    a time. Each sum is in the order of the columns, so that every path gives the same bits.
    """
    at, n, b = np.uint64(first), np.uint64(size), np.uint64(base)
    if kind == EUCLIDEAN and len(point) == 2:
        px, py, second = point[0], point[1], b + np.uint64(1)
        for j in range(n):
            dx = columns[b, at + j] - px
            dy = columns[second, at + j] - py
            out[j] = dx * dx + dy * dy
        return
    for j in range(n):
        out[j] = 0.0
    for d in range(len(point)):
        column, p, w = b + np.uint64(d), point[d], weight[d]
        if kind == EUCLIDEAN:
            for j in range(n):
                apart = columns[column, at + j] - p
                out[j] += apart * apart
        elif kind == LARGEST:
            for j in range(n):
                out[j] = max(out[j], w * abs(columns[column, at + j] - p))
        elif kind == ABSOLUTE:
            for j in range(n):
                out[j] += w * abs(columns[column, at + j] - p)
        elif kind == SQUARES:
            for j in range(n):
                apart = columns[column, at + j] - p
                out[j] += w * (apart * apart)
        else:
            for j in range(n):
                out[j] += w * columns[column, at + j]


@compiled
def _scan_two(
    columns: FloatArray,
    base: int,
    first: int,
    last: int,
    px: float,
    py: float,
    bound: float,
    rows: IntArray,
    costs: FloatArray,
) -> int:
    """``scan`` for the straight distance in the plane, with nothing stored for those refused."""
    x, y = np.uint64(base), np.uint64(base + 1)
    found = 0
    row = first
    while row + CHUNK <= last:
        at = np.uint64(row)
        code = np.int64(0)
        for j in range(np.uint64(CHUNK)):
            dx = columns[x, at + j] - px
            dy = columns[y, at + j] - py
            code += np.int64(dx * dx + dy * dy <= bound) * (np.int64(j) + _CODE)
        if code:
            start, hits = row, code >> 32
            if hits == 1:
                start += int(code & (_CODE - 1))
            while hits > 0:
                dx = columns[x, np.uint64(start)] - px
                dy = columns[y, np.uint64(start)] - py
                rows[found] = start
                costs[found] = dx * dx + dy * dy
                hit = int(costs[found] <= bound)
                found += hit
                hits -= hit
                start += 1
        row += CHUNK
    while row < last:
        dx = columns[x, np.uint64(row)] - px
        dy = columns[y, np.uint64(row)] - py
        rows[found] = row
        costs[found] = dx * dx + dy * dy
        found += int(costs[found] <= bound)
        row += 1
    return found


@compiled
def scan(
    kind: int,
    columns: FloatArray,
    base: int,
    first: int,
    last: int,
    point: FloatArray,
    weight: FloatArray,
    bound: float,
    rows: IntArray,
    costs: FloatArray,
    scratch: FloatArray,
) -> int:
    """The rows from ``first`` up to ``last`` that cost at most ``bound``; how many there are.

    A chunk is tested as a whole: how many of it are not above the bound, and the sum of their
    places. Nearly always there is none, or one, whose place is then the sum: there is no second
    look.
    """
    if kind == EUCLIDEAN and len(point) == 2:
        return _scan_two(columns, base, first, last, point[0], point[1], bound, rows, costs)
    found = 0
    row = first
    while row < last:
        size = min(STRETCH, last - row)
        costs_of(kind, columns, base, row, size, point, weight, scratch)
        chunk = 0
        while chunk + CHUNK <= size:
            at = np.uint64(chunk)
            code = np.int64(0)
            for j in range(np.uint64(CHUNK)):
                code += np.int64(scratch[at + j] <= bound) * (np.int64(j) + _CODE)
            if code:
                start, hits = chunk, code >> 32
                if hits == 1:
                    start += int(code & (_CODE - 1))
                while hits > 0:
                    rows[found] = row + start
                    costs[found] = scratch[start]
                    hit = int(scratch[start] <= bound)
                    found += hit
                    hits -= hit
                    start += 1
            chunk += CHUNK
        while chunk < size:
            rows[found] = row + chunk
            costs[found] = scratch[chunk]
            found += int(scratch[chunk] <= bound)
            chunk += 1
        row += size
    return found
