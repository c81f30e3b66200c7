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
from topwater.standing import candidate_bags as bags
from topwater.standing.costs import STRETCH, cost_of, costs_of
from topwater.standing.kernel_records import (
    NEVER,
    PROBABILISTIC,
    RELAXED,
    Block,
    CostRule,
    Member,
    Record,
    Records,
    Workspace,
)
from topwater.standing.numba_options import compiled
from topwater.standing.order_statistics import undominated
from topwater.standing.recent_filter import first_from

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
def seems_ordered(member: Member, block: Block, row: int, scratch: FloatArray) -> bool:
    """Have the costs of the objects before ``row`` too few turning points for a random order?"""
    first = max(row - _SAMPLE, member.record["born"] - block.origin, 0)
    size = row - first
    if size < _LEAST:
        return False
    costs_of(member.rule, block.columns, first, size, scratch)
    return _smooth(scratch, size)


@compiled
def window_seems_ordered(member: Member, block: Block, row: int, scratch: FloatArray) -> bool:
    """Do costs rise, fall or swing over the window before ``row``, by 64 of its objects?"""
    first = first_inside(member.record, block.stamps, row, block.origin)
    size = min(_SAMPLE, row - first)
    if size < _LEAST:
        return False
    for i in range(size):
        at = first + i * (row - first) // size
        scratch[i] = cost_of(member.rule, block.columns, at)
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
def least_refused(query: Record, minima: FloatArray) -> float:
    """The least that a refused object of the window can cost."""
    least = np.inf
    for slot in range(query["ring"], query["ring"] + query["slots"]):
        least = min(least, minima[slot])
    return least


@compiled
def begin_portion(query: Record, minima: FloatArray, current: int) -> None:
    """Begin a portion: the bounds of those that have left the window are forgotten."""
    begun = max(query["current"] + 1, current - query["slots"] + 1)
    for portion in range(begun, current + 1):
        minima[query["ring"] + portion % query["slots"]] = np.inf
    query["current"] = current


