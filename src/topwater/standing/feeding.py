"""Compiled: feed a stretch of the stream to a query, step by step where something happens.

Most objects cost a query more than its bound, and are passed over 64 at a time (``costs.scan``).
What is left is taken in the order of arrival together with what leaves the window, so that every
answer is that of its step.

A *filter* spares the query most of the rest: see ``filtering``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing import bags
from topwater.standing.bags import PASSED, PROBABILISTIC, REPORTED, Record, Records
from topwater.standing.cells import gather
from topwater.standing.costs import compiled
from topwater.standing.filtering import enter_portion, first_from, trim
from topwater.standing.glancing import Marks, Narrow
from topwater.standing.watching import (
    DOUBTED,
    UNWATCHED,
    WATCHED,
    clings,
    refused_from,
    turn_exact,
    turn_watched,
    watch_portion,
)

QUERY: Final = np.dtype(
    [
        ("active", "i8"),
        ("kind", "i8"),  # how costs are made
        ("column", "i8"),  # the first of its columns
        ("dimensions", "i8"),  # and how many there are
        ("width", "i8"),  # of the window, in stamps
        ("born", "i8"),  # the position of its first object
        ("done", "i8"),  # the position of the next one
        ("need", "i8"),  # how many make a probabilistic bag's bound valid
        ("buffer", "i8"),  # how long an object is recent, in stamps; 0 without a filter
        ("portion", "i8"),  # how long a portion of the recent is
        ("current", "i8"),  # the number of the present portion
        ("left", "i8"),  # the number of the next portion to leave
        ("ring", "i8"),  # where its portions' bounds begin
        ("slots", "i8"),  # and how many there are
        ("capacity", "i8"),  # and may be
        ("watch", "i8"),  # what `auto` is doing
        ("alarm", "i8"),  # the stamp of the last sign that the order is not random
        ("recent", "i8"),  # the buffer while it is exact
        ("keep", "i8"),  # how many it keeps while it is watched
    ]
)

TOLD: Final = np.dtype([("query", "i8"), ("seq", "i8"), ("step", "i8"), ("cost", "f8")])
"""A result: the object at position ``seq`` got into the top at the step of position ``step``."""

FED: Final = 0
FULL: Final = 1
CRAMPED: Final = 2
"""How a call ended: all is done; there is no place for results; a bag needs more room."""

_PIECES: Final = 8


@compiled
def settle(band: Record, pool: Records, need: int, cutoff: int, last: int) -> None:
    """Set a probabilistic bag's bound for a piece of the stream.

    What leaves the window by the end of the piece (stamps up to ``last``) no longer counts. The
    bound rises by half a place for each that leaves; and where fewer than needed are left, by two
    places for each that is missing, as the places lie between the candidates. The paper then
    refuses nothing for a while, which fills the bag with what is no good.
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
def tell(told: Records, size: int, q: int, seq: int, step: int, cost: float) -> int:
    """Write a result; how many there are now."""
    result = told[size]
    result["query"] = q
    result["seq"] = seq
    result["step"] = step
    result["cost"] = cost
    return size + 1


@compiled
def move_up(
    q: int, band: Record, pool: Records, step: int, floor: float, told: Records, size: int
) -> tuple[bool, int]:
    """After some have left: fill the top, and tell who is among the k best for the first time.

    Does neither, and says so, if one of them does not cost less than ``floor``: it may not be the
    next best.
    """
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
            size = tell(told, size, q, entry["seq"], step, entry["cost"])
    bags.find_oldest(band, pool)
    return False, size


@compiled
def take(
    q: int,
    query: Record,
    band: Record,
    pool: Records,
    minima: FloatArray,
    enters: bool,
    cost: float,
    seq: int,
    stamp: int,
    told: Records,
    size: int,
) -> tuple[int, bool, int]:
    """One step of a query: who leaves, who comes, who moves up.

    Returns
    -------
    new, doubt, size
        Where the new one is in the bag; whether who is next can't be said; how many results.
    """
    cutoff = stamp - query["width"]
    drops = band["oldest"] <= cutoff
    if drops:
        bags.top_drop(band, pool, cutoff)
    bags.skip_expired(band, pool, cutoff)
    floor = np.inf
    if query["watch"] == WATCHED and (drops or band["size"] < band["k"]):
        floor = refused_from(query, minima)
    new = -1
    if enters:
        new = bags.insert(band, pool, cost, seq, stamp, 0)
        at = bags.place(band, pool, cost, seq, stamp)
        if 0 <= at < band["k"]:
            if cost >= floor:
                return new, True, size
            pool[band["top"] + at]["mark"] = REPORTED
            pool[new]["mark"] = REPORTED
            size = tell(told, size, q, seq, seq, cost)
    doubt = False
    if drops:
        doubt, size = move_up(q, band, pool, seq, floor, told, size)
    return new, doubt, size


