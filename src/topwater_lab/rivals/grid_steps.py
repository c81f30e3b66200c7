"""Compiled: the steps of CPM/w and SNN over a grid, object by object.

Both know all that costs less than a *bound*: CPM/w the top k alone, whose last is the bound; SNN of
it what fewer than k younger ones beat. An object is shown only to the queries that watch its cell.
When fewer than k are known though the window has more, the grid is searched from the query
outwards, and the k-th found is the new bound.

No object is told twice. A bag of CPM/w may hold more than what is known, and what it holds besides
was in the top before. A bag of SNN holds nothing above its bound. What was in the top once, fewer
than k older ones beat, and if fewer than k younger ones do too, it is among the best 2k of the bag
and stays when the bound is lowered; if more do, it never comes back. A search finds only what costs
as much as the bound or more, when all that was in the bag is in the top.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topwater.model import FloatArray
from topwater.standing import candidate_bags as bags
from topwater.standing.costs import cost_of
from topwater.standing.kernel_records import (
    CRAMPED,
    FED,
    FULL,
    NEVER,
    REPORTED,
    Arrival,
    Record,
    Records,
)
from topwater.standing.numba_options import compiled, inlined
from topwater.standing.order_statistics import select
from topwater.standing.query_step import report
from topwater.standing.recent_filter import first_from
from topwater_lab.rivals.grid_search import (
    Scene,
    Stream,
    Watchers,
    rule_of,
    search,
    watch_anew,
)
from topwater_lab.rivals.window_grid import cell_of, store

SCARCE: Final = 3
"""How a call ended: the storage of the grid is full."""

BLOCK: Final = 64
_LOWEST: Final = np.array(
    [int(0x03F79D71B4CB0A89 * (1 << bit) % (1 << 64)) >> 58 for bit in range(64)]
).argsort()
"""Which bit is set, by the leading bits of its product with a de Bruijn sequence."""


@compiled
def _has_room_for(bag: Record, pool: Records, need: int) -> bool:
    """Are there ``need`` free places at the end? Moves everything to the front if that helps."""
    if bag["tail"] + need <= bag["room"]:
        return True
    head, base = bag["head"], bag["base"]
    if bag["tail"] - head + need > bag["room"]:
        return False
    for at in range(base + head, base + bag["tail"]):
        pool[at - head] = pool[at]
    bag["head"] = 0
    bag["tail"] -= head
    return True


@compiled
def _set_bound(query: Record, bag: Record, pool: Records) -> None:
    """The last of a full top is the bound; there is none while the top is not full."""
    query["bound"] = bags.kth_cost(bag, pool)


@compiled
def _tighten(query: Record, bag: Record, pool: Records, scratch: FloatArray) -> None:
    """Lower the bound to a cost that 2k + 2 in the bag are not above, and forget the rest."""
    base, k = bag["base"], bag["k"]
    first, end = base + bag["head"], base + bag["tail"]
    for at in range(first, end):
        scratch[at - first] = pool[at]["cost"]
    pivot = select(scratch, end - first, 2 * k + 1)
    if pivot >= query["bound"]:
        return
    query["bound"] = pivot
    to = first
    for at in range(first, end):
        if pool[at]["cost"] <= pivot:
            if to != at:
                pool[to] = pool[at]
            to += 1
    bag["tail"] = to - base


@compiled
def _condense(
    query: Record, bag: Record, pool: Records, skyband: bool, scratch: FloatArray, heap: FloatArray
) -> None:
    """Forget what k younger ones beat. If SNN still has many, lower its bound.

    Less is lost by a search now and then than by looking at many objects that never rank.
    """
    k = bag["k"]
    bags.prune(bag, pool, heap)
    if skyband and bag["size"] == k and bag["tail"] - bag["head"] > 3 * k + 4:
        _tighten(query, bag, pool, scratch)
    bag["limit"] = bag["tail"] - bag["head"] + k // 2 + 4


@inlined
def _promote(q: int, bag: Record, pool: Records, seq: int, results: Records, size: int) -> int:
    """Fill the top from what SNN knows."""
    while bag["size"] < bag["k"]:
        at = bags.next_best(bag, pool)
        if at < 0:
            break
        entry = pool[at]
        bags.top_insert(bag, pool, entry["cost"], entry["seq"], entry["stamp"])
        if entry["mark"] & REPORTED == 0:
            entry["mark"] |= REPORTED
            size = report(results, size, q, entry["seq"], seq, entry["cost"])
    return size


@inlined
def _remember_found(
    q: int, bag: Record, pool: Records, before: int, seq: int, results: Records, size: int
) -> int:
    """Remember what a search brought into the top, and report what was not there before."""
    for at in range(bag["top"] + before, bag["top"] + bag["size"]):
        entry = pool[at]
        known = bags.position_of(bag, pool, entry["seq"])
        if known >= 0 and pool[known]["mark"] & REPORTED:
            continue
        size = report(results, size, q, entry["seq"], seq, entry["cost"])
        if known >= 0:
            pool[known]["mark"] |= REPORTED
        else:
            bags.insert(bag, pool, entry["cost"], entry["seq"], entry["stamp"], REPORTED)
    return size


@inlined
def _arrive(
    q: int,
    bag: Record,
    pool: Records,
    skyband: bool,
    arrival: Arrival,
    results: Records,
    size: int,
) -> int:
    """Let a new object into the bag, and into the top if it ranks there for sure.

    All that CPM/w knows is in its top, so it does.
    """
    cost, seq, stamp = arrival.cost, arrival.seq, arrival.stamp
    new = bags.insert(bag, pool, cost, seq, stamp, 0)
    last = bag["top"] + bag["size"] - 1
    if not skyband or (
        bag["size"] > 0 and bags.better(cost, seq, pool[last]["cost"], pool[last]["seq"])
    ):
        bags.top_insert(bag, pool, cost, seq, stamp)
        pool[new]["mark"] = REPORTED
        size = report(results, size, q, seq, seq, cost)
    return size


@inlined
def _refill(q: int, row: int, scene: Scene, size: int) -> int:
    """Search, if the window has more than what is known, and set the bound."""
    watchers, stream = scene.watchers, scene.stream
    query, bag = watchers.queries[q], watchers.bags[q]
    stamps, origin, before = stream.stamps, stream.origin, bag["size"]
    cutoff = stamps[row] - query["width"]
    oldest = origin + first_from(stamps, stream.cursor[2] - origin, row + 1, cutoff + 1)
    oldest = max(oldest, query["born"])
    if origin + row + 1 - oldest > before:
        search(q, scene, oldest)
        results = scene.space.results
        size = _remember_found(q, bag, watchers.pool, before, origin + row, results, size)
    _set_bound(query, bag, watchers.pool)
    return size


@inlined
def _step(q: int, cost: float, row: int, scene: Scene, size: int) -> tuple[int, int]:
    """One step of a query: who leaves, who comes, who moves up. How it ended; results."""
    watchers, space, skyband = scene.watchers, scene.space, scene.skyband
    query, bag, pool = watchers.queries[q], watchers.bags[q], watchers.pool
    k, seq, stamp = bag["k"], scene.stream.origin + row, scene.stream.stamps[row]
    if size + k + 2 > len(space.results):
        return FULL, size
    if not _has_room_for(bag, pool, k + 2):
        return CRAMPED, size
    cutoff = stamp - query["width"]
    if bag["oldest"] <= cutoff:
        bags.top_drop(bag, pool, cutoff)
    bags.skip_expired(bag, pool, cutoff)
    if cost <= query["bound"]:
        arrival = Arrival(cost, seq, stamp)
        size = _arrive(q, bag, pool, skyband, arrival, space.results, size)
    if skyband:
        size = _promote(q, bag, pool, seq, space.results, size)
    if bag["size"] < k:
        size = _refill(q, row, scene, size)
    elif not skyband:
        _set_bound(query, bag, pool)
    if bag["tail"] - bag["head"] > bag["limit"]:
        _condense(query, bag, pool, skyband, space.hits.scratch, space.heap)
    if query["bound"] > query["watched"]:
        watch_anew(q, query, scene.grid, watchers.gaps[q], watchers.adds[q], scene.listing)
    query["done"] = seq + 1
    watchers.due[q] = bag["oldest"] + query["width"]
    watchers.soonest[q >> 6] = min(watchers.soonest[q >> 6], watchers.due[q])
    return FED, size


@inlined
def _cost_for(q: int, row: int, watchers: Watchers, stream: Stream) -> float:
    return float(cost_of(rule_of(watchers, q), stream.columns, row))


@inlined
def _add_losing(block: int, row: int, scene: Scene, count: int) -> int:
    """Add those of 64 queries whose top loses a member; how many there are to step now."""
    watchers, space = scene.watchers, scene.space
    stamp, soonest = scene.stream.stamps[row], NEVER
    for q in range(BLOCK * block, BLOCK * (block + 1)):
        if watchers.queries[q]["active"] == 0:
            continue
        if watchers.due[q] <= stamp:
            space.due[count] = q
            space.prices[count] = _cost_for(q, row, watchers, scene.stream)
            count += 1
        soonest = min(soonest, watchers.due[q])
    watchers.soonest[block] = soonest
    return count


@inlined
def _add_watching(word: int, cell: int, row: int, scene: Scene, count: int) -> int:
    """Add those of 64 queries that watch the cell of the new object, and for which it ranks."""
    grid, watchers, stream, space = scene.grid, scene.watchers, scene.stream, scene.space
    left = grid.watched[cell, word] | grid.watched[len(grid.cells), word]
    while left:
        bit = left & (~left + np.uint64(1))
        left ^= bit
        q = BLOCK * word + _LOWEST[(bit * np.uint64(0x03F79D71B4CB0A89)) >> np.uint64(58)]
        query = watchers.queries[q]
        cost = _cost_for(q, row, watchers, stream)
        if cost <= query["bound"]:
            if query["done"] <= stream.origin + row and watchers.due[q] > stream.stamps[row]:
                space.due[count] = q
                space.prices[count] = cost
                count += 1
            continue
        query["idle"] += 1
        if query["idle"] > query["patience"]:
            query["idle"] = 0
            if query["bound"] < query["watched"]:
                watch_anew(q, query, grid, watchers.gaps[q], watchers.adds[q], scene.listing)
    return count


@compiled
def feed_grid(scene: Scene) -> tuple[int, int, int]:
    """Bring all queries up to the last row; it can be called again after room was made.

    Returns
    -------
    ended, q, size
        How it ended, at which query, and how many results there are.
    """
    watchers, grid, stream, space = scene.watchers, scene.grid, scene.stream, scene.space
    cursor, stamps, origin, size = stream.cursor, stream.stamps, stream.origin, 0
    for row in range(cursor[0] - origin, stream.end):
        seq, stamp = origin + row, stamps[row]
        while stamps[cursor[2] - origin] <= stamp - stream.longest:
            cursor[2] += 1
        cell = cell_of(grid, stream.columns, row)
        if cursor[1] <= seq:
            if not store(grid, cell, stream.columns, row, seq, cursor[2]):
                return SCARCE, 0, size
            cursor[1] = seq + 1
        count = 0
        for block in range(len(watchers.soonest)):
            if watchers.soonest[block] <= stamp:
                count = _add_losing(block, row, scene, count)
            count = _add_watching(block, cell, row, scene, count)
        for i in range(count):
            q = space.due[i]
            ended, size = _step(q, space.prices[i], row, scene, size)
            if ended != FED:
                watchers.soonest[:] = stamp
                return ended, q, size
        cursor[0] = seq + 1
    return FED, 0, size
