"""The whole window in a grid, and a small memory that saves most searches: TMA and SMA."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from topwater.candidates.invariants import require
from topwater.candidates.published.score_grid import ScoreGrid
from topwater.candidates.rank_tuples import Rank, best, by_pane, ranks, rows
from topwater.model import Arrivals, BoolArray, IntArray, Items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater.windows import Windows


class Memory(Protocol):
    """What is remembered of the window between two searches in the grid."""

    @property
    def items(self) -> Items:
        """What is remembered, best first; the first k are the answer."""

    def reset(self, found: Items, ends: IntArray) -> None:
        """Start anew from the k best of the window, best first."""

    def offer(self, items: Items, end: int) -> None:
        """Consider arrivals, which all live until window ``end``."""

    def expire(self, window: int) -> None:
        """Drop what ends with ``window``."""

    def check(self, window: Items, ends: IntArray) -> None:
        """Verify against all items of the window, best first."""


class TopMemory:
    """TMA's memory: the items of the window that rank at or above the k-th, and no others.

    An arrival that beats the k-th replaces it.  O(a + k log k) for the a arrivals of a batch.
    """

    def __init__(self, k: int) -> None:
        self._k = k
        self.items = Items.empty()
        self._ends: IntArray = np.empty(0, np.int64)
        self._threshold: Rank | None = None

    def reset(self, found: Items, ends: IntArray) -> None:
        """Start anew from the k best of the window, best first."""
        self._threshold = None
        self._keep(found, ends)

    def offer(self, items: Items, end: int) -> None:
        """Let in the arrivals that beat the threshold."""
        arrived = best(_above(items, self._threshold), self._k)
        if len(arrived):
            both = Items.concat([self.items, arrived])
            order = np.lexsort((both.key, -both.time, -both.score))[: self._k]
            self._keep(both.take(order), np.append(self._ends, np.full(len(arrived), end))[order])

    def expire(self, window: int) -> None:
        """Drop what ends with ``window``.  O(k)."""
        alive = self._ends > window
        self.items, self._ends = self.items.take(alive), self._ends[alive]

    def check(self, window: Items, ends: IntArray) -> None:  # noqa: ARG002
        """Verify that exactly the items at or above the threshold are remembered."""
        last = self._threshold
        expected = [rank for rank in ranks(window) if last is None or rank <= last]
        # Items equal to the k-th are interchangeable: not all of them need to be here.
        require(
            list(ranks(self.items)) == expected[: len(self.items)], "not the best of the window"
        )
        require(
            all(rank == last for rank in expected[len(self.items) :]), "a better item is missing"
        )

    def _keep(self, items: Items, ends: IntArray) -> None:
        self.items, self._ends = items, ends
        if len(items) == self._k:
            self._threshold = next(ranks(items.take(slice(-1, None))))


class SkybandMemory:
    """SMA's memory: the k-skyband of what ranks at or above the threshold of the last search.

    Of two items the one that ranks higher and lives at least as long dominates the other. What k
    others dominate can't get into an answer any more.  O(a + s log s) for the a arrivals of a
    batch and the s items remembered; the counters of a batch are raised all at once.
    """

    def __init__(self, k: int) -> None:
        self._k = k
        self.items = Items.empty()
        self._ends: IntArray = np.empty(0, np.int64)
        self._dominators: IntArray = np.empty(0, np.int64)
        self._threshold: Rank | None = None

    def reset(self, found: Items, ends: IntArray) -> None:
        """Start anew from the k best of the window, best first."""
        full = len(found) == self._k
        self._threshold = next(ranks(found.take(slice(-1, None)))) if full else None
        self.items, self._ends = found, ends
        self._dominators = _dominators(ends)

    def offer(self, items: Items, end: int) -> None:
        """Let in the arrivals at or above the threshold, and count whom they dominate."""
        arrived = best(_above(items, self._threshold), self._k)
        if not len(arrived):
            return
        both = Items.concat([self.items, arrived])
        order = np.lexsort((both.key, -both.time, -both.score))
        new = order >= len(self.items)
        ends = np.append(self._ends, np.full(len(arrived), end))[order]
        known = np.append(self._dominators, np.zeros(len(arrived), np.int64))[order]
        outlive = np.cumsum(ends >= end)
        raised = np.where(ends <= end, known + np.cumsum(new), known)
        dominators = np.where(new, outlive - 1, raised)
        self._keep(both.take(order), ends, dominators, dominators < self._k)

    def expire(self, window: int) -> None:
        """Drop what ends with ``window``.  O(s)."""
        # It dominated nothing that outlives it, so that no counter changes.
        self._keep(self.items, self._ends, self._dominators, self._ends > window)

    def check(self, window: Items, ends: IntArray) -> None:
        """Verify that exactly the k-skyband above the threshold is remembered."""
        above = [
            (rank, int(count))
            for rank, count in zip(ranks(window), _dominators(ends), strict=True)
            if count < self._k and (self._threshold is None or rank <= self._threshold)
        ]
        kept = list(zip(ranks(self.items), self._dominators.tolist(), strict=True))
        # Items equal to the threshold are interchangeable: not all of them need to be here.
        require(kept == above[: len(kept)], "not the k-skyband of the window")
        require(all(rank == self._threshold for rank, _ in above[len(kept) :]), "one is missing")

    def _keep(self, items: Items, ends: IntArray, dominators: IntArray, chosen: BoolArray) -> None:
        self.items = items.take(chosen)
        self._ends, self._dominators = ends[chosen], dominators[chosen]


class Indexed:
    """The whole window in a grid, with a memory of the best: TMA or SMA, depending on it.

    The grid is searched when the memory holds fewer than k items though the window has more.

    Takes only panes of the current window; ``InOrder`` lifts that restriction.

    Parameters
    ----------
    windows
        The windows that slide over the stream.
    k
        How many items an answer has.
    memory
        What is remembered between two searches.

    Notes
    -----
    Mouratidis, Bakiras and Papadias, "Continuous monitoring of top-k queries over sliding
    windows", SIGMOD 2006. Our items have one score, so the grid has one dimension, and a query's
    influence region is a threshold. Here expiries come before arrivals and the search waits until
    an answer is due: an arrival may fill a place left empty, which spares both of them searches.

    Examples
    --------
    >>> from topwater.windows import sliding
    >>> pair = sliding(width=4, step=2)
    >>> lst = sma(pair, k=1)
    >>> lst.add(pair.group(Items(np.array([9.0, 5.0]), np.array([1, 3]), np.array([7, 8]))))
    >>> lst.top(0).key.tolist(), lst.recomputations
    ([7], 1)
    """

    def __init__(self, windows: Windows, k: int, memory: Memory) -> None:
        self.windows = windows
        self.k = k
        self.recomputations = 0
        self._memory = memory
        self._grid = ScoreGrid()
        self._current = 0

    def add(self, arrivals: Arrivals) -> None:
        """Bring new items of panes in the current window."""
        for pane, items in by_pane(arrivals):
            self._grid.insert(pane, items)
            if self.recomputations:
                self._memory.offer(items, self.windows.span_of(pane)[1])

    def top(self, window: int) -> Items:
        """The best k of a window, best first.  O(k), plus a search if one is due.

        For a window after the current one: O(n) in the items that live so long.
        """
        if window > self._current:
            return best(self._grid.items(*self.windows.panes_in(window)), self.k)
        if not self.recomputations or len(self._memory.items) < min(self.k, len(self._grid)):
            self._recompute()
        return self._memory.items.take(slice(0, self.k))

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``.  O(1) NumPy calls per pane dropped."""
        if window >= self._current:
            self._current = window + 1
            self._grid.remove_before(self.windows.panes_in(self._current)[0])
            self._memory.expire(window)

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return rows(self._grid.items().ranked())

    def __len__(self) -> int:
        return len(self._grid)

    def remembered(self) -> Items:
        """What spares the searches: the top-k or the k-skyband, best first."""
        return self._memory.items

    def snapshot(self) -> Items:
        """Every item of the window."""
        return self._grid.items()

    def check(self) -> None:
        """Verify the grid, and the memory against the grid."""
        self._grid.check()
        if self.recomputations:
            window = self._grid.items().ranked()
            self._memory.check(window, self._ends(window))

    def _recompute(self) -> None:
        found = self._grid.best(self.k)
        self._memory.reset(found, self._ends(found))
        self.recomputations += 1

    def _ends(self, items: Items) -> IntArray:
        return self.windows.pane_of(items.time) // self.windows.panes_per_step


def tma(windows: Windows, k: int) -> Indexed:
    """The list that remembers the top-k, and searches when a member of it expires."""
    return Indexed(windows, k, TopMemory(k))


def sma(windows: Windows, k: int) -> Indexed:
    """The list that remembers the k-skyband, and searches when it falls below k."""
    return Indexed(windows, k, SkybandMemory(k))


def _above(items: Items, threshold: Rank | None) -> Items:
    """The items that rank above the threshold; all of them if there is none."""
    if threshold is None:
        return items
    score, time, key = -threshold[0], -threshold[1], threshold[2]
    items = items.take(items.score >= score)
    younger = (items.time > time) | ((items.time == time) & (items.key < key))
    return items.take(cast("BoolArray", (items.score > score) | younger))


def _dominators(ends: IntArray) -> IntArray:
    """How many items before each one, in rank order, live at least as long.  O(n log n)."""
    seen: list[int] = []
    counts = np.empty(len(ends), np.int64)
    for place, end in enumerate(ends.tolist()):
        counts[place] = place - bisect_left(seen, end)
        insort(seen, end)
    return counts
