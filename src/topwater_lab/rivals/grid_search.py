"""Compiled: which cells a query watches, and the search for its k best from the query outwards."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing import candidate_bags as bags
from topwater.standing.costs import cost_of, scan
from topwater.standing.kernel_records import CostRule, Hits, Record, Records
from topwater.standing.numba_options import compiled, inlined
from topwater_lab.rivals.window_grid import (
    Grid,
    Listing,
    least_cost,
    list_cells,
    sort_gaps,
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

    hits: Hits
    heap: FloatArray
    results: Records
    due: IntArray
    prices: FloatArray


class Stream(NamedTuple):
    """Rows; the position of the first, one after the last, and how long the longest window is.

    ``cursor`` has positions: of the next object, the next to store, the oldest that counts.
    """

    columns: FloatArray
    stamps: IntArray
    cursor: IntArray
    origin: int
    end: int
    longest: int


class Scene(NamedTuple):
    """All that a step needs: whether it is SNN's, the queries, the grid, the rows, work space."""

    skyband: bool
    watchers: Watchers
    grid: Grid
    listing: Listing
    stream: Stream
    space: Space


class Wanted(NamedTuple):
    """What a search looks for: objects not older than these, that rank after the one given.

    What is older than ``alive`` is in no window; than ``oldest``, not in this query's.
    """

    alive: int
    oldest: int
    beyond_cost: float
    beyond_seq: int


@inlined
def rule_of(watchers: Watchers, q: int) -> CostRule:
    """How a query's costs are made."""
    query = watchers.queries[q]
    d = query["dimensions"]
    return CostRule(query["kind"], query["column"], watchers.points[q, :d], watchers.weights[q, :d])


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
def start_watching(slots: IntArray, watchers: Watchers, grid: Grid, listing: Listing) -> None:
    """Let queries watch their cells of a new grid, and note when their tops lose a member."""
    for q in slots:
        query = watchers.queries[q]
        gaps, adds = watchers.gaps[q], watchers.adds[q]
        sort_gaps(grid, rule_of(watchers, q), gaps, adds)
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
def _candidates(
    rule: CostRule, grid: Grid, first: int, stop: int, bound: float, least_cost: float, hits: Hits
) -> int:
    """The objects of a cell that cost at most ``bound``; how many there are."""
    n: int = 0
    if stop - first >= _SHORT:
        return scan(rule, grid.objects, first, stop, bound, hits)
    for at in range(first, stop):
        cost = cost_of(rule, grid.objects, at)
        hits.rows[n] = at
        hits.costs[n] = cost
        n += int((cost <= bound) & (cost >= least_cost))
    return n


@inlined
def _look_into(
    rule: CostRule,
    bag: Record,
    pool: Records,
    grid: Grid,
    cell: Record,
    wanted: Wanted,
    stream: Stream,
    hits: Hits,
) -> None:
    """Bring the objects of a cell into the top, if they rank there and are wanted."""
    head, tail, base = cell["head"], cell["tail"], cell["base"]
    while head < tail and grid.seqs[base + head] < wanted.alive:
        head += 1
    cell["head"] = head
    first, last = base + head, base + tail
    if wanted.alive < wanted.oldest:
        first = _first_since(grid.seqs, first, last, wanted.oldest)
    while first < last:
        bound = bags.kth_cost(bag, pool)
        stop = min(last, first + (_FIRST if bound == np.inf else len(hits.rows) - 1))
        n = _candidates(rule, grid, first, stop, bound, wanted.beyond_cost, hits)
        for i in range(n):
            cost, seq = hits.costs[i], grid.seqs[hits.rows[i]]
            if bags.better(wanted.beyond_cost, wanted.beyond_seq, cost, seq):
                bags.top_insert(bag, pool, cost, seq, stream.stamps[seq - stream.origin])
        first = stop


@inlined
def search(q: int, scene: Scene, oldest: int) -> None:
    """Fill the top from the grid: first the cells within the bound, then always farther ones.

    What is left in the top stays, for nothing ranks above it.
    """
    watchers, grid, listing = scene.watchers, scene.grid, scene.listing
    query, bag, pool = watchers.queries[q], watchers.bags[q], watchers.pool
    rule, gaps, adds = rule_of(watchers, q), watchers.gaps[q], watchers.adds[q]
    beyond_cost, beyond_seq = -np.inf, 0
    if bag["size"] > 0:
        worst = pool[bag["top"] + bag["size"] - 1]
        beyond_cost, beyond_seq = worst["cost"], worst["seq"]
    wanted = Wanted(scene.stream.cursor[2], oldest, beyond_cost, beyond_seq)
    lowest = least_cost(rule.kind, gaps, 0.0, 0)
    above, bound = np.nan, query["bound"]
    bound += _FARTHER / bag["k"] * max(0.0, bound - lowest)
    while True:
        n, beyond = list_cells(grid.parts, rule.kind, gaps, adds, above, bound, listing)
        for i in range(n):
            if listing.bounds[i] <= bags.kth_cost(bag, pool):
                cell = grid.cells[listing.cells[i]]
                _look_into(rule, bag, pool, grid, cell, wanted, scene.stream, scene.space.hits)
        kth = bags.kth_cost(bag, pool)
        if kth <= bound or beyond == np.inf:
            break
        above = bound
        bound = kth if kth < np.inf else beyond + max(0.0, beyond - lowest)
    query["searches"] += 1
