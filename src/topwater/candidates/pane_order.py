"""Feeds a list in pane order: what belongs to later windows waits its turn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topwater.candidates.invariants import require
from topwater.candidates.runs import merge, nothing, pane_column, reduce, split
from topwater.model import Arrivals, Items
from topwater.protocols import CandidateList
from topwater.windows import Windows


class InOrder:
    """A list whose algorithm assumes that the current window is the newest.

    The published lists predict the answers of later windows from the current one. An event of a
    later pane that comes before the current window is answered would break the prediction; it
    is held back here, reduced to its pane's best k, until the current window reaches it.
    """

    def __init__(self, inner: CandidateList) -> None:
        self.inner = inner
        self._current = 0
        self._waiting = nothing()

    @property
    def windows(self) -> Windows:
        """The windows that the list was made for."""
        return self.inner.windows

    @property
    def k(self) -> int:
        """How many items an answer has."""
        return self.inner.k

    def add(self, arrivals: Arrivals) -> None:
        """Bring new items."""
        now, later = split(arrivals, self._reach)
        if len(now):
            self.inner.add(now)
        if len(later):
            self._waiting = merge(self._waiting, reduce(later, self.k), self.k)

    def top(self, window: int) -> Items:
        """The best k of a window, best first."""
        top = self.inner.top(window)
        waiting, _ = split(self._waiting, self.windows.panes_in(window)[1])
        pane = pane_column(waiting)
        waiting_items = waiting.items.take(pane >= self.windows.panes_in(window)[0])
        if not len(waiting_items):
            return top
        return Items.concat([top, waiting_items]).ranked().take(slice(self.k))

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``."""
        if window < self._current:
            return
        self.inner.expire(window)
        self._current = window + 1
        due, self._waiting = split(self._waiting, self._reach)
        _, due = split(due, self.windows.panes_in(self._current)[0] - 1)
        if len(due):
            self.inner.add(due)

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)

    def snapshot(self) -> Items:
        """All that a restart needs."""
        return Items.concat([self.inner.snapshot(), self._waiting.items])

    def check(self) -> None:
        """Verify the inner list, and that nothing waits in vain."""
        self.inner.check()
        require(
            np.all(self._waiting.panes > self._reach), "an item waits for a window that is here"
        )

    @property
    def _reach(self) -> int:
        return self.windows.panes_in(self._current)[1]