@compiled
def wait(
    bag: Record,
    pool: Records,
    stamps: IntArray,
    origin: int,
    due: int,
    rows: IntArray,
    costs: FloatArray,
    i: int,
    n: int,
    minima: FloatArray,
    slot: int,
) -> int:
    """Take what only waits: who comes before row ``due``, and ranks behind the top of a bag.

    That is most of what passes a bound, and changes no answer. The bag is probabilistic; it stops
    where that has to be trimmed. What is refused is noted in ``slot``, if there is one. Returns who
    is next.
    """
    if bag["size"] < bag["k"] or (bag["covers"] == 1 and bag["size"] < bag["wide"]):
        return i
    edge = pool[bag["top"] + bag["size"] - 1]["cost"]
    bound, base, tail = bag["bound"], bag["base"], bag["tail"]
    full = min(bag["room"], bag["head"] + bag["limit"] + bag["spare"])
    while i < n and tail < full and rows[i] < due and costs[i] > edge:
        row, cost = rows[i], costs[i]
        if cost <= bound:
            bags.write(pool[base + tail], cost, origin + row, stamps[row], 0)
            tail += 1
        elif slot >= 0:
            minima[slot] = min(minima[slot], cost)
        i += 1
    if tail > bag["tail"]:
        bag["covers"] = 0
        bag["tail"] = tail
    return i


