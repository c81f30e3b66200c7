"""Compiled: ``auto``, which takes the probabilistic bag only while it can't be wrong.

A query is *watched* while it has a probabilistic bag: of each portion of its window the bound is
known below which nothing was refused. Before an object moves up into the top, it is compared with
the lowest of these bounds. If it costs less, no refused object could have been better, and the
answer is exact. If not, the query turns *exact*: its skyband is made anew from the objects of the
window, which are all at hand, and kept behind a filter from then on. So no answer is wrong,
whatever the order of the stream.

The order is watched as well, for the sake of speed: when a portion begins, the turning points of
the costs of the last 64 objects are counted. In random order two of three inner values are turning
points; if there are fewer by four standard deviations (which chance does once in 30,000 portions),
the query turns exact before it must, or stays so. After a whole window without such a sign it is
watched again; unless 64 objects from all over that window have too few turning points either, or
rise or fall more than chance would (the Mann-Kendall test, again four standard deviations).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing import bags
from topwater.standing.bags import NEVER, PROBABILISTIC, RELAXED, Record, Records
from topwater.standing.costs import STRETCH, compiled, cost_of, costs_of
from topwater.standing.filter_kernels import first_from
from topwater.standing.selection import undominated

UNWATCHED: Final = 0
WATCHED: Final = 1
EXACT: Final = 2
DOUBTED: Final = 3
"""What a query is: not of this kind; with a probabilistic bag; with a skyband; about to turn."""

PORTIONS: Final = 16
"""Of a watched window."""

_SAMPLE: Final = 64
_LEAST: Final = 16
_ALARM: Final = 4.0


@compiled
def first_inside(query: Record, stamps: IntArray, row: int, origin: int) -> int:
    """The first row of the window whose last row is before ``row``."""
    cutoff = stamps[row - 1] - query["width"]
    return first_from(stamps, max(0, query["born"] - origin), row, cutoff + 1)


@compiled
def clings(
    query: Record,
    columns: FloatArray,
    point: FloatArray,
    weight: FloatArray,
    row: int,
    scratch: FloatArray,
    origin: int,
) -> bool:
    """Have the costs of the objects before ``row`` too few turning points for a random order?"""
    first = max(row - _SAMPLE, query["born"] - origin, 0)
    size = row - first
    if size < _LEAST:
        return False
    costs_of(query["kind"], columns, query["column"], first, size, point, weight, scratch)
    return _smooth(scratch, size)


@compiled
def drifts(
    query: Record,
    columns: FloatArray,
    point: FloatArray,
    weight: FloatArray,
    stamps: IntArray,
    row: int,
    scratch: FloatArray,
    origin: int,
) -> bool:
    """Do costs rise, fall or swing over the window before ``row``, by 64 of its objects?"""
    first = first_inside(query, stamps, row, origin)
    size = min(_SAMPLE, row - first)
    if size < _LEAST:
        return False
    for i in range(size):
        at = first + i * (row - first) // size
        scratch[i] = cost_of(query["kind"], columns, query["column"], at, point, weight)
    balance = 0
    for i in range(size):
        for j in range(i):
            balance += int(scratch[i] > scratch[j]) - int(scratch[i] < scratch[j])
    spread = np.sqrt(size * (size - 1.0) * (2.0 * size + 5.0) / 18.0)
    return bool(abs(balance) > _ALARM * spread) or _smooth(scratch, size)


@compiled
def _smooth(costs: FloatArray, size: int) -> bool:
    turns = 0
    for i in range(1, size - 1):
        rises, falls = costs[i] > costs[i - 1], costs[i] < costs[i - 1]
        then_falls, then_rises = costs[i + 1] < costs[i], costs[i + 1] > costs[i]
        turns += int((rises and then_falls) or (falls and then_rises))
    expected = 2.0 * (size - 2) / 3.0
    return bool(turns < expected - _ALARM * np.sqrt((16.0 * size - 29.0) / 90.0))


@compiled
def refused_from(query: Record, minima: FloatArray) -> float:
    """The least that a refused object of the window can cost."""
    least = np.inf
    for slot in range(query["ring"], query["ring"] + query["slots"]):
        least = min(least, minima[slot])
    return least


@compiled
def watch_portion(query: Record, minima: FloatArray, current: int) -> None:
    """Begin a portion: the bounds of those that have left the window are forgotten."""
    begun = max(query["current"] + 1, current - query["slots"] + 1)
    for portion in range(begun, current + 1):
        minima[query["ring"] + portion % query["slots"]] = np.inf
    query["current"] = current


@compiled
def cut(query: Record, minima: FloatArray, length: int, portions: int, bound: float) -> None:
    """Cut a length of stamps into portions, each with this bound."""
    query["portion"] = max(1, length // portions)
    query["slots"] = length // query["portion"] + 3
    for slot in range(query["ring"], query["ring"] + query["slots"]):
        minima[slot] = bound


@compiled
def turn_exact(
    query: Record,
    band: Record,
    filter_: Record,
    pool: Records,
    minima: FloatArray,
    columns: FloatArray,
    point: FloatArray,
    weight: FloatArray,
    stamps: IntArray,
    origin: int,
    row: int,
    gamma: float,
    scratch: FloatArray,
    heap: FloatArray,
) -> bool:
    """Make the skyband of the window that ends before ``row``. False: the bag needs room.

    It is written from the end of the bag's room, the youngest first; what was there stays at the
    front until it is done, for its marks, and so that the call can be repeated.
    """
    _to_front(band, pool)
    base, old, k = band["base"], band["tail"], band["k"]
    first = first_inside(query, stamps, row, origin)
    to, size, end = base + band["room"], 0, row
    while end > first:
        begin = max(first, end - STRETCH)
        costs_of(
            query["kind"], columns, query["column"], begin, end - begin, point, weight, scratch
        )
        for at in range(end - 1, begin - 1, -1):
            cost = scratch[at - begin]
            if cost == cost and undominated(heap, size, k, cost):
                size = min(size + 1, k)
                to -= 1
                if to < base + old:
                    return False
                before = bags.position_of(band, pool, origin + at)
                mark = pool[before]["mark"] if before >= 0 else 0
                bags.write(pool[to], cost, origin + at, stamps[at], mark)
        end = begin
    band["tail"] = base + band["room"] - to
    for at in range(band["tail"]):
        pool[base + at] = pool[to + at]
    band["rule"] = RELAXED
    band["limit"] = band["tail"] + max(int(np.ceil(gamma * band["tail"])), 2 * k)
    band["bound"] = np.inf
    band["size"] = band["covers"] = 0
    band["oldest"] = NEVER
    _clear(filter_)
    query["buffer"] = query["recent"]
    cut(query, minima, query["recent"], 6, np.inf)
    query["current"] = -NEVER
    query["watch"] = EXACT
    query["alarm"] = stamps[row - 1]
    return True


@compiled
def turn_watched(  # noqa: C901  (two passes over the window)
    query: Record,
    band: Record,
    filter_: Record,
    pool: Records,
    minima: FloatArray,
    columns: FloatArray,
    point: FloatArray,
    weight: FloatArray,
    stamps: IntArray,
    origin: int,
    row: int,
    scratch: FloatArray,
    heap: FloatArray,
) -> bool:
    """Keep only the best of the window that ends before ``row``, if its order seems random."""
    if drifts(query, columns, point, weight, stamps, row, scratch, origin):
        query["alarm"] = stamps[row - 1]
        return False
    _to_front(band, pool)
    base, old, keep = band["base"], band["tail"], query["keep"]
    if 2 * old + keep > band["room"]:
        return False
    first = first_inside(query, stamps, row, origin)
    size = 0
    begin = first
    while begin < row:
        end = min(row, begin + STRETCH)
        costs_of(
            query["kind"], columns, query["column"], begin, end - begin, point, weight, scratch
        )
        for i in range(end - begin):
            if scratch[i] == scratch[i] and undominated(heap, size, keep, scratch[i]):
                size = min(size + 1, keep)
        begin = end
    pivot = heap[0] if size == keep else np.inf
    ties = 0
    for i in range(size):
        ties += int(heap[i] == pivot)
    to, begin, before = base + old, first, base
    while begin < row:
        end = min(row, begin + STRETCH)
        costs_of(
            query["kind"], columns, query["column"], begin, end - begin, point, weight, scratch
        )
        for i in range(end - begin):
            seq = origin + begin + i
            while before < base + old and pool[before]["seq"] < seq:
                before += 1
            mark = 0
            if before < base + old and pool[before]["seq"] == seq:
                mark = pool[before]["mark"]
            tied = scratch[i] == pivot and ties > 0
            ties -= int(tied)
            # What was told may not be forgotten, or it would be told again.
            if tied or scratch[i] < pivot or mark != 0:
                bags.write(pool[to], scratch[i], seq, stamps[begin + i], mark)
                to += 1
        begin = end
    band["tail"] = to - base - old
    for at in range(band["tail"]):
        pool[base + at] = pool[base + old + at]
    band["rule"] = PROBABILISTIC
    band["limit"] = keep
    band["bound"] = pivot
    # Those that waited behind the k best were the next of the skyband, not of all these.
    band["size"] = min(band["size"], band["k"])
    band["covers"] = 0
    _clear(filter_)
    query["buffer"] = 0
    cut(query, minima, query["width"], PORTIONS, pivot)
    query["current"] = stamps[row - 1] // query["portion"]
    query["watch"] = WATCHED
    return True


@compiled
def _clear(bag: Record) -> None:
    bag["head"] = bag["tail"] = bag["size"] = 0
    bag["covers"] = 1
    bag["oldest"] = NEVER
    bag["bound"] = np.inf


@compiled
def _to_front(bag: Record, pool: Records) -> None:
    head, base = bag["head"], bag["base"]
    for at in range(base + head, base + bag["tail"]):
        pool[at - head] = pool[at]
    bag["head"] = 0
    bag["tail"] -= head
