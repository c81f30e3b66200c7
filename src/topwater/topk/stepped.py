"""The published structures for top-k/w queries as candidate lists, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nsmallest
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from topwater.topk.criterion import limit
from topwater.topk.filtered import Filtered, largest_buffer
from topwater.topk.ranks import by_pane, items_of, rows
from topwater.topk.skyband import Probabilistic, Relaxed, Strict
from topwater.topk.trees import Seen, Structure, Trees

if TYPE_CHECKING:
    from topwater.model import Arrivals, Items
    from topwater.windows import Windows

_RANK = attrgetter("rank")

GUESS = 10_000
"""Objects in a window of time, before any was seen."""


class Stepped:
    """A list that feeds a structure object by object. A stamp is a pane.

    Takes only panes of the current window; ``InOrder`` lifts that restriction.

    Parameters
    ----------
    windows
        The windows that slide over the stream.
    structure
        What answers; its windows have ``windows.panes_per_window`` stamps.

    Notes
    -----
    ``add`` costs what the structure takes per object, ``top`` O(k), or O(m) in what is kept for a
    window after the current one.
    """

    def __init__(self, windows: Windows, structure: Structure) -> None:
        self.windows = windows
        self.structure = structure
        self._current = 0
        self._key_dtype: npt.DTypeLike = np.int64

    @property
    def k(self) -> int:
        """How many items an answer has."""
        return self.structure.k

    def add(self, arrivals: Arrivals) -> None:
        """Bring new items of panes in the current window."""
        if len(arrivals):
            self._key_dtype = arrivals.items.key.dtype
        for pane, items in by_pane(arrivals):
            # In the first window the stamps move on with the arrivals; later this changes nothing.
            self.structure.expire(pane - self.windows.panes_per_window)
            for score, time, key in rows(items):
                self.structure.add(Seen(score, key, pane, time))
                self.structure.settle()

    def top(self, window: int) -> Items:
        """The best k of a window, best first."""
        if window == self._current:
            return self._items(self.structure.top())
        first, _ = self.windows.panes_in(window)
        alive = (each for each in self.structure.kept() if each.stamp >= first)
        return self._items(nsmallest(self.k, alive, key=_RANK))

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``."""
        if window >= self._current:
            self._current = window + 1
            self.structure.expire(self.windows.panes_in(self._current)[0] - 1)
            self.structure.settle()

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return rows(self.snapshot())

    def __len__(self) -> int:
        return sum(1 for _ in self.structure.kept())

    def snapshot(self) -> Items:
        """Every item kept, best first."""
        return self._items(sorted(self.structure.kept(), key=_RANK))

    def check(self) -> None:
        """Verify the structure."""
        self.structure.check()

    def _items(self, objects: list[Seen]) -> Items:
        return items_of((each.rank for each in objects), self._key_dtype)


def skyband(name: str, k: int) -> Trees:
    """The k-skyband that a name starts with: ``sa`` or ``ra``."""
    return Strict(k) if name.startswith("sa") else Relaxed(k)


def filtered(name: str, windows: Windows, k: int) -> Filtered:
    """The structure of a name such as ``rapf``, with the largest buffer that is exact."""
    width = windows.panes_per_window
    buffer = largest_buffer(width)
    filters: dict[str, Callable[[], Trees]] = {
        "sf": lambda: Strict(k),
        "rf": lambda: Relaxed(k),
        "pf": lambda: Probabilistic(
            k, limit(k, _objects(windows, buffer)), additional=0, resets=False
        ),
    }
    return Filtered(skyband(name, k), filters[name[2:]](), width, buffer)


def _objects(windows: Windows, panes: int) -> int:
    return panes * windows.pane if windows.by == "count" else GUESS
