"""All items of a window, indexed by score: what TMA and SMA search."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sortedcontainers import SortedDict

from topwater.candidates.invariants import require
from topwater.candidates.rank_tuples import best
from topwater.model import FloatArray, IntArray, Items

CELLS = 1024
_LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class _Segment:
    """Items of one pane in the order of their cells, so that the best cells are its tail."""

    cells: npt.NDArray[np.uint16]
    items: Items

    def from_cell(self, cell: int) -> Items:
        first = int(np.searchsorted(self.cells, np.uint16(cell)))
        return self.items.take(slice(first, None))


class ScoreGrid:
    """All items of a window in cells of equal width over the score.

    Inserting costs O(n) NumPy work per batch, removing a pane O(cells) per segment, and finding
    the k best O(cells + segments) plus the items of the cells visited. When a score lies outside
    the range, the range grows to at least twice its width and everything is placed anew.

    Examples
    --------
    >>> grid = ScoreGrid()
    >>> grid.insert(0, Items(np.array([1.0, 3.0, 2.0]), np.arange(3), np.arange(3)))
    >>> grid.best(2).score.tolist()
    [3.0, 2.0]
    """

    def __init__(self) -> None:
        self._panes = SortedDict()
        self._counts: IntArray = np.zeros(CELLS, np.int64)
        self._low = self._high = 0.0
        self._size = 0

    def insert(self, pane: int, items: Items) -> None:
        """Place items of one pane."""
        self._widen(float(items.score.min()), float(items.score.max()))
        segment = self._segment(items)
        self._counts += np.bincount(segment.cells, minlength=CELLS)
        self._size += len(items)
        segments = self._panes.setdefault(pane, [])
        segments.append(segment)
        # Sizes at least double from the newest to the oldest: O(log n) segments per pane, however
        # finely the batches are cut.
        while len(segments) > 1 and len(segments[-2].cells) < 2 * len(segments[-1].cells):
            newest, older = segments.pop(), segments.pop()
            segments.append(self._segment(Items.concat([older.items, newest.items])))

    def remove_before(self, pane: int) -> None:
        """Drop all panes before ``pane``."""
        while self._panes and self._panes.peekitem(0)[0] < pane:
            for segment in self._panes.popitem(0)[1]:
                self._counts -= np.bincount(segment.cells, minlength=CELLS)
                self._size -= len(segment.cells)

    def best(self, k: int) -> Items:
        """The k best items, found by visiting the cells from the best one down."""
        from_best = np.cumsum(self._counts[::-1])
        visited = int(np.searchsorted(from_best, min(k, self._size)))
        cell = CELLS - 1 - visited
        reach = [segment for segment in self._segments() if segment.cells[-1] >= cell]
        return best(Items.concat([segment.from_cell(cell) for segment in reach]), k)

    def items(self, first: int = -sys.maxsize, last: int = sys.maxsize) -> Items:
        """All items of the panes from ``first`` to ``last``."""
        inside = self._panes.irange(first, last)
        return Items.concat([each.items for pane in inside for each in self._panes[pane]])

    def __len__(self) -> int:
        return self._size

    def check(self) -> None:
        """Verify the cells, their counts and the size."""
        segments = list(self._segments())
        counts = np.zeros(CELLS, np.int64)
        for segment in segments:
            require(len(segment.cells), "an empty segment")
            require((segment.cells[1:] >= segment.cells[:-1]).all(), "cells are not in order")
            require((segment.cells == self._cells(segment.items.score)).all(), "wrong cells")
            counts += np.bincount(segment.cells, minlength=CELLS)
        require((counts == self._counts).all(), "the counts of the cells are wrong")
        require(self._size == counts.sum(), "the size is wrong")

    def _segments(self) -> Iterator[_Segment]:
        return (segment for segments in self._panes.values() for segment in segments)

    def _segment(self, items: Items) -> _Segment:
        cells = self._cells(items.score)
        order = np.argsort(cells, kind="stable")
        return _Segment(cells[order], items.take(order))

    def _cells(self, scores: FloatArray) -> npt.NDArray[np.uint16]:
        # Halved, because the distance of two finite numbers may be infinite.
        half = max(self._high / 2 - self._low / 2, 1e-300)
        places = (scores / 2 - self._low / 2) * (CELLS / half)
        return np.clip(places, 0, CELLS - 1).astype(np.uint16)

    def _widen(self, low: float, high: float) -> None:
        if not self._size:
            self._low, self._high = low, high
        elif low < self._low or high > self._high:
            low, high = min(low, self._low), max(high, self._high)
            span = high - low
            self._low = max(low - span, -_LARGEST) if low < self._low else low
            self._high = min(high + span, _LARGEST) if high > self._high else high
            self._regrid()

    def _regrid(self) -> None:
        self._counts[:] = 0
        for pane, segments in self._panes.items():
            self._panes[pane] = [self._segment(segment.items) for segment in segments]
            for segment in self._panes[pane]:
                self._counts += np.bincount(segment.cells, minlength=CELLS)
