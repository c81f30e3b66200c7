"""The production list: whole batches in, each pane reduced to its best, dominance per pane.

What is kept are *candidates*, the items that are beaten by fewer than k items which leave with
them or later, and the runs (:mod:`topwater.candidates.runs`) of panes that no closed window has
reached yet.

Between calls the candidates are exactly the minimal set that MinTopk keeps [1]_: the union of the
predicted answers of all open windows. Inside a long sweep a few more may wait to be merged. In a
stream of random order there are about k·H of them, H being the harmonic number of the panes per
window.

.. [1] Yang, Shastri, Rundensteiner, Ward: An Optimal Strategy for Monitoring Top-k Queries in
   Streaming Windows, EDBT 2011. There objects come one by one and carry two window marks; here
   panes come as arrays and items carry one count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topwater.candidates.invariants import require
from topwater.candidates.panes_kernels import roll
from topwater.candidates.runs import (
    merge,
    no_hint,
    nothing,
    pane_column,
    rank_column,
    reduce,
    split,
)
from topwater.model import Arrivals, FloatArray, IntArray, Items
from topwater.windows import Windows

_AT_HAND = 65_536
"""The number of items of runs folded at a time."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Best first, each with its last window and how often it is beaten by what lasts as long."""

    items: Items
    leaves: IntArray
    beaten: IntArray

    def take(self, rows: IntArray | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> _Candidates:
        return _Candidates(self.items.take(rows), self.leaves[rows], self.beaten[rows])


_NONE = _Candidates(Items.empty(), np.empty(0, np.int64), np.empty(0, np.int64))


class Panes:
    """The k best of every window, from a minimal set of candidates.

    Complexity: ``add`` one comparison for almost every item, and O(k log k) per pane; ``sweep``
    O(candidates + k) per pane and window; ``top`` O(m log m) for m items kept.

    Examples
    --------
    >>> from topwater.windows import counting
    >>> windows = counting(width=4, step=2)
    >>> panes = Panes(windows, k=1)
    >>> score = np.array([9.0, 1.0, 4.0, 5.0])
    >>> panes.add(windows.group(Items(score, np.arange(1, 5), np.array([11, 12, 13, 14]))))
    >>> panes.top(0).key.tolist(), panes.top(1).key.tolist(), len(panes)
    ([11], [14], 2)
    """

    def __init__(self, windows: Windows, k: int) -> None:
        self.windows = windows
        self.k = k
        self._current = 0
        self._folded = -1
        self._kept = _NONE
        self._runs = nothing()
        self._hint = no_hint()

    def floors(self, panes: IntArray) -> FloatArray:
        """Per pane, the score below which a new item of it can't be in any answer."""
        floors = np.full(len(panes), -np.inf)
        runs = self._runs
        at = np.searchsorted(runs.panes, panes)
        known = np.flatnonzero(at < len(runs.panes))
        known = known[runs.panes[at[known]] == panes[known]]
        full = known[np.diff(runs.bounds)[at[known]] == self.k]
        floors[full] = runs.items.score[runs.bounds[at[full] + 1] - 1]
        return floors

    def add(self, arrivals: Arrivals) -> None:
        """Bring new items."""
        if not len(arrivals):
            return
        floors = self.floors(arrivals.panes)
        runs = reduce(arrivals, self.k, floors=floors, hint=self._hint)
        late, runs = split(runs, self._folded)
        for j in range(len(late.panes)):
            self._fold(late.items.take(slice(*late.bounds[j : j + 2])), int(late.panes[j]))
        self._runs = merge(self._runs, runs, self.k)

    def top(self, window: int) -> Items:
        """The best k of a window, best first."""
        first, last = self.windows.panes_in(window)
        items = self.snapshot()
        pane = self.windows.pane_of(items.time)
        return items.take((pane >= first) & (pane <= last)).ranked().take(slice(self.k))

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``."""
        if window < self._current:
            return
        self._fold_due(window)
        self._current = window + 1
        first, _ = self.windows.panes_in(self._current)
        self._kept = self._kept.take(self._kept.leaves >= self._current)
        self._runs = split(self._runs, first - 1)[1]

    def sweep(self, arrivals: Arrivals, until: int) -> tuple[Items, IntArray, IntArray]:
        """Answers of all windows up to ``until``, their sizes, and the candidates each had."""
        self.add(arrivals)
        if until < self._current:
            return Items.empty(), np.empty(0, np.int64), np.empty(0, np.int64)
        parts = [self._roll(stop) for stop in self._stops(until)]
        answers, sizes, kept = zip(*parts, strict=True)
        return Items.concat([*answers]), np.concatenate(sizes), np.concatenate(kept)

    def _stops(self, until: int) -> Iterator[int]:
        """Where to pause on the way, so that what is at hand stays in the processor's cache."""
        windows = until - self._current + 1
        stride = max(1, windows * _AT_HAND // max(1, len(self._runs)))
        yield from range(self._current + stride - 1, until, stride)
        yield until

    def _roll(self, until: int) -> tuple[Items, IntArray, IntArray]:
        _, last = self.windows.panes_in(until)
        due, self._runs = split(self._runs, last)
        pool = Items.concat([self._kept.items, due.items])
        leaves = np.concatenate([self._kept.leaves, self._leaves(pane_column(due))])
        answers, sizes, kept, left, beaten = roll(
            pool.score,
            leaves,
            np.concatenate([self._kept.beaten, rank_column(due)]),
            due.bounds + len(self._kept.leaves),
            self.windows.first_windows(due.panes),
            self._current,
            until,
            self.k,
        )
        self._kept = _Candidates(pool.take(left), leaves[left], beaten)
        self._current = until + 1
        self._folded = max(self._folded, last)
        return pool.take(answers), sizes, kept

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        self._fold_due(self._current)
        items = self._kept.items
        return zip(items.score.tolist(), items.time.tolist(), items.key.tolist(), strict=True)

    def __len__(self) -> int:
        self._fold_due(self._current)
        return len(self._kept.items)

    def snapshot(self) -> Items:
        """All that a restart needs."""
        return Items.concat([self._kept.items, self._runs.items])

    def check(self) -> None:
        """Candidates are ranked, in an open window, and beaten exactly as often as counted."""
        items, leaves, beaten = self._kept.items, self._kept.leaves, self._kept.beaten
        order = np.lexsort((items.key, -items.time, -items.score))
        better = np.triu(np.ones((len(leaves), len(leaves)), bool), 1)
        dominators = (better & (leaves[:, None] >= leaves[None, :])).sum(axis=0)
        pane, runs = self.windows.pane_of(items.time), self._runs.panes
        require(np.array_equal(items.key[order], items.key), "candidates are not best first")
        require(np.array_equal(self._leaves(pane), leaves), "a last window is wrong")
        require(np.all(leaves >= self._current), "an expired item is kept")
        require(np.array_equal(dominators, beaten), "a dominance count is wrong")
        require(np.all(beaten < self.k), "an item that can't win is kept")
        require(len(runs) == 0 or runs[0] > self._folded, "a run was not folded")

    def _leaves(self, panes: IntArray) -> IntArray:
        """The last window of each pane."""
        return panes // self.windows.panes_per_step

    def _fold_due(self, window: int) -> None:
        """Fold the runs of all panes that ``window`` reaches."""
        last = self.windows.panes_in(window)[1]
        due, self._runs = split(self._runs, last)
        for j in range(len(due.panes)):
            self._fold(due.items.take(slice(*due.bounds[j : j + 2])), int(due.panes[j]))
        if len(due):
            self._folded = max(self._folded, int(due.panes[-1]))

    def _fold(self, run: Items, pane: int) -> None:
        """Merge one run into the candidates: in NumPy, and for panes older than others too."""
        old, last = self._kept, pane // self.windows.panes_per_step
        items = Items.concat([old.items, run])
        leaves = np.concatenate([old.leaves, np.full(len(run), last)])
        beaten = np.concatenate([old.beaten, np.zeros(len(run), np.int64)])
        new = np.arange(len(items)) >= len(old.leaves)
        order = np.lexsort((items.key, -items.time, -items.score))
        leaves, new = leaves[order], new[order]
        above: IntArray = np.cumsum(new) - new
        beaten = beaten[order] + np.where(leaves <= last, above, 0)
        beaten[new] += np.cumsum(~new & (leaves >= last))[new]
        merged = _Candidates(items.take(order), leaves, beaten)
        self._kept = merged.take(beaten < self.k)
