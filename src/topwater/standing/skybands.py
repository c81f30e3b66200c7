"""The skyband family for many queries: what each keeps, in one pool, fed by compiled loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from topwater.candidates.published.criterion import limit
from topwater.model import FloatArray, IntArray
from topwater.standing.auto_switch import PORTIONS, UNWATCHED, WATCHED
from topwater.standing.block_cells import NO_INDEX
from topwater.standing.block_feed import feed_queries
from topwater.standing.block_index import BLOCK, BlockIndex
from topwater.standing.candidate_bags import positions_in
from topwater.standing.coarse_scan import room_for_marks
from topwater.standing.composition import Composition
from topwater.standing.costs import STRETCH
from topwater.standing.engines import NumericQuery
from topwater.standing.kernel_records import (
    BAG,
    CRAMPED,
    ENTRY,
    FED,
    FULL,
    NEVER,
    PROBABILISTIC,
    QUERY,
    RELAXED,
    RESULT,
    STRICT,
    Block,
    Hits,
    Queries,
    Records,
    Workspace,
)

_RULES = {"strict": STRICT, "relaxed": RELAXED, "probabilistic": PROBABILISTIC}
_PORTIONS = 6
_RESULTS = 1 << 14
_EXPECTED = 10_000


class Skybands:
    """Any number of queries, each with a bag of candidates and perhaps a filter before it.

    Parameters
    ----------
    composition
        What each query keeps.
    index
        Sorts each block of objects into cells, for the queries that look only at some.
    timed
        Stamps are times; so how many objects a window has is not known before.
    """

    def __init__(self, composition: Composition, index: BlockIndex, *, timed: bool = False) -> None:
        self._composition = composition
        self._index = index
        self._timed = timed
        self._queries: Records = np.zeros(0, QUERY)
        self._bags: Records = np.zeros(0, BAG)
        self._points: FloatArray = np.zeros((0, 1))
        self._weights: FloatArray = np.zeros((0, 1))
        self._pool: Records = np.zeros(1024, ENTRY)
        self._used = 0
        self._minima: FloatArray = np.empty(0)
        self._counted: IntArray = np.zeros(0, np.int64)
        self._log: list[tuple[int, int]] = []
        self._results: Records = np.zeros(0, RESULT)
        self._make_workspace()

    def admit(self, slot: int, query: NumericQuery) -> None:
        """Begin with a query. Its slot is free."""
        self._widen(slot + 1, len(query.point))
        record = self._queries[slot]
        recent = self._composition.recent(query.width)
        exact = _cut(recent, _PORTIONS)
        portion, slots = exact
        if self._composition.watched:
            portion, slots = _cut(query.width, PORTIONS)
        capacity = max(slots, exact[1]) if recent else 0
        for name, value in (
            ("active", 1),
            ("kind", query.kind),
            ("column", query.column),
            ("dimensions", len(query.point)),
            ("width", query.width),
            ("born", query.born),
            ("done", query.born),
            ("buffer", 0 if self._composition.watched else recent),
            ("portion", portion),
            ("current", -NEVER),
            ("left", 0),
            ("ring", len(self._minima)),
            ("slots", slots),
            ("capacity", capacity),
            ("watch", WATCHED if self._composition.watched else UNWATCHED),
            ("alarm", 0),
            ("recent", recent),
        ):
            record[name] = value
        self._points[slot, : len(query.point)] = query.point
        self._weights[slot, : len(query.point)] = query.weight
        self._minima = np.append(self._minima, np.full(capacity, np.inf))
        self._begin(slot, query.k, query.width)
        self._make_workspace()

    def dismiss(self, slot: int) -> None:
        """Forget a query."""
        self._queries[slot]["active"] = 0
        for bag in self._bags_of(slot):
            bag["head"] = bag["tail"] = bag["size"] = bag["room"] = 0
        if self._used > 2 * self._pool_needed() + 1024:
            self._repack(0)

    def feed(self, columns: FloatArray, stamps: IntArray, origin: int, end: int) -> Records:
        """Bring all queries up to row ``end``: who got into a top for the first time."""
        active = self._queries["active"] > 0
        many = int(np.count_nonzero(active))
        if not many:
            return np.empty(0, RESULT)
        full: list[Records] = []
        size = 0
        row = max(0, int(self._queries["done"][active].min()) - origin)
        while row < end:
            first, row = row, min(row + BLOCK, end)
            block = self._index.block(columns, stamps, origin, first, row, many)
            size = self._feed(block, full, size)
            if self._timed:
                self._count_objects(int(stamps[row - 1]), origin + row)
        full.append(self._results[:size].copy())
        return full[0] if len(full) == 1 else np.concatenate(full)

    def top(self, slot: int) -> Records:
        """A query's best k of its window, best first."""
        bag = self._bags[2 * slot]
        return self._pool[bag["top"] : bag["top"] + min(bag["size"], bag["k"])].copy()

    def held(self) -> IntArray:
        """The positions of all objects that a query or its filter refers to."""
        first = self._bags["base"] + self._bags["head"]
        sizes = self._bags["tail"] - self._bags["head"]
        return positions_in(self._pool, first, sizes)

    @property
    def reach(self) -> int:
        """Of how many stamps before the newest the rows must be kept."""
        active = self._queries[self._queries["active"] > 0]
        back = active["width"] if self._composition.watched else active["buffer"]
        return int((back + active["portion"]).max(initial=0))

    def snapshot(self) -> dict[str, Any]:
        """All that :meth:`restore` needs."""
        self._repack(0)
        return {
            "queries": self._queries.copy(),
            "bags": self._bags.copy(),
            "points": self._points.copy(),
            "weights": self._weights.copy(),
            "pool": self._pool[: self._used].copy(),
            "minima": self._minima.copy(),
            "counted": self._counted.copy(),
            "log": np.array(self._log, np.int64).reshape(-1, 2),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot of an engine with the same settings."""
        self._queries, self._bags = state["queries"].copy(), state["bags"].copy()
        self._points, self._weights = state["points"].copy(), state["weights"].copy()
        self._pool, self._used = state["pool"].copy(), len(state["pool"])
        self._minima, self._counted = state["minima"].copy(), state["counted"].copy()
        self._log = [(int(stamp), int(position)) for stamp, position in state["log"]]
        self._make_workspace()

    def _feed(self, block: Block, full: list[Records], size: int) -> int:
        """Bring all queries to a block's end; how many results are not in ``full``."""
        first, ended = 0, FULL
        while ended != FED:
            ended, first, size = feed_queries(first, self._all_queries(), block, self._space, size)
            if ended != FED:
                full.append(self._results[:size].copy())
                size = 0
            if ended == CRAMPED:
                self._enlarge(first)
        return size

    def _all_queries(self) -> Queries:
        return Queries(
            self._queries,
            self._bags,
            self._pool,
            self._minima,
            self._points,
            self._weights,
            self._composition.gamma,
        )

    def _begin(self, slot: int, k: int, width: int) -> None:
        band, filter_ = self._bags_of(slot)
        self._counted[slot] = _EXPECTED if self._timed else width
        for bag, rule in ((band, self._composition.band), (filter_, self._composition.filter)):
            for name in BAG.names or ():
                bag[name] = 0
            bag["bound"], bag["oldest"], bag["covers"] = np.inf, NEVER, 1
            bag["k"] = k if rule else 0
            bag["rule"] = _RULES[rule or "strict"]
            bag["limit"] = 4 * k
        self._set_limits(slot)
        if self._composition.filter == "probabilistic":
            # How many it keeps decides the speed only, not the answers; these are enough that
            # nearly always k of them are left when a portion leaves.
            filter_["limit"] = k + math.ceil(3 * math.sqrt(k)) + 4
            filter_["spare"] = filter_["limit"]
        elif self._composition.filter is not None:
            # With an index, what is not among a filter's k best is not even looked at.
            filter_["spare"] = int(self._index.mode != NO_INDEX)
        for bag, more in ((band, max(8, k // 4)), (filter_, max(4, k // 8))):
            if bag["k"]:
                bag["wide"] = k + min(more, int(bag["limit"]) - k)
                many = 4 if self._composition.watched else 2
                self._place(bag, many * int(bag["limit"] + bag["spare"]) + 8)

    def _set_limits(self, slot: int) -> None:
        """Set how many a probabilistic band keeps, for the objects that its windows have."""
        if self._composition.band != "probabilistic":
            return
        band, k = self._bags[2 * slot], int(self._bags[2 * slot]["k"])
        n = int(self._counted[slot])
        candidates = limit(k, n, self._composition.sigma) if n > k else 0
        keep = k + candidates + self._composition.additional
        self._queries[slot]["need"] = k + candidates
        self._queries[slot]["keep"] = keep
        band["spare"] = max(8, keep // 2)
        if band["rule"] == PROBABILISTIC:
            band["limit"] = keep

    def _count_objects(self, stamp: int, position: int) -> None:
        """Notice how many objects a window of time has; a probabilistic band may have to grow."""
        self._log.append((stamp, position))
        log = np.array(self._log, np.int64)
        active = np.flatnonzero(self._queries["active"] > 0)
        widths = self._queries["width"][active]
        before = np.searchsorted(log[:, 0], stamp - widths, side="right") - 1
        begun = np.where(before >= 0, log[before, 1], self._queries["born"][active])
        objects = position - np.maximum(begun, self._queries["born"][active])
        for slot in active[objects > self._counted[active]]:
            self._counted[slot] = 2 * objects[active == slot][0]
            self._set_limits(int(slot))
            self._make_workspace()
        oldest = int(np.searchsorted(log[:, 0], stamp - widths.max(), side="right")) - 1
        self._log = self._log[max(0, oldest) :]

    def _bags_of(self, slot: int) -> tuple[Any, Any]:
        return self._bags[2 * slot], self._bags[2 * slot + 1]

    def _widen(self, slots: int, dimensions: int) -> None:
        """Have places for this many queries, of this many dimensions."""
        have, wide = self._points.shape
        if slots > have or dimensions > wide:
            many = max(slots, 2 * have) if slots > have else have
            for name in ("_points", "_weights"):
                grown = np.zeros((many, max(wide, dimensions)))
                grown[:have, :wide] = getattr(self, name)
                setattr(self, name, grown)
            self._queries = _longer(self._queries, many)
            self._bags = _longer(self._bags, 2 * many)
            self._counted = _longer(self._counted, many)

    def _place(self, bag: Any, room: int) -> None:
        """Give a bag a stretch of the pool; what it holds moves along."""
        wanted = room + int(bag["wide"])
        if self._used + wanted > len(self._pool):
            self._repack(wanted)
        held = self._pool[bag["base"] + bag["head"] : bag["base"] + bag["tail"]].copy()
        top = self._pool[bag["top"] : bag["top"] + bag["size"]].copy()
        bag["base"], bag["room"] = self._used, room
        bag["head"], bag["tail"] = 0, len(held)
        bag["top"] = self._used + room
        self._pool[self._used : self._used + len(held)] = held
        self._pool[bag["top"] : bag["top"] + len(top)] = top
        self._used += wanted

    def _enlarge(self, slot: int) -> None:
        """Double the room of those bags of a query that are full; of the band, if none is."""
        pair = self._bags_of(slot)
        full = [bag for bag in pair if bag["head"] == 0 and 0 < bag["room"] == bag["tail"]]
        for bag in full or pair[:1]:
            self._place(bag, 2 * int(bag["room"]))
        self._make_workspace()

    def _pool_needed(self) -> int:
        live = self._bags[self._bags["room"] > 0]
        return int((live["room"] + live["wide"]).sum())

    def _repack(self, more: int) -> None:
        """Bring all bags together, with room for ``more`` entries and as many again as now."""
        old, wanted = self._pool, self._pool_needed()
        self._pool = np.zeros(2 * wanted + 2 * more + 1024, ENTRY)
        self._used = 0
        for bag in self._bags:
            if bag["room"]:
                size, room = int(bag["tail"] - bag["head"]), int(bag["room"])
                first = bag["base"] + bag["head"]
                self._pool[self._used : self._used + size] = old[first : first + size]
                top = old[bag["top"] : bag["top"] + bag["size"]]
                self._pool[self._used + room : self._used + room + len(top)] = top
                bag["base"], bag["top"] = self._used, self._used + room
                bag["head"], bag["tail"] = 0, size
                self._used += room + int(bag["wide"])
        self._repack_minima()

    def _repack_minima(self) -> None:
        """Bring the bounds of all portions together."""
        live = self._queries["active"] > 0
        sizes = np.where(live, self._queries["capacity"], 0)
        before = np.cumsum(sizes) - sizes
        at = np.repeat(self._queries["ring"] - before, sizes) + np.arange(sizes.sum())
        self._minima = self._minima[at]
        self._queries["ring"] = before

    def _make_workspace(self) -> None:
        """Have work space for the largest query."""
        k = int(self._bags["k"].max(initial=1))
        room = int(self._bags["room"].max(initial=1))
        self._results = _longer(self._results, max(len(self._results), _RESULTS + 2 * k + 4))
        most = max(k, int(self._queries["keep"].max(initial=0)))
        self._space = Workspace(
            here=np.zeros(self._index.dimensions, np.float32),
            marks=room_for_marks(BLOCK),
            box=np.empty((3, max(1, self._index.dimensions)), np.int64),
            hits=Hits(
                rows=np.empty(BLOCK + 1, np.int64),
                costs=np.empty(BLOCK + 1),
                scratch=np.empty(max(STRETCH, room + 1)),
            ),
            heap=np.empty(2 * most + 2),
            results=self._results,
        )


def _cut(length: int, portions: int) -> tuple[int, int]:
    """How long a portion is, and how many bounds are remembered."""
    portion = max(1, length // portions)
    return portion, length // portion + 3


def _longer(array: Any, size: int) -> Any:
    if size == len(array):
        return array
    grown = np.zeros(size, array.dtype)
    grown[: len(array)] = array
    return grown
