"""One list for all windows, with two marks per item and one pointer per window: MinTopk."""

from __future__ import annotations

from functools import partial
from itertools import count, islice, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sortedcontainers import SortedKeyList

from topwater.candidates.invariants import require
from topwater.candidates.rank_tuples import Rank, by_pane, feed, items_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater.model import Arrivals, Items
    from topwater.windows import Windows


class _Candidate:
    """An item, the first and last window whose top-k it is in, and its neighbours in the list."""

    __slots__ = ("above", "below", "end", "rank", "start")

    def __init__(self, rank: tuple[Any, ...], start: int, end: int) -> None:
        self.rank = rank
        self.start = start
        self.end = end
        self.above = self
        self.below = self


class SuperTopK:
    """The candidates of all windows in one list, best first: MinTopk.

    An item that is among the k best of a window stays so until it leaves, as later windows hold
    fewer of its rivals. Hence two marks, ``start`` and ``end``, tell all the windows whose answer
    it is in. Each window with k members has a pointer to the lowest of them.

    Takes only panes of the current window; ``InOrder`` lifts that restriction.

    Parameters
    ----------
    windows
        The windows that slide over the stream.
    k
        How many items an answer has.

    Notes
    -----
    Inserting costs O(log m) for m candidates, and O(1) for each window entered; an item that
    enters none costs one comparison. ``expire`` is O(k) per window, ``top`` O(k) for the current
    window and O(m) for a later one, ``len`` O(1). Nothing is ever recomputed. If scores come in
    random order and n windows overlap, m is k (1 + 1/2 + ... + 1/n) on average, and never more
    than k n.

    Yang, Shastri, Rundensteiner and Ward, "An Optimal Strategy for Monitoring Top-k Queries in
    Streaming Windows", EDBT 2011. Their Lemma 4.5 puts the second-lowest member of a window
    directly above its lowest. In truth candidates that end before the window may stand between
    the two, each the lowest of its own last window. The pointer still moves one place only: we
    treat the windows from the oldest to the newest, so that those which the new item beats have
    left by then, and those which it does not beat stand above it.

    Examples
    --------
    >>> from topwater.model import Items
    >>> from topwater.windows import sliding
    >>> pair = sliding(width=4, step=2)
    >>> lst = SuperTopK(pair, k=1)
    >>> lst.add(pair.group(Items(np.array([9.0, 5.0]), np.array([1, 3]), np.array([7, 8]))))
    >>> lst.marks(), lst.lower_bounds()
    ([(7, 0, 0), (8, 1, 1)], {0: 7, 1: 8})
    """

    def __init__(self, windows: Windows, k: int) -> None:
        self.windows = windows
        self.k = k
        self._current = 0
        self._list = SortedKeyList(key=attrgetter("rank"))
        # A ring closed by a candidate that is none: its neighbours are the worst and the best.
        self._ring = _Candidate((), 0, 0)
        self._members: dict[int, int] = {}
        self._lowest: dict[int, _Candidate] = {}
        self._serials = count()
        self._key_dtype: npt.DTypeLike = np.int64

    def add(self, arrivals: Arrivals) -> None:
        """Bring new items of panes in the current window."""
        if len(arrivals):
            self._key_dtype = arrivals.items.key.dtype
        for pane, items in by_pane(arrivals):
            _, end = self.windows.span_of(pane)
            feed(
                items,
                partial(self._insert, end=end),
                partial(self._bound, end),
                chunk=max(32, self.k),
            )

    def top(self, window: int) -> Items:
        """The best k of a window, best first.  O(k), or O(m) for a later window."""
        if window == self._current:
            return self._items(islice(self._list, self.k))
        return self._items(each for each in self._list if each.start <= window <= each.end)

    def expire(self, window: int) -> None:
        """Purge all windows up to ``window``.  O(k log m) for each that has candidates."""
        while self._current <= window and self._list:
            self._purge()
        self._current = max(self._current, window + 1)

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return ((-each.rank[0], -each.rank[1], each.rank[2]) for each in self._list)

    def __len__(self) -> int:
        return len(self._list)

    def marks(self) -> list[tuple[Any, int, int]]:
        """(key, start, end) of every candidate, best first."""
        return [(each.rank[2], each.start, each.end) for each in self._list]

    def lower_bounds(self) -> dict[int, Any]:
        """The key of the lowest member of each window that has k members."""
        return {window: each.rank[2] for window, each in sorted(self._lowest.items())}

    def snapshot(self) -> Items:
        """Every candidate, best first."""
        return self._items(self._list)

    def check(self) -> None:
        """Verify the marks, the members of each window, the pointers and the ring."""
        kept: list[_Candidate] = list(self._list)
        require(all(a.rank < b.rank for a, b in pairwise(kept)), "the list is not best first")
        require(list(self._walk()) == kept, "the ring is not the list")
        for each in kept:
            require(self._current <= each.start <= each.end, f"marks of {each.rank}")
        first = [each for each in kept if each.start == self._current]
        require(first == kept[: self.k], "the first k are not the current window's answer")
        ends = {each.end for each in kept}
        live = range(self._current, max(ends, default=self._current - 1) + 1)
        require(sorted(self._members) == list(live), "a window lacks its number of members")
        for window in live:
            self._check_window(window, kept)

    def _check_window(self, window: int, kept: list[_Candidate]) -> None:
        members = [each for each in kept if each.start <= window <= each.end]
        alive = [each for each in kept if each.end >= window]
        require(members == alive[: self.k], f"members of window {window}")
        require(self._members[window] == len(members), f"count of window {window}")
        lowest = self._lowest.get(window)
        require((lowest is not None) == (len(members) == self.k), f"pointer of window {window}")
        if lowest is not None:
            require(lowest is members[-1], f"pointer of window {window} is not its lowest")
            self._check_neighbours(window, members)

    def _check_neighbours(self, window: int, members: list[_Candidate]) -> None:
        for second, lowest in pairwise(members[-2:]):
            between = lowest.above
            while between is not second:
                require(between.end < window, f"a member of window {window} was left out")
                require(self._lowest[between.end] is between, "it would not leave in time")
                between = between.above

    def _walk(self) -> Iterator[_Candidate]:
        each = self._ring.below
        while each is not self._ring:
            require(each.below.above is each, "the ring is torn")
            yield each
            each = each.below

    def _items(self, candidates: Any) -> Items:
        return items_of((each.rank for each in candidates), self._key_dtype)

    def _bound(self, end: int) -> float:
        lowest = self._lowest.get(end)
        return -np.inf if lowest is None else -lowest.rank[0]

    def _insert(self, rank: Rank, end: int) -> None:
        marked = (*rank, next(self._serials))
        start = self._career(marked, end)
        if start > end:
            return
        self._link(_Candidate(marked, start, end))
        # Oldest first: what leaves an older window must be gone when a younger pointer moves.
        for window in range(start, end + 1):
            lowest = self._lowest.get(window)
            if lowest is None:
                self._count(window)
            else:
                self._lowest[window] = lowest.above
                lowest.start += 1
                if lowest.start > lowest.end:
                    self._unlink(lowest)

    def _career(self, rank: tuple[Any, ...], end: int) -> int:
        """The oldest window that the item enters, or ``end + 1``.

        Bounds fall from window to window, so we look from the last window back and stop at the
        first that refuses: the cost is the number of windows entered.
        """
        for window in range(end, self._current - 1, -1):
            lowest = self._lowest.get(window)
            if lowest is not None and lowest.rank < rank:
                return window + 1
        return self._current

    def _count(self, window: int) -> None:
        members = self._members.get(window, 0) + 1
        self._members[window] = members
        if members == self.k:
            # Until now the window took all that live in it, and nothing that ends earlier ranks
            # below k items that outlive it: the worst candidate is the window's lowest member.
            self._lowest[window] = self._ring.above

    def _purge(self) -> None:
        for each in list(islice(self._list, self.k)):
            each.start += 1
            if each.start > each.end:
                self._unlink(each)
        self._members.pop(self._current, None)
        self._lowest.pop(self._current, None)
        self._current += 1

    def _unlink(self, candidate: _Candidate) -> None:
        if candidate.below is self._ring:
            self._list.pop()  # the usual case, and it needs no search
        else:
            self._list.remove(candidate)
        candidate.above.below = candidate.below
        candidate.below.above = candidate.above

    def _link(self, candidate: _Candidate) -> None:
        place = self._list.bisect_key_right(candidate.rank)
        below = self._list[place] if place < len(self._list) else self._ring
        candidate.above, candidate.below = below.above, below
        below.above.below = candidate
        below.above = candidate
        self._list.add(candidate)