@compiled
def feed(  # noqa: C901  (the loop over steps, kept in one piece)
    q: int,
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
    end: int,
    gamma: float,
    mode: int,
    edges: FloatArray,
    starts: IntArray,
    order: IntArray,
    least: FloatArray,
    most: FloatArray,
    block: int,
    narrow: Narrow,
    here: Narrow,
    marks: Marks,
    box: IntArray,
    rows: IntArray,
    costs: FloatArray,
    scratch: FloatArray,
    heap: FloatArray,
    told: Records,
    size: int,
) -> tuple[int, int]:
    """Bring a query up to row ``end``. How it ended, and how many results there are now."""
    width, k = query["width"], band["k"]
    row = query["done"] - origin
    while row < end or query["watch"] == DOUBTED:
        if query["watch"] == DOUBTED:
            if size + k + 2 > len(told):
                return FULL, size
            if not turn_exact(
                query,
                band,
                filter_,
                pool,
                minima,
                columns,
                point,
                weight,
                stamps,
                origin,
                row,
                gamma,
                scratch,
                heap,
            ):
                return CRAMPED, size
            _, size = move_up(q, band, pool, origin + row - 1, np.inf, told, size)
            continue
        filtered = query["buffer"] > 0
        probabilistic = band["rule"] == PROBABILISTIC
        watched = query["watch"] == WATCHED
        stop, slot, current = end, -1, 0
        bound = np.inf
        if filtered or watched:
            current = stamps[row] // query["portion"]
            slot = query["ring"] + current % query["slots"]
        begins = current != query["current"] and query["watch"] != UNWATCHED
        if begins and clings(query, columns, point, weight, row, scratch, origin):
            if watched:
                query["watch"] = DOUBTED
                continue
            query["alarm"] = stamps[row]
        elif (
            begins
            and not watched
            and stamps[row] - query["alarm"] >= width
            and turn_watched(
                query,
                band,
                filter_,
                pool,
                minima,
                columns,
                point,
                weight,
                stamps,
                origin,
                row,
                scratch,
                heap,
            )
        ):
            continue
        if filtered:
            if current != query["current"] and not enter_portion(
                query,
                band,
                filter_,
                pool,
                minima,
                columns,
                point,
                weight,
                stamps,
                origin,
                end,
                current,
                gamma,
                rows,
                costs,
                scratch,
                heap,
            ):
                return CRAMPED, size
            stop = first_from(stamps, row, end, (current + 1) * query["portion"])
            bound = filter_["bound"]
        elif probabilistic:
            stop = first_from(stamps, row, end, stamps[row] + max(1, width // _PIECES))
            if watched:
                stop = first_from(stamps, row, end, (current + 1) * query["portion"])
            if watched and begins:
                watch_portion(query, minima, current)
            settle(band, pool, query["need"], stamps[row] - width, stamps[stop - 1] - width)
            bound = band["bound"]
            if bound == np.inf:
                missing = band["limit"] + band["spare"] + 1 - (band["tail"] - band["head"])
                stop = min(stop, row + max(1, missing))
        if filtered or watched:
            minima[slot] = min(minima[slot], bound)
        stop = min(stop, row + len(rows) - 1)
        n = gather(
            mode,
            query["kind"],
            columns,
            query["column"],
            row,
            stop,
            point,
            weight,
            bound,
            edges,
            starts,
            order,
            least,
            most,
            block,
            narrow,
            here,
            marks,
            box,
            rows,
            costs,
            scratch,
        )
        i, due = 0, first_from(stamps, row, stop, band["oldest"] + width)
        while True:
            if filtered and filter_["rule"] == PROBABILISTIC:
                i = wait(filter_, pool, stamps, origin, due, rows, costs, i, n, minima, slot)
            elif probabilistic and not filtered:
                i = wait(band, pool, stamps, origin, due, rows, costs, i, n, minima, slot)
            arrives = i < n and rows[i] <= due
            step = rows[i] if arrives else due
            if step >= stop:
                break
            stamp, seq, cost = stamps[step], origin + step, 0.0
            query["done"] = seq
            if size + k + 2 > len(told):
                return FULL, size
            enters = False
            if arrives:
                cost = costs[i]
                enters = cost <= (filter_["bound"] if filtered else band["bound"])
                if enters and not bags.has_room(band, pool):
                    return CRAMPED, size
                refused = not enters
                if enters and filtered:
                    if not bags.has_room(filter_, pool):
                        return CRAMPED, size
                    new = bags.insert(filter_, pool, cost, seq, stamp, 0)
                    enters = 0 <= bags.place(filter_, pool, cost, seq, stamp) < k
                    if enters:
                        pool[new]["mark"] = PASSED
                    if filter_["rule"] != PROBABILISTIC:
                        bags.tidy(filter_, pool, new, gamma, heap)
                    elif filter_["tail"] - filter_["head"] > filter_["limit"] + filter_["spare"]:
                        trim(
                            filter_,
                            pool,
                            scratch,
                            minima,
                            query["ring"],
                            query["slots"],
                            query["portion"],
                        )
                elif refused and (filtered or watched):
                    minima[slot] = min(minima[slot], cost)
                i += 1
            row = step + 1
            if not enters and step < due:
                continue
            new, doubt, size = take(
                q, query, band, pool, minima, enters, cost, seq, stamp, told, size
            )
            due = first_from(stamps, row, stop, band["oldest"] + width)
            if doubt:
                query["watch"] = DOUBTED
                stop = due = row
                n = i
            elif enters and not probabilistic:
                bags.tidy(band, pool, new, gamma, heap)
            elif enters and band["tail"] - band["head"] > band["limit"] + band["spare"]:
                slots = query["slots"] if watched else 0
                trim(band, pool, scratch, minima, query["ring"], slots, query["portion"])
        row = stop
        query["done"] = origin + row
    return FED, size


@compiled
def feed_all(
    first: int,
    queries: Records,
    bag_records: Records,
    pool: Records,
    minima: FloatArray,
    columns: FloatArray,
    points: FloatArray,
    weights: FloatArray,
    stamps: IntArray,
    origin: int,
    end: int,
    gamma: float,
    mode: int,
    edges: FloatArray,
    starts: IntArray,
    order: IntArray,
    least: FloatArray,
    most: FloatArray,
    block: int,
    narrow: Narrow,
    here: Narrow,
    marks: Marks,
    box: IntArray,
    rows: IntArray,
    costs: FloatArray,
    scratch: FloatArray,
    heap: FloatArray,
    told: Records,
    size: int,
) -> tuple[int, int, int]:
    """Bring all queries from number ``first`` on up to row ``end``.

    Returns
    -------
    ended, q, size
        How it ended, at which query, and how many results there are.
    """
    for q in range(first, len(queries)):
        query = queries[q]
        if query["active"] == 0:
            continue
        dimensions = query["dimensions"]
        ended, size = feed(
            q,
            query,
            bag_records[2 * q],
            bag_records[2 * q + 1],
            pool,
            minima,
            columns,
            points[q, :dimensions],
            weights[q, :dimensions],
            stamps,
            origin,
            end,
            gamma,
            mode,
            edges,
            starts,
            order,
            least,
            most,
            block,
            narrow,
            here,
            marks,
            box,
            rows,
            costs,
            scratch,
            heap,
            told,
            size,
        )
        if ended != FED:
            return ended, q, size
    return FED, len(queries), size
