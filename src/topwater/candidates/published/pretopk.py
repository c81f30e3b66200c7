"""One predicted top-k per window: PreTopk."""

from __future__ import annotations

from bisect import insort
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwater.candidates.invariants import require
from topwater.candidates.rank_tuples import Rank, by_pane, feed, items_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater.model import Arrivals, Items
    from topwater.windows import Windows

Entry: TypeAlias = tuple[float, int, Any, int]
"""A rank and a serial number, which tells equal items apart."""


class Predicted:
    """The top-k that the current and each later window would have if nothing else arrived.

    An item lives from the current window to the last one that its pane is in. It is offered to
    those windows from the last to the current one, and the first that refuses it ends the round:
    an older window holds all that a younger one holds, so it refuses as well.

    Takes only panes of the current window; ``InOrder`` lifts that restriction.

    Parameters
    ----------
    windows
        The windows that slide over the stream.
    k
        How many items an answer has.

    Notes
    -----
    Inserting costs O(log k) comparisons for each window that the item enters, and moves at most
    k references there; an item that enters none costs one comparison. ``expire`` is O(k) per
    window dropped, ``top`` O(k), ``len`` O(1). Memory: the items, and k references per window.

    PreTopk of Yang, Shastri, Rundensteiner and Ward, "An Optimal Strategy for Monitoring Top-k
    Queries in Streaming Windows", EDBT 2011. We add a count of the windows that hold an item, so
    that the number of distinct items is known, and drop most of a batch by one comparison.

    Examples
    --------
    >>> from topwater.model import Items
    >>> from topwater.windows import sliding
    >>> pair = sliding(width=4, step=2)
    >>> lst = Predicted(pair, k=1)
    >>> lst.add(pair.group(Items(np.array([9.0, 5.0]), np.array([1, 3]), np.array([7, 8]))))
    >>> lst.predicted()
    {0: [7], 1: [8]}
    """

    def __init__(self, windows: Windows, k: int) -> None:
        self.windows = windows
        self.k = k
        self._current = 0
        self._tops: dict[int, list[Entry]] = {}
        self._uses: dict[Entry, int] = {}
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
        """The best k of a window, best first.  O(k)."""
        return items_of(self._tops.get(window, ()), self._key_dtype)

    def expire(self, window: int) -> None:
        """Drop the predictions up to ``window``.  O(k) for each."""
        # The windows that have a prediction follow each other without a gap from the current one.
        while self._current <= window and self._tops:
            for entry in self._tops.pop(self._current):
                self._release(entry)
            self._current += 1
        self._current = max(self._current, window + 1)

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return ((-score, -time, key) for score, time, key, _ in sorted(self._uses))

    def __len__(self) -> int:
        return len(self._uses)

    def predicted(self) -> dict[int, list[Any]]:
        """The keys that each window would answer now, best first."""
        return {window: [entry[2] for entry in top] for window, top in sorted(self._tops.items())}

    def snapshot(self) -> Items:
        """Every item that some window predicts, best first."""
        return items_of(sorted(self._uses), self._key_dtype)

    def check(self) -> None:
        """Verify sizes, order, nesting of the windows, and the counts of use."""
        held: dict[Entry, int] = {}
        for window, top in self._tops.items():
            require(window >= self._current, f"window {window} is expired")
            require(0 < len(top) <= self.k, f"window {window} predicts {len(top)} items")
            require(top == sorted(top), f"window {window} is not best first")
            require(top == self._best_alive(window), f"window {window} misses a better item")
            for entry in top:
                held[entry] = held.get(entry, 0) + 1
        require(held == self._uses, "the counts of use are wrong")
        expected = range(self._current, self._current + len(self._tops))
        require(sorted(self._tops) == list(expected), "a window without prediction lies between")

    def _best_alive(self, window: int) -> list[Entry]:
        alive = [entry for entry in self._uses if self._end(entry) >= window]
        return sorted(alive)[: self.k]

    def _end(self, entry: Entry) -> int:
        pane = int(self.windows.pane_of(np.array([-entry[1]]))[0])
        return self.windows.span_of(pane)[1]

    def _bound(self, end: int) -> float:
        top = self._tops.get(end)
        return -top[-1][0] if top and len(top) == self.k else -np.inf

    def _insert(self, rank: Rank, end: int) -> None:
        entry = (*rank, next(self._serials))
        window = end
        while window >= self._current and self._enter(window, entry):
            window -= 1
        if window < end:
            self._uses[entry] = end - window

    def _enter(self, window: int, entry: Entry) -> bool:
        top = self._tops.get(window)
        if top is None:
            self._tops[window] = [entry]
            return True
        if len(top) == self.k:
            if entry >= top[-1]:
                return False
            self._release(top.pop())
        insort(top, entry)
        return True

    def _release(self, entry: Entry) -> None:
        self._uses[entry] -= 1
        if not self._uses[entry]:
            del self._uses[entry]
