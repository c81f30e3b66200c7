"""The published structures for top-k/w queries as candidate lists, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from heapq import nsmallest
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from topwater.candidates.published.auto_skyband import Hybrid
from topwater.candidates.published.cpm_snn import cpm_w, snn
from topwater.candidates.published.criterion import limit
from topwater.candidates.published.filtered_skyband import Filtered, largest_buffer
from topwater.candidates.published.object_trees import Seen, Structure, Trees
from topwater.candidates.published.skyband import Probabilistic, Relaxed, Strict
from topwater.candidates.published.timed_skyband import GUESS, Estimated
from topwater.candidates.rank_tuples import by_pane, items_of, rows

if TYPE_CHECKING:
    from topwater.model import Arrivals, Items
    from topwater.windows import Windows

_RANK = attrgetter("rank")


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
                self.structure.fill_top()

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
            self.structure.fill_top()

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


def structure(name: str, windows: Windows, k: int) -> Structure:
    """An empty structure by its registry name, for windows of this many panes.

    Examples
    --------
    >>> from topwater.windows import counting
    >>> structure("rapf", counting(100, 1), k=3).top()
    []
    """
    width = windows.panes_per_window
    if name == "auto":
        exact = partial(structure, "rapf", windows, k)
        return Hybrid(k, width, exact, objects=_objects(windows, width))
    if name == "pa":
        counted = windows.by == "count"
        return Probabilistic(k, limit(k, windows.width)) if counted else Estimated(k, width)
    if name in _GRIDDED:
        return _GRIDDED[name](k)
    skyband = _SKYBANDS[name[:2]](k)
    return Filtered(skyband, _filter(name[2:], windows, k), width) if name[2:] else skyband


_SKYBANDS: dict[str, Callable[[int], Trees]] = {"sa": Strict, "ra": Relaxed}
_FILTERS: dict[str, Callable[[int], Trees]] = {"sf": Strict, "rf": Relaxed}
_GRIDDED = {"cpm/w": cpm_w, "snn": snn}


def _filter(name: str, windows: Windows, k: int) -> Trees:
    if name in _FILTERS:
        return _FILTERS[name](k)
    objects = _objects(windows, largest_buffer(windows.panes_per_window))
    return Probabilistic(k, limit(k, objects), additional=0, resets=False)


def _objects(windows: Windows, panes: int) -> int:
    """As many as there are, or as many as one may expect: any number is exact for a filter."""
    return panes * windows.pane if windows.by == "count" else GUESS
