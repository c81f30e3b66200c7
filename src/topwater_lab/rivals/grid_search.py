"""Compiled: which cells a query watches, and the search for its k best from the query outwards."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing import bags
from topwater.standing.bags import Record, Records
from topwater.standing.costs import compiled, cost_of, scan
from topwater_lab.rivals.window_grid import (
    Grid,
    Listing,
    inlined,
    least,
    list_cells,
    prepare,
    watch,
    watch_all,
)

WATCHER: Final = np.dtype(
    [
        ("active", "i8"),
        ("kind", "i8"),  # how costs are made
        ("column", "i8"),  # the first of its columns
        ("dimensions", "i8"),  # and how many there are
        ("width", "i8"),  # of the window, in stamps
        ("born", "i8"),  # the position of its first object
        ("done", "i8"),  # the position of the next one it may see
        ("bound", "f8"),  # all that costs less is known
        ("watched", "f8"),  # the bound for which it watches cells
        ("cells", "i8"),  # and how many those are; -1: all, which are not marked one by one
        ("idle", "i8"),  # how many objects it looked at in vain
        ("patience", "i8"),  # and how many it will before it watches fewer cells
        ("searches", "i8"),  # how often the grid was searched
    ]
)

_SHORT: Final = 16
_FIRST: Final = 64
_FARTHER: Final = 2.0
"""Below so many objects a loop is faster than a scan; so many are looked at without a bound;
and by so many times a k-th part more than the bound the next one will hardly cost."""


class Watchers(NamedTuple):
    """The queries: records, bags, what they ask for, the gaps, and when a top loses a member."""

    queries: Records
    bags: Records
    pool: Records
    points: FloatArray
    weights: FloatArray
    gaps: FloatArray
    adds: IntArray
    due: IntArray
    soonest: IntArray


class Space(NamedTuple):
    """Work space; where results go; and the queries that have a step, with the object's cost."""

    rows: IntArray
    costs: FloatArray
    scratch: FloatArray
    heap: FloatArray
    told: Records
    due: IntArray
    prices: FloatArray


