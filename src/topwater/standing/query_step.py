"""Compiled: the parts of one step of a query, and what is reported of it."""

from __future__ import annotations

import numpy as np

from topwater.standing import candidate_bags as bags
from topwater.standing.auto_switch import WATCHED, least_refused
from topwater.standing.kernel_records import REPORTED, Arrival, Block, Hits, Member, Record, Records
from topwater.standing.numba_options import compiled, inlined


@compiled
def raise_bound(band: Record, pool: Records, need: int, cutoff: int, last: int) -> None:
    """Set a probabilistic bag's bound for a piece of the stream.

    What leaves the window by the end of the piece (stamps up to ``last``) no longer counts. The
    bound rises by half a place for each that leaves; and where fewer than needed are left, by two
    places for each that is missing, as the places lie between the candidates. The paper then
    refuses nothing for a while, which fills the bag with useless candidates.
    """
    bags.skip_expired(band, pool, cutoff)
    if band["bound"] == np.inf:
        return
    at = band["base"] + band["head"]
    held, leaving = band["tail"] - band["head"], 0
    while leaving < held and pool[at + leaving]["stamp"] <= last:
        leaving += 1
    kth = bags.kth_cost(band, pool)
    if held - leaving <= band["k"] or kth >= band["bound"]:
        band["bound"] = np.inf
        return
    place = (band["bound"] - kth) / (held - band["k"])
    band["bound"] += place * (0.5 * leaving + 2.0 * max(0, need - (held - leaving)))


@compiled
def report(results: Records, size: int, q: int, seq: int, step: int, cost: float) -> int:
    """Write a result; how many there are now."""
    result = results[size]
    result["query"] = q
    result["seq"] = seq
    result["step"] = step
    result["cost"] = cost
    return size + 1


@compiled
def move_up(
    member: Member, step: int, floor: float, results: Records, size: int
) -> tuple[bool, int]:
    """After some have left: fill the top, and report who is among the k best for the first time.

    Does neither, and says so, if one of them does not cost less than ``floor``: it may not be the
    next best.
    """
    band, pool = member.band, member.pool
    if band["size"] < band["k"] and band["covers"] == 0:
        bags.refill(band, pool)
    if floor < np.inf and bags.kth_cost(band, pool) >= floor:
        return True, size
    for at in range(band["top"], band["top"] + min(band["size"], band["k"])):
        entry = pool[at]
        if entry["mark"] & REPORTED == 0:
            entry["mark"] |= REPORTED
            there = bags.position_of(band, pool, entry["seq"])
            if there >= 0:
                pool[there]["mark"] |= REPORTED
            size = report(results, size, member.number, entry["seq"], step, entry["cost"])
    bags.find_oldest(band, pool)
    return False, size


@compiled
def take_step(
    member: Member, enters: bool, arrival: Arrival, results: Records, size: int
) -> tuple[int, bool, int]:
    """One step of a query: who leaves, who comes, who moves up.

    Returns
    -------
    new, doubt, size
        Where the new one is in the bag; whether who is next can't be said; how many results.
    """
    query, band, pool = member.record, member.band, member.pool
    cost, seq, stamp = arrival.cost, arrival.seq, arrival.stamp
    cutoff = stamp - query["width"]
    drops = band["oldest"] <= cutoff
    if drops:
        bags.top_drop(band, pool, cutoff)
    bags.skip_expired(band, pool, cutoff)
    floor = np.inf
    if query["watch"] == WATCHED and (drops or band["size"] < band["k"]):
        floor = least_refused(query, member.minima)
    new = -1
    if enters:
        new = bags.insert(band, pool, cost, seq, stamp, 0)
        at = bags.place_in_top(band, pool, cost, seq, stamp)
        if 0 <= at < band["k"]:
            if cost >= floor:
                return new, True, size
            pool[band["top"] + at]["mark"] = REPORTED
            pool[new]["mark"] = REPORTED
            size = report(results, size, member.number, seq, seq, cost)
    doubt = False
    if drops:
        doubt, size = move_up(member, seq, floor, results, size)
    return new, doubt, size


@inlined
def take_waiting(
    bag: Record, member: Member, block: Block, hits: Hits, slot: int, due: int, i: int, n: int
) -> int:
    """Take what only waits: who comes before row ``due``, and ranks behind the top of a bag.

    That is most of what passes a bound, and changes no answer. The bag is probabilistic; it stops
    where that has to be trimmed. What is refused is noted in ``slot``, if there is one. Returns who
    is next.
    """
    if bag["size"] < bag["k"] or (bag["covers"] == 1 and bag["size"] < bag["wide"]):
        return i
    pool, minima, rows, costs = member.pool, member.minima, hits.rows, hits.costs
    edge = pool[bag["top"] + bag["size"] - 1]["cost"]
    bound, base, tail = bag["bound"], bag["base"], bag["tail"]
    full = min(bag["room"], bag["head"] + bag["limit"] + bag["spare"])
    while i < n and tail < full and rows[i] < due and costs[i] > edge:
        row, cost = rows[i], costs[i]
        if cost <= bound:
            bags.write_entry(pool[base + tail], cost, block.origin + row, block.stamps[row], 0)
            tail += 1
        elif slot >= 0:
            minima[slot] = min(minima[slot], cost)
        i += 1
    if tail > bag["tail"]:
        bag["covers"] = 0
        bag["tail"] = tail
    return i
