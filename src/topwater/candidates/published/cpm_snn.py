"""All objects of the window in a regular grid, and a query that watches some cells: CPM/w and SNN.

Mouratidis and Papadias, "Continuous nearest neighbor queries over sliding windows", IEEE TKDE
19(6), 2007. Objects have one score here, so the grid has one dimension, and the cells a query
watches are those from its threshold up.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from heapq import nsmallest
from operator import attrgetter
from typing import Any

from topwater.candidates.invariants import require
from topwater.candidates.published.object_trees import Ages, Seen
from topwater.candidates.published.skyband import Relaxed, Strict

CELLS = 64


class Cells:
    """Objects in cells of equal width over the score.

    When a score lies outside, the range grows to at least twice its width, and all is placed anew.

    Examples
    --------
    >>> cells = Cells()
    >>> for stamp, score in enumerate([1.0, 3.0, 2.0]):
    ...     cells.add(Seen(score, "key", stamp))
    >>> [each.score for each in cells.best(2)]
    [3.0, 2.0]
    """

    def __init__(self) -> None:
        self._low, self._high = math.inf, -math.inf
        self._members: list[set[Seen]] = [set() for _ in range(CELLS)]

    def cell(self, score: float) -> int:
        """Where a score lies; scores outside count as being in the first or the last cell."""
        if score <= self._low:
            return 0
        # Halved, because the distance of two finite numbers may be infinite.
        place = (score / 2 - self._low / 2) / max(self._high / 2 - self._low / 2, 1e-300)
        return int(min(place * CELLS, CELLS - 1))

    def add(self, seen: Seen) -> None:
        """O(1), unless the range grows."""
        if not self._low <= seen.score <= self._high:
            self._widen(seen.score)
        self._members[self.cell(seen.score)].add(seen)

    def remove(self, seen: Seen) -> None:
        """O(1)."""
        self._members[self.cell(seen.score)].remove(seen)

    def best(self, k: int) -> list[Seen]:
        """The k best, best first, found by visiting the cells from the best one down."""
        found: list[Seen] = []
        for members in reversed(self._members):
            found += members
            if len(found) >= k:
                break
        return nsmallest(k, found, key=attrgetter("rank"))

    def check(self) -> None:
        """Verify that each object is in its cell."""
        for number, members in enumerate(self._members):
            require(all(self.cell(each.score) == number for each in members), "a wrong cell")

    def _widen(self, score: float) -> None:
        everything = [each for members in self._members for each in members]
        if not everything:
            self._low = self._high = score
            return
        low, high = min(self._low, score), max(self._high, score)
        most = sys.float_info.max
        self._low = max(2 * low - high, -most) if low < self._low else low
        self._high = min(2 * high - low, most) if high > self._high else high
        for members in self._members:
            members.clear()
        for each in everything:
            self._members[self.cell(each.score)].add(each)


class Topmost(Relaxed):
    """The k best without any candidates: what CPM/w remembers between two searches."""

    discards = True

    def __init__(self, k: int) -> None:
        super().__init__(k, first_limit=1)

    def _tidy(self) -> None:
        self._candidates.clear()


class Gridded:
    """The whole window in a grid, with a memory of the best: CPM/w or SNN, depending on it.

    The memory holds what ranks above a bound, or of it what can still win. The grid is searched
    when the memory has fewer than k objects, though the window has more; the k-th score found is
    then the threshold. The cells watched change only when the threshold falls below them: a query
    that shrinks is not indexed anew. As published, a query that starts with an empty window so
    keeps the threshold of its first k objects until a search: SNN then holds almost the whole
    k-skyband, and searches next to never.

    Parameters
    ----------
    memory
        Makes an empty memory.

    Attributes
    ----------
    threshold, indexed
        The k-th score of the last search, and the lowest that the watched cells were chosen for.
    searches, reindexed
        How often the grid was searched, and the watched cells changed.
    """

    def __init__(self, memory: Callable[[], Relaxed]) -> None:
        self._make = memory
        self.memory = memory()
        self.k = self.memory.k
        self.threshold = self.indexed = -math.inf
        self.searches = self.reindexed = 0
        self._until: float = -math.inf
        self._bound: tuple[Any, ...] | None = None
        self._cells = Cells()
        self._ages = Ages()

    def expire(self, until: int) -> None:
        """Drop all stamps up to ``until``."""
        if until > self._until:
            self._until = until
            for left in self._ages.pop_until(until):
                self._cells.remove(left)
            self.memory.expire(until)

    def add(self, seen: Seen) -> None:
        """Place an arrival in the grid, and let the query see it if it watches the cell."""
        if seen.stamp <= self._until:
            return
        self._ages.add(seen)
        self._cells.add(seen)
        watched = self._cells.cell(seen.score) >= self._cells.cell(self.indexed)
        if watched and (self._bound is None or seen.rank < self._bound):
            self.memory.add(seen)

    def fill_top(self) -> list[Seen]:
        """Fill the top-k, by a search if need be, and tell what entered it."""
        entered = self.memory.fill_top()
        if len(self.memory) < min(self.k, len(self._ages)):
            entered = self._search()
        top = self.memory.top()
        if len(top) == self.k:
            if self._bound is None:
                self._watch(top[-1].score)
            if self._bound is None or self.memory.discards:
                self._bound = top[-1].rank
        return entered

    def top(self) -> list[Seen]:
        """The top-k, best first."""
        return self.memory.top()

    def kept(self) -> Iterator[Seen]:
        """All objects of the window."""
        return iter(self._ages)

    def check(self) -> None:
        """Verify the grid, the memory, and the memory against the grid."""
        self._cells.check()
        self.memory.check()
        require(self.top() == self._cells.best(self.k), "not the best of the window")
        held = {*self.memory.kept()}
        require(held <= {*self._ages}, "the memory has more than the window")
        if self._bound is not None:
            require(all(each.rank <= self._bound for each in held), "one below the bound")

    def _search(self) -> list[Seen]:
        self.searches += 1
        self.memory = self._make()
        for each in self._cells.best(self.k):
            self.memory.add(each)
        self._bound = None
        entered = self.memory.fill_top()
        if len(self.memory) < self.k:
            self._watch(-math.inf)
        return entered

    def _watch(self, threshold: float) -> None:
        self.threshold = threshold
        if threshold < self.indexed or self.indexed == -math.inf < threshold:
            self.indexed = threshold
            self.reindexed += 1


def cpm_w(k: int) -> Gridded:
    """CPM/w remembers the top-k, and searches when a member of it leaves."""
    return Gridded(lambda: Topmost(k))


def snn(k: int) -> Gridded:
    """SNN remembers the k-skyband, and searches when it falls below k."""
    return Gridded(lambda: Strict(k))