@compiled
def watch_anew(
    q: int, query: Record, grid: Grid, gaps: FloatArray, adds: IntArray, listing: Listing
) -> None:
    """Watch just the cells that the bound asks for.

    It waits longer before it tries to watch fewer cells again if that was of no use.
    """
    before, now, everywhere = query["watched"], query["bound"], len(grid.cells)
    if query["cells"] < 0:
        watch(grid.watched, everywhere, q, False)
        before, query["cells"] = -np.inf, 0
    if now == np.inf:
        n, _ = list_cells(grid.parts, query["kind"], gaps, adds, np.nan, before, listing)
        watch_all(grid.watched, listing.cells[:n], q, False)
        watch(grid.watched, everywhere, q, True)
        query["cells"] = -1
    else:
        low = min(before, now) if query["cells"] > 0 else np.nan
        high = max(before, now)
        n, _ = list_cells(grid.parts, query["kind"], gaps, adds, low, high, listing)
        watch_all(grid.watched, listing.cells[:n], q, now >= before)
        query["cells"] += n if now >= before else -n
    query["watched"] = now
    query["idle"] = 0
    query["patience"] = 2 * query["patience"] if n == 0 else 0
    query["patience"] = max(query["patience"], 16 + query["cells"] // 2)


@compiled
def begin(slots: IntArray, watchers: Watchers, grid: Grid, listing: Listing) -> None:
    """Let queries watch their cells of a new grid, and note when their tops lose a member."""
    for q in slots:
        query = watchers.queries[q]
        d, gaps, adds = query["dimensions"], watchers.gaps[q], watchers.adds[q]
        point, weight = watchers.points[q, :d], watchers.weights[q, :d]
        prepare(grid, query["kind"], query["column"], point, weight, gaps, adds)
        query["watched"], query["cells"], query["patience"] = -np.inf, 0, 0
        watch_anew(q, query, grid, gaps, adds, listing)
        watchers.due[q] = watchers.bags[q]["oldest"] + query["width"]
        watchers.soonest[q >> 6] = min(watchers.soonest[q >> 6], watchers.due[q])


@compiled
def _first_since(seqs: IntArray, first: int, last: int, oldest: int) -> int:
    """Where the first position of at least ``oldest`` is."""
    while first < last:
        middle = (first + last) // 2
        if seqs[middle] < oldest:
            first = middle + 1
        else:
            last = middle
    return first


@inlined
def _look_into(
    query: Record,
    bag: Record,
    pool: Records,
    point: FloatArray,
    weight: FloatArray,
    grid: Grid,
    cell: Record,
    alive: int,
    oldest: int,
    origin: int,
    stamps: IntArray,
    beyond_cost: float,
    beyond_seq: int,
    space: Space,
) -> None:
    """Bring the objects of a cell into the top, if they rank there and after the one given.

    What is older than ``alive`` is in no window; than ``oldest``, not in this query's.
    """
    head, tail, base = cell["head"], cell["tail"], cell["base"]
    while head < tail and grid.seqs[base + head] < alive:
        head += 1
    cell["head"] = head
    first, last = base + head, base + tail
    if alive < oldest:
        first = _first_since(grid.seqs, first, last, oldest)
    while first < last:
        bound = bags.kth_cost(bag, pool)
        stop = min(last, first + (_FIRST if bound == np.inf else len(space.rows) - 1))
        n: int = 0
        if stop - first < _SHORT:
            for at in range(first, stop):
                cost = cost_of(query["kind"], grid.objects, query["column"], at, point, weight)
                space.rows[n] = at
                space.costs[n] = cost
                n += int((cost <= bound) & (cost >= beyond_cost))
        else:
            n = scan(
                query["kind"],
                grid.objects,
                query["column"],
                first,
                stop,
                point,
                weight,
                bound,
                space.rows,
                space.costs,
                space.scratch,
            )
        for i in range(n):
            cost, seq = space.costs[i], grid.seqs[space.rows[i]]
            if bags.better(beyond_cost, beyond_seq, cost, seq):
                bags.top_insert(bag, pool, cost, seq, stamps[seq - origin])
        first = stop


@inlined
def search(
    q: int,
    query: Record,
    bag: Record,
    watchers: Watchers,
    grid: Grid,
    listing: Listing,
    alive: int,
    oldest: int,
    origin: int,
    stamps: IntArray,
    space: Space,
) -> None:
    """Fill the top from the grid: first the cells within the bound, then always farther ones.

    What is left in the top stays, for nothing ranks above it.
    """
    pool, dimensions = watchers.pool, query["dimensions"]
    point, weight = watchers.points[q, :dimensions], watchers.weights[q, :dimensions]
    gaps, adds = watchers.gaps[q], watchers.adds[q]
    beyond_cost, beyond_seq = -np.inf, 0
    if bag["size"] > 0:
        worst = pool[bag["top"] + bag["size"] - 1]
        beyond_cost, beyond_seq = worst["cost"], worst["seq"]
    lowest = least(query["kind"], gaps, 0.0, 0)
    above, bound = np.nan, query["bound"]
    bound += _FARTHER / bag["k"] * max(0.0, bound - lowest)
    while True:
        n, beyond = list_cells(grid.parts, query["kind"], gaps, adds, above, bound, listing)
        for i in range(n):
            if listing.bounds[i] <= bags.kth_cost(bag, pool):
                _look_into(
                    query,
                    bag,
                    pool,
                    point,
                    weight,
                    grid,
                    grid.cells[listing.cells[i]],
                    alive,
                    oldest,
                    origin,
                    stamps,
                    beyond_cost,
                    beyond_seq,
                    space,
                )
        kth = bags.kth_cost(bag, pool)
        if kth <= bound or beyond == np.inf:
            break
        above = bound
        bound = kth if kth < np.inf else beyond + max(0.0, beyond - lowest)
    query["searches"] += 1
