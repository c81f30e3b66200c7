"""Feeds a list for changing scores in pane order: what belongs to later windows waits its turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from topwater.candidates.invariants import require
from topwater.candidates.objects import (
    Candidates,
    Certainty,
    Memory,
    certainty,
    places,
    stack,
    sure,
)
from topwater.candidates.rescorable import ChangingList, Score
from topwater.candidates.rescoring import rescored
from topwater.candidates.runs import split
from topwater.model import Items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater.candidates.rank_tuples import Rank
    from topwater.model import Arrivals, FloatArray, IntArray, KeyArray
    from topwater.windows import Windows


class _InOrderOnly(ChangingList, Protocol):
    """Takes only panes of the current window, and says what it does not know."""

    def ceiling(self, window: int) -> Rank | None:
        """No forgotten object of the window ranks better; None if there is none."""


class Queued:
    """A list whose algorithm assumes that the current window is the newest.

    An event of a later pane waits until the current window reaches it, so that it does not
    replace its key's object too early. Of those that wait, the latest of each key and pane is
    kept; the others could not be in any answer.

    Complexity: of the list inside, and O(q log q) for q objects that wait.
    """

    def __init__(self, inner: _InOrderOnly) -> None:
        self.inner = inner
        self._current = 0
        self._waiting = sure(Items.empty())

    @property
    def windows(self) -> Windows:
        """The windows that the list was made for."""
        return self.inner.windows

    @property
    def k(self) -> int:
        """How many objects an answer has."""
        return self.inner.k

    @property
    def spare(self) -> int:
        """How many more are kept per window."""
        return self.inner.spare

    def add(self, arrivals: Arrivals) -> None:
        """Bring new objects."""
        now, later = split(arrivals, self._reach)
        self.inner.add(now)
        if len(later):
            self._waiting = self._latest(stack([self._waiting, sure(later.items)]), by_pane=True)

    def rescore(self, keys: KeyArray, score: Score, times: IntArray | None = None) -> None:
        """Remote values changed, also of what waits."""
        self.inner.rescore(keys, score, times)
        which = places(keys, self._waiting.key)
        hit, rest = np.flatnonzero(which >= 0), np.flatnonzero(which < 0)
        again = rescored(self._waiting.take(hit), which[hit], score)
        both = stack([self._waiting.take(rest), again])
        # In the order in which they came: it decides who enters first.
        self._waiting = both.take(np.argsort(np.concatenate([rest, hit])))

    def top(self, window: int) -> Candidates:
        """The best k of a window, best first."""
        return self.known(window).take(slice(self.k))

    def exact(self, window: int) -> bool:
        """Are ranking and scores of ``top(window)`` certain?"""
        return self._certainty(window) == "ranking"

    def exact_set(self, window: int) -> bool:
        """Is it certain which objects are in ``top(window)``?"""
        return self._certainty(window) != "nothing"

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``."""
        if window < self._current:
            return
        self.inner.expire(window)
        self._current = window + 1
        pane = self.windows.pane_of(self._waiting.time)
        due = (pane >= self.windows.panes_in(self._current)[0]) & (pane <= self._reach)
        if due.any():
            self.inner.add(self.windows.group(self._waiting.take(due)))
        self._waiting = self._waiting.take(pane > self._reach)

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)

    def known(self, window: int) -> Candidates:
        """All objects kept that live in a window, best first."""
        alive = self.inner.known(window)
        first, last = self.windows.panes_in(window)
        pane = self.windows.pane_of(self._waiting.time)
        come = self._latest(self._waiting.take((pane >= first) & (pane <= last)))
        if not len(come):
            return alive
        return stack([alive.take(places(come.key, alive.key) < 0), come]).ranked()

    def forgotten(self, window: int) -> tuple[FloatArray, FloatArray] | None:
        """Between which stream parts lie the window's forgotten objects?"""
        return self.inner.forgotten(window)

    def snapshot(self) -> Memory:
        """All that a restart needs."""
        inside = self.inner.snapshot()
        both = stack([inside.candidates, self._waiting])
        return Memory(both, inside.traces, inside.forgotten_at)

    def restore(self, memory: Memory) -> None:
        """Become the list that wrote ``memory``."""
        later = self.windows.pane_of(memory.candidates.time) > self._reach
        self._waiting = memory.candidates.take(later)
        now = memory.candidates.take(~later)
        self.inner.restore(Memory(now, memory.traces, memory.forgotten_at))

    def check(self) -> None:
        """Verify the inner list, and that nothing waits in vain."""
        self.inner.check()
        pane = self.windows.pane_of(self._waiting.time)
        require(np.all(pane > self._reach), "an object waits for a window that is here")

    def _certainty(self, window: int) -> Certainty:
        return certainty(self.known(window), self.inner.ceiling(window), self.k)

    def _latest(self, found: Candidates, *, by_pane: bool = False) -> Candidates:
        """The last object of each key (and pane), of equal times the one that came last."""
        found = found.take(np.argsort(found.time, kind="stable"))
        pane = self.windows.pane_of(found.time) if by_pane else np.zeros(len(found), np.int64)
        order = np.lexsort((found.key, pane))
        key, pane = found.key[order], pane[order]
        last = np.ones(len(order), np.bool_)
        last[:-1] = (key[1:] != key[:-1]) | (pane[1:] != pane[:-1])
        return found.take(np.sort(order[last]))

    @property
    def _reach(self) -> int:
        return self.windows.panes_in(self._current)[1]