@compiled
def cut_into_portions(
    query: Record, minima: FloatArray, length: int, portions: int, bound: float
) -> None:
    """Cut a length of stamps into portions, each with this bound."""
    query["portion"] = max(1, length // portions)
    query["slots"] = length // query["portion"] + 3
    for slot in range(query["ring"], query["ring"] + query["slots"]):
        minima[slot] = bound


@compiled
def turn_exact(member: Member, block: Block, row: int, work: Workspace) -> bool:
    """Make the skyband of the window that ends before ``row``. False: the bag needs room."""
    query, band, pool = member.record, member.band, member.pool
    _to_front(band, pool)
    first = first_inside(query, block.stamps, row, block.origin)
    to = _write_skyband(member, block, first, row, work)
    if to < 0:
        return False
    base, k = band["base"], band["k"]
    band["tail"] = base + band["room"] - to
    for at in range(band["tail"]):
        pool[base + at] = pool[to + at]
    band["rule"] = RELAXED
    band["limit"] = band["tail"] + max(int(np.ceil(member.gamma * band["tail"])), 2 * k)
    band["bound"] = np.inf
    band["size"] = band["covers"] = 0
    band["oldest"] = NEVER
    _clear(member.filter)
    query["buffer"] = query["recent"]
    cut_into_portions(query, member.minima, query["recent"], 6, np.inf)
    query["current"] = -NEVER
    query["watch"] = EXACT
    query["alarm"] = block.stamps[row - 1]
    return True


@compiled
def _write_skyband(member: Member, block: Block, first: int, end: int, work: Workspace) -> int:
    """Write the skyband of rows at the end of the bag's room; where it begins, -1 without room.

    The youngest first. What was in the bag stays at the front until it is done, for its marks, and
    so that the call can be repeated.
    """
    band, pool, scratch = member.band, member.pool, work.hits.scratch
    base, old, k = band["base"], band["tail"], band["k"]
    to, size = base + band["room"], 0
    while end > first:
        begin = max(first, end - STRETCH)
        costs_of(member.rule, block.columns, begin, end - begin, scratch)
        for at in range(end - 1, begin - 1, -1):
            cost = scratch[at - begin]
            if cost == cost and undominated(work.heap, size, k, cost):
                size = min(size + 1, k)
                to -= 1
                if to < base + old:
                    return -1
                before = bags.position_of(band, pool, block.origin + at)
                mark = pool[before]["mark"] if before >= 0 else 0
                bags.write_entry(pool[to], cost, block.origin + at, block.stamps[at], mark)
        end = begin
    return int(to)


@compiled
def turn_watched(member: Member, block: Block, row: int, work: Workspace) -> bool:
    """Keep only the best of the window that ends before ``row``, if its order seems random."""
    query, band, pool = member.record, member.band, member.pool
    if window_seems_ordered(member, block, row, work.hits.scratch):
        query["alarm"] = block.stamps[row - 1]
        return False
    _to_front(band, pool)
    base, old, keep = band["base"], band["tail"], query["keep"]
    if 2 * old + keep > band["room"]:
        return False
    first = first_inside(query, block.stamps, row, block.origin)
    size = _least_costs(member.rule, block.columns, first, row, keep, work)
    pivot = work.heap[0] if size == keep else np.inf
    ties = 0
    for i in range(size):
        ties += int(work.heap[i] == pivot)
    band["tail"] = _write_best(member, block, first, row, pivot, ties, work.hits.scratch)
    for at in range(band["tail"]):
        pool[base + at] = pool[base + old + at]
    band["rule"] = PROBABILISTIC
    band["limit"] = keep
    band["bound"] = pivot
    # Those that waited behind the k best were the next of the skyband, not of all these.
    band["size"] = min(band["size"], band["k"])
    band["covers"] = 0
    _clear(member.filter)
    query["buffer"] = 0
    cut_into_portions(query, member.minima, query["width"], PORTIONS, pivot)
    query["current"] = block.stamps[row - 1] // query["portion"]
    query["watch"] = WATCHED
    return True


@compiled
def _least_costs(
    rule: CostRule, columns: FloatArray, first: int, end: int, keep: int, work: Workspace
) -> int:
    """Bring the least costs of rows into the heap, at most ``keep``; how many."""
    scratch, size, begin = work.hits.scratch, 0, first
    while begin < end:
        stop = min(end, begin + STRETCH)
        costs_of(rule, columns, begin, stop - begin, scratch)
        for i in range(stop - begin):
            if scratch[i] == scratch[i] and undominated(work.heap, size, keep, scratch[i]):
                size = min(size + 1, keep)
        begin = stop
    return size


@compiled
def _write_best(
    member: Member,
    block: Block,
    first: int,
    end: int,
    pivot: float,
    ties: int,
    scratch: FloatArray,
) -> int:
    """Write the rows below a cost, and some that have it, behind what is in the bag; how many."""
    band, pool = member.band, member.pool
    base, old = band["base"], band["tail"]
    to, begin, before = base + old, first, base
    while begin < end:
        stop = min(end, begin + STRETCH)
        costs_of(member.rule, block.columns, begin, stop - begin, scratch)
        for i in range(stop - begin):
            seq = block.origin + begin + i
            while before < base + old and pool[before]["seq"] < seq:
                before += 1
            mark = 0
            if before < base + old and pool[before]["seq"] == seq:
                mark = pool[before]["mark"]
            tied = scratch[i] == pivot and ties > 0
            ties -= int(tied)
            # What was reported may not be forgotten, or it would be reported again.
            if tied or scratch[i] < pivot or mark != 0:
                bags.write_entry(pool[to], scratch[i], seq, block.stamps[begin + i], mark)
                to += 1
        begin = stop
    return int(to - base - old)


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
