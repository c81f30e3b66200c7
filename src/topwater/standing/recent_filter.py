"""Compiled: the filter before a query, and what happens when objects stop being recent.

A filter remembers the best of the recent objects; what is not among its k best can't be in an
answer while it is recent (Theorem 5.1), so that the query need not see it before it stops being
recent, and then only if fewer than k younger ones beat it. Recent objects stop being so a *portion*
at a time. What the filter did not remember is looked at again only if the portion's bound says that
it could matter: hence the answers are exact, whatever the filter forgets.
"""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing import candidate_bags as bags
from topwater.standing.costs import scan
from topwater.standing.kernel_records import (
    NEVER,
    PASSED,
    PROBABILISTIC,
    REPORTED,
    Block,
    Member,
    Record,
    Records,
    Workspace,
)
from topwater.standing.numba_options import compiled
from topwater.standing.order_statistics import nearly_selected, undominated


@compiled
def first_from(stamps: IntArray, row: int, end: int, stamp: int) -> int:
    """The first row from ``row`` on whose stamp is at least ``stamp``, at most ``end``."""
    if row >= end or stamps[end - 1] < stamp:
        return end
    if stamps[row] >= stamp:
        return row
    guess = row + (stamp - int(stamps[row]))
    if guess < end and stamps[guess] == stamp and stamps[guess - 1] < stamp:
        return guess
    low, high = row, end - 1
    while low < high:
        middle = (low + high) // 2
        if stamps[middle] < stamp:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def trim(bag: Record, member: Member, slots: int, scratch: FloatArray) -> None:
    """Keep the best of a probabilistic bag, its limit or a few more, and lower its bound to them.

    With a filter, what is forgotten without having been passed on lowers its portion's bound. So it
    does in a watched query; and there what was reported stays until it can't come back, or it would
    be reported again. Without either, ``slots`` is 0.
    """
    pool, minima = member.pool, member.minima
    ring, portion = member.record["ring"], member.record["portion"]
    base = bag["base"]
    first, end = base + bag["head"], base + bag["tail"]
    for at in range(first, end):
        scratch[at - first] = pool[at]["cost"]
    limit = bag["limit"]
    pivot = nearly_selected(scratch, end - first, limit, limit + limit // 8)
    to = base
    for at in range(first, end):
        if pool[at]["cost"] <= pivot or (
            slots > 0
            and pool[at]["mark"] & REPORTED != 0
            and bags.beaten_after(pool, at, end) < bag["k"]
        ):
            if to != at:
                pool[to] = pool[at]
            to += 1
        elif slots > 0 and pool[at]["mark"] & PASSED == 0:
            slot = ring + (pool[at]["stamp"] // portion) % slots
            minima[slot] = min(minima[slot], pool[at]["cost"])
    bag["head"] = 0
    bag["tail"] = to - base
    bag["bound"] = pivot


@compiled
def pass_on(
    band: Record, pool: Records, cost: float, seq: int, stamp: int, gamma: float, heap: FloatArray
) -> bool:
    """The second attempt: an object that stops being recent goes to the query. False: no room."""
    if not bags.has_room(band, pool):
        return False
    at = bags.insert(band, pool, cost, seq, stamp, 0)
    bags.place_in_top(band, pool, cost, seq, stamp)
    bags.tidy(band, pool, at, gamma, heap)
    return True


@compiled
def pass_refused(member: Member, block: Block, leaving: int, work: Workspace) -> bool:
    """Look again at all objects of a portion that leaves, and pass on what may still matter.

    From the youngest back: what k of the filter's best and the younger of the portion beat can't.
    False: the query's bag needs room.
    """
    query, band, filter_, pool = member.record, member.band, member.filter, member.pool
    rows, costs, stamps, origin = work.hits.rows, work.hits.costs, block.stamps, block.origin
    k = band["k"]
    first = first_from(stamps, 0, block.end, leaving * query["portion"])
    first = max(first, query["born"] - origin)
    last = first_from(stamps, first, block.end, (leaving + 1) * query["portion"])
    # The first half of the heap is for pruning the bag.
    best, size = work.heap[len(work.heap) // 2 :], 0
    for at in range(filter_["top"], filter_["top"] + min(filter_["size"], k)):
        undominated(best, size, k, pool[at]["cost"])
        size += 1
    bound = bags.kth_cost(filter_, pool)
    while first < last:
        piece = max(first, last - len(rows) + 1)
        n = scan(member.rule, block.columns, piece, last, bound, work.hits)
        for i in range(n - 1, -1, -1):
            if undominated(best, size, k, costs[i]):
                size = min(size + 1, k)
                seq, stamp = origin + rows[i], stamps[rows[i]]
                known = bags.position_of(band, pool, seq) >= 0
                if not known and not pass_on(
                    band, pool, costs[i], seq, stamp, member.gamma, work.heap
                ):
                    return False
        last = piece
    return True


@compiled
def pass_remembered(member: Member, after: int, heap: FloatArray) -> bool:
    """Pass on what the filter remembers and has a stamp below ``after``. False: no room."""
    band, filter_, pool = member.band, member.filter, member.pool
    while filter_["head"] < filter_["tail"]:
        here = filter_["base"] + filter_["head"]
        entry = pool[here]
        if entry["stamp"] >= after:
            break
        cost, seq, stamp = entry["cost"], entry["seq"], entry["stamp"]
        matters = (
            entry["mark"] & PASSED == 0
            and bags.beaten_after(pool, here, filter_["base"] + filter_["tail"]) < band["k"]
        )
        if matters and not pass_on(band, pool, cost, seq, stamp, member.gamma, heap):
            return False
        filter_["head"] += 1
    return True


@compiled
def let_portions_leave(member: Member, block: Block, upto: int, work: Workspace) -> bool:
    """Let the portions up to ``upto`` stop being recent. False: the query's bag needs room.

    It can be called again after the room was made: what was passed on is not passed on twice.
    """
    query, filter_, pool, minima = member.record, member.filter, member.pool, member.minima
    while query["left"] <= upto:
        leaving = query["left"]
        after = (leaving + 1) * query["portion"]
        if not pass_remembered(member, after, work.heap):
            return False
        if filter_["oldest"] < after:
            bags.top_drop(filter_, pool, after - 1)
            if filter_["size"] < member.band["k"] and filter_["covers"] == 0:
                bags.refill(filter_, pool)
        kth = bags.kth_cost(filter_, pool)
        slot = query["ring"] + leaving % query["slots"]
        if minima[slot] < kth and not pass_refused(member, block, leaving, work):
            return False
        minima[slot] = np.inf
        query["left"] += 1
    return True


@compiled
def enter_portion(member: Member, block: Block, current: int, work: Workspace) -> bool:
    """Begin a portion: let old ones leave, and raise the filter's bound for it. False: no room."""
    query, filter_ = member.record, member.filter
    portion = query["portion"]
    if query["current"] == -NEVER:
        query["left"] = current
    gone = ((current + 1) * portion - 1 - query["buffer"]) // portion
    held = filter_["tail"] - filter_["head"]
    if not let_portions_leave(member, block, min(gone, query["current"]), work):
        return False
    query["left"] = max(query["left"], gone + 1)
    query["current"] = current
    kth = bags.kth_cost(filter_, member.pool)
    if kth == np.inf or (filter_["rule"] != PROBABILISTIC and filter_["spare"] == 0):
        filter_["bound"] = np.inf
    elif filter_["rule"] != PROBABILISTIC:
        filter_["bound"] = kth
    elif filter_["bound"] < np.inf:
        left = filter_["tail"] - filter_["head"]
        gap = max(0.0, filter_["bound"] - kth) / max(1, held - filter_["k"])
        filter_["bound"] = max(kth, filter_["bound"] + gap * (held - left))
    return True
