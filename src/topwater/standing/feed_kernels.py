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
from topwater.standing.auto_kernels import (
    DOUBTED,
    UNWATCHED,
    WATCHED,
    clings,
    turn_exact,
    turn_watched,
    watch_portion,
)
from topwater.standing.bags import PASSED, PROBABILISTIC, Record, Records
from topwater.standing.cells import gather
from topwater.standing.costs import compiled
from topwater.standing.filter_kernels import enter_portion, first_from, trim
from topwater.standing.first_look import Marks, Narrow
from topwater.standing.step_kernels import move_up, settle, take, wait

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

FED: Final = 0
FULL: Final = 1
CRAMPED: Final = 2
"""How a call ended: all is done; there is no place for results; a bag needs more room."""

_PIECES: Final = 8


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
