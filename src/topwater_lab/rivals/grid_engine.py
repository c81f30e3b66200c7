"""CPM/w and SNN for many queries: all objects of the longest window in a grid.

Mouratidis and Papadias, "Continuous nearest neighbor queries over sliding windows", IEEE TKDE
19(6), 2007. They are here to be compared with, so they are built as well as the others. Where that
departs from what is published, it is in their favour:

- a query watches fewer cells again after it has looked in vain at several objects per cell (as
  published it never does, so it watches all cells for ever after its window was empty);
- SNN lowers its bound when its skyband has become much larger than 2k (as published it keeps
  nearly all objects of a window that began empty);
- who is dominated is forgotten now and then (as published, at each arrival);
- a search keeps what is left of the top, since nothing can rank above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.standing.candidate_bags import positions_in
from topwater.standing.costs import STRETCH
from topwater.standing.engines import NumericQuery
from topwater.standing.kernel_records import (
    BAG,
    CRAMPED,
    ENTRY,
    FED,
    FULL,
    NEVER,
    RELAXED,
    RESULT,
    Hits,
    Records,
)
from topwater_lab.rivals.grid_search import WATCHER, Scene, Space, Stream, Watchers, start_watching
from topwater_lab.rivals.grid_steps import BLOCK, SCARCE, feed_grid
from topwater_lab.rivals.window_grid import CELL, Grid, Listing, count_cells, store_all

_CELLS = 20_000
_ROWS = 4096
_RESULTS = 1 << 14
_MARGIN = 0.05
_OUTLYING = 0.001
_SAMPLE = 10_000
_SCATTERED = 1.2
_SPARSE = 16
"""With fewer objects per cell, the coordinates of an object are stored side by side."""


class Gridded:
    """All objects in cells, and queries that watch some of them.

    Parameters
    ----------
    skyband
        SNN: a query remembers the k-skyband of what is not above its bound. Else CPM/w: only the
        top k, besides which objects were in it before.
    cells
        Into how many parts each column is cut; fewer if there would be more than 20,000 cells.
    """

    def __init__(self, skyband: bool, cells: int = 10) -> None:
        self._skyband = skyband
        self._parts = cells
        self._queries: Records = np.zeros(0, WATCHER)
        self._bags: Records = np.zeros(0, BAG)
        self._points: FloatArray = np.zeros((0, 1))
        self._weights: FloatArray = np.zeros((0, 1))
        self._pool: Records = np.zeros(1024, ENTRY)
        self._used = 0
        self._cursor: IntArray = np.zeros(3, np.int64)
        self._stale = True
        self._arranged = self._compact = 0
        self._asked: BoolArray | None = None
        self._new: set[int] = set()
        self._make_workspace()

    def admit(self, slot: int, query: NumericQuery) -> None:
        """Begin with a query. Its slot is free."""
        self._widen(slot + 1, len(query.point))
        for name, value in (
            ("active", 1),
            ("kind", query.kind),
            ("column", query.column),
            ("dimensions", len(query.point)),
            ("width", query.width),
            ("born", query.born),
            ("done", query.born),
            ("bound", np.inf),
            ("watched", -np.inf),
            ("searches", 0),
        ):
            self._queries[slot][name] = value
        self._points[slot, : len(query.point)] = query.point
        self._weights[slot, : len(query.point)] = query.weight
        bag = self._bags[slot]
        for name in BAG.names or ():
            bag[name] = 0
        bag["k"], bag["oldest"] = query.k, NEVER
        bag["rule"], bag["limit"] = RELAXED, 3 * query.k + 4
        self._place(slot, 6 * query.k + 16)
        self._new.add(slot)
        self._asked = None
        self._make_workspace()

    def dismiss(self, slot: int) -> None:
        """Forget a query."""
        self._queries[slot]["active"] = 0
        bag = self._bags[slot]
        bag["head"] = bag["tail"] = bag["size"] = bag["room"] = 0
        self._new.discard(slot)
        self._asked = None
        if not self._stale:
            self._grid.watched[:, slot // BLOCK] &= ~np.uint64(1 << slot % BLOCK)

    def feed(self, columns: FloatArray, stamps: IntArray, origin: int, end: int) -> Records:
        """Bring all queries up to row ``end``: who got into a top for the first time."""
        active = self._queries[self._queries["active"] > 0]
        if not len(active):
            self._cursor[:] = origin + end
            self._stale = True
            return np.empty(0, RESULT)
        first = max(int(self._cursor[0]), int(active["born"].min()))
        if first > self._cursor[0]:
            self._cursor[:] = first
        if first - origin >= end:
            return np.empty(0, RESULT)
        self._fit(columns, stamps, origin, end)
        results = list(self._feed(columns, stamps, origin, end))
        return np.concatenate(results) if results else np.empty(0, RESULT)

    def top(self, slot: int) -> Records:
        """A query's best k of its window, best first."""
        bag = self._bags[slot]
        return self._pool[bag["top"] : bag["top"] + bag["size"]].copy()

    def held(self) -> IntArray:
        """The positions of all objects that a query refers to; all of the window are stored."""
        first, sizes = self._bags["top"], self._bags["size"]
        if self._skyband:
            first = self._bags["base"] + self._bags["head"]
            sizes = self._bags["tail"] - self._bags["head"]
        return positions_in(self._pool, first, sizes)

    @property
    def reach(self) -> int:
        """Of how many stamps before the newest the rows must be kept."""
        return int(self._queries["width"][self._queries["active"] > 0].max(initial=0))

    @property
    def searches(self) -> int:
        """How often the present queries had the grid searched."""
        return int(self._queries["searches"][self._queries["active"] > 0].sum())

    def snapshot(self) -> dict[str, Any]:
        """All that :meth:`restore` needs; the grid is made anew from the rows."""
        self._repack(0)
        return {
            "queries": self._queries.copy(),
            "bags": self._bags.copy(),
            "points": self._points.copy(),
            "weights": self._weights.copy(),
            "pool": self._pool[: self._used].copy(),
            "cursor": self._cursor.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot of an engine with the same settings."""
        self._queries, self._bags = state["queries"].copy(), state["bags"].copy()
        self._points, self._weights = state["points"].copy(), state["weights"].copy()
        self._pool, self._used = state["pool"].copy(), len(state["pool"])
        self._cursor = state["cursor"].copy()
        self._stale = True
        self._new.clear()
        self._asked = None
        self._make_workspace()

    def _feed(
        self, columns: FloatArray, stamps: IntArray, origin: int, end: int
    ) -> Iterator[Records]:
        stream = Stream(columns, stamps, self._cursor, origin, end, self.reach)
        ended = FULL
        while ended != FED:
            scene = Scene(
                self._skyband, self._watchers(), self._grid, self._listing, stream, self._space
            )
            ended, slot, size = feed_grid(scene)
            if size:
                yield self._space.results[:size].copy()
            if ended == CRAMPED:
                self._place(slot, 2 * int(self._bags[slot]["room"]))
                self._make_workspace()
            elif ended == SCARCE:
                self._arrange(columns, stamps, origin, end)

    def _fit(self, columns: FloatArray, stamps: IntArray, origin: int, end: int) -> None:
        """Have a grid for the rows to come, and the new queries in it."""
        self._cursor[2] = max(self._cursor[2], origin)
        if self._stale or self._unfit(columns, origin, end):
            self._arrange(columns, stamps, origin, end)
            return
        if self._new:
            self._ready(np.array(sorted(self._new), np.int64))
            self._new.clear()

    def _unfit(self, columns: FloatArray, origin: int, end: int) -> bool:
        """Does the grid not cover the new rows or the columns asked for, or is it wasteful?

        It is if it is far too wide, or if many cells have moved, for near cells should be near
        in the storage too.
        """
        wanted = self._columns(len(columns))
        if len(wanted) != len(self._axes) or (wanted & ~self._axes).any():
            return True
        edges = self._edges[wanted]
        row = int(self._cursor[0]) - origin
        new = columns[wanted, row:end]
        low, high = np.fmin.reduce(new, axis=1), np.fmax.reduce(new, axis=1)
        if (low < edges[:, 0]).any() or (high > edges[:, 1]).any():
            return True
        since = row + origin - self._arranged
        alive = int(self._cursor[2]) - origin
        if since < max(_ROWS, row - alive):
            return False
        self._arranged = row + origin
        span = np.ptp(columns[wanted, alive:end], axis=1)
        scattered = self._grid.free[0] > _SCATTERED * self._compact
        return bool(scattered or (span < (edges[:, 1] - edges[:, 0]) / 2).any())

    def _columns(self, count: int) -> BoolArray:
        """Which columns the present queries look at."""
        if self._asked is None or len(self._asked) != count:
            self._asked = np.zeros(count, np.bool_)
            for slot in np.flatnonzero(self._queries["active"] > 0):
                query = self._queries[slot]
                first, d = int(query["column"]), int(query["dimensions"])
                self._asked[first : first + d] |= self._weights[slot, :d] != 0.0
        return self._asked

    def _arrange(self, columns: FloatArray, stamps: IntArray, origin: int, end: int) -> None:
        """Make the grid anew, over the objects of the window and the rows to come."""
        row = int(self._cursor[1]) - origin
        first = int(self._cursor[2]) - origin
        if row > first:
            cutoff = stamps[row - 1] - self.reach
            first += int(np.searchsorted(stamps[first:row], cutoff, side="right"))
        grid = self._cut(columns, first, end)
        count_cells(grid, columns, first, end)
        size = 2 * int(grid.free[0]) + 4 * len(grid.cells) + _ROWS
        self._compact = int(grid.free[0])
        sparse = end - first < _SPARSE * len(grid.cells)
        objects = np.empty((len(columns), size), order="F" if sparse else "C")
        seqs = np.empty(size, np.int64)
        self._grid = grid._replace(objects=objects, seqs=seqs)
        store_all(self._grid, columns, first, row, origin)
        self._arranged = int(self._cursor[0])
        self._stale = False
        self._new.clear()
        most = int(grid.parts.max())
        self._gaps: FloatArray = np.zeros((len(self._queries), len(columns), most))
        self._adds: IntArray = np.zeros(self._gaps.shape, np.int64)
        d, cells = len(columns), len(grid.cells)
        self._listing = Listing(
            np.empty(cells, np.int64),
            np.empty(cells),
            np.empty(d, np.int64),
            np.empty(d),
            np.empty(d, np.int64),
        )
        self._due: IntArray = np.full(len(self._queries), NEVER, np.int64)
        self._soonest: IntArray = np.full(len(self._queries) // BLOCK, NEVER, np.int64)
        self._ready(np.flatnonzero(self._queries["active"] > 0))

    def _cut(self, columns: FloatArray, first: int, end: int) -> Grid:
        """An empty grid over some rows: its inner edges leave out the most outlying values."""
        self._axes = self._columns(len(columns))
        self._edges: FloatArray = np.zeros((len(columns), 2))
        many = int(self._axes.sum())
        each = max(2, min(self._parts, int(_CELLS ** (1 / max(1, many)) + 1e-9)))
        most = int(np.log(_CELLS) / np.log(each) + 1e-9)
        parts = np.ones(len(columns), np.int64)
        parts[np.flatnonzero(self._axes)[:most]] = each
        edges, scale = np.zeros((len(columns), each + 1)), np.zeros(len(columns))
        for c in np.flatnonzero(self._axes):
            self._edges[c], inner = _range(columns[c, first:end])
            edges[c, : parts[c] + 1] = np.linspace(inner[0], inner[1], parts[c] + 1)
            edges[c, 0], edges[c, parts[c]] = self._edges[c]
            scale[c] = parts[c] / (inner[1] - inner[0]) if inner[1] > inner[0] else 0.0
        cells = int(parts.prod())
        strides = cells // np.cumprod(parts)
        return Grid(
            parts,
            strides,
            edges,
            scale,
            np.zeros(cells, CELL),
            np.empty((len(columns), 0)),
            np.empty(0, np.int64),
            np.zeros(1, np.int64),
            np.zeros((cells + 1, len(self._queries) // BLOCK), np.uint64),
        )

    def _ready(self, slots: IntArray) -> None:
        """Let queries watch their cells, and note when their tops lose a member."""
        start_watching(slots, self._watchers(), self._grid, self._listing)

    def _watchers(self) -> Watchers:
        return Watchers(
            self._queries,
            self._bags,
            self._pool,
            self._points,
            self._weights,
            self._gaps,
            self._adds,
            self._due,
            self._soonest,
        )

    def _widen(self, slots: int, dimensions: int) -> None:
        """Have places for this many queries, of this many dimensions."""
        have, wide = self._points.shape
        if slots <= have and dimensions <= wide:
            return
        many = have if slots <= have else -(-max(slots, 2 * have) // BLOCK) * BLOCK
        for name in ("_points", "_weights"):
            grown = np.zeros((many, max(wide, dimensions)))
            grown[:have, :wide] = getattr(self, name)
            setattr(self, name, grown)
        for name in ("_queries", "_bags"):
            longer = np.zeros(many, getattr(self, name).dtype)
            longer[:have] = getattr(self, name)
            setattr(self, name, longer)
        self._stale = True

    def _place(self, slot: int, room: int) -> None:
        """Give a bag a stretch of the pool; what it holds moves along."""
        bag = self._bags[slot]
        wanted = room + int(bag["k"])
        if self._used + wanted > len(self._pool):
            self._repack(wanted)
        self._move(bag, self._pool, room)

    def _move(self, bag: Any, pool: Records, room: int) -> None:
        held = pool[bag["base"] + bag["head"] : bag["base"] + bag["tail"]].copy()
        top = pool[bag["top"] : bag["top"] + bag["size"]].copy()
        bag["base"], bag["room"], bag["top"] = self._used, room, self._used + room
        bag["head"], bag["tail"] = 0, len(held)
        self._pool[self._used : self._used + len(held)] = held
        self._pool[bag["top"] : bag["top"] + len(top)] = top
        self._used += room + int(bag["k"])

    def _repack(self, more: int) -> None:
        """Bring all bags together, with room for ``more`` entries and as many again as now."""
        live = self._bags["room"] > 0
        wanted = int((self._bags["room"] + self._bags["k"])[live].sum())
        old, self._pool, self._used = self._pool, np.zeros(2 * (wanted + more) + 1024, ENTRY), 0
        for slot in np.flatnonzero(live):
            self._move(self._bags[slot], old, int(self._bags[slot]["room"]))

    def _make_workspace(self) -> None:
        """Have work space for the largest query."""
        k = int(self._bags["k"].max(initial=1))
        room = int(self._bags["room"].max(initial=1))
        self._space = Space(
            hits=Hits(
                rows=np.empty(_ROWS + 1, np.int64),
                costs=np.empty(_ROWS + 1),
                scratch=np.empty(max(STRETCH, room + 1)),
            ),
            heap=np.empty(k + 1),
            results=np.empty(_RESULTS + 2 * k + 4, RESULT),
            due=np.empty(len(self._queries), np.int64),
            prices=np.empty(len(self._queries)),
        )


def _range(values: FloatArray) -> tuple[tuple[float, float], FloatArray]:
    """From where to where values lie, with a margin; and without the most outlying ones.

    A score that is computed beforehand may be infinite, or no number.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return (-np.inf, np.inf), np.zeros(2)
    margin = _MARGIN * np.ptp(finite)
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    sample = finite[:: max(1, len(finite) // _SAMPLE)]
    return (low - margin, high + margin), np.quantile(sample, [_OUTLYING, 1 - _OUTLYING])
