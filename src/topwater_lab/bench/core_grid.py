"""The grid that the core benchmark walks, the stream it walks over, and what to expect there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from topwater.model import Arrivals, Items
from topwater.windows import Windows, counting


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A count window, its step, and k. The step divides the window, so that it is one pane."""

    window: int
    step: int
    k: int

    @property
    def windows(self) -> Windows:
        """The windows as a query has them."""
        return counting(self.window, self.step)

    @property
    def panes(self) -> int:
        """Panes per window."""
        return self.window // self.step

    @property
    def per_pane(self) -> int:
        """How many items of a pane can matter."""
        return min(self.k, self.step)

    @property
    def expected_candidates(self) -> float:
        """The mean size of the minimal set of candidates, in a stream of random order.

        An item of the j-th newest pane (from 0) is in it if it is among the k best of j + 1
        panes. Its rank there is equally likely to be any, so each such pane has
        ``min(step, k / (j + 1))`` of them: k times a harmonic number if the step is at least k.

        Examples
        --------
        >>> round(Point(10_000, 1_000, 10).expected_candidates, 1)
        29.3
        >>> Point(10, 1, 10).expected_candidates
        10.0
        """
        panes = np.arange(1, self.panes + 1)
        return float(np.minimum(self.step, self.k / panes).sum())


def paper_grid() -> list[Point]:
    """The grid of the MinTopk paper: four windows, four relative steps, four k."""
    windows = (10_000, 100_000, 1_000_000, 10_000_000)
    parts = (10_000, 1_000, 100, 10)
    ks = (10, 100, 1_000, 10_000)
    return [Point(w, w // p, k) for w, p, k in product(windows, parts, ks) if k <= w]


def quick_grid() -> list[Point]:
    """Some points of the grid: each target has at least two, each window and k occurs."""
    chosen = {
        (10_000, 1): (10,),
        (10_000, 1_000): (10, 1_000),
        (100_000, 1_000): (10,),
        (100_000, 10_000): (100,),
        (1_000_000, 1_000): (10, 1_000),
        (1_000_000, 10_000): (10,),
        (1_000_000, 100_000): (10, 100, 1_000),
        (10_000_000, 1_000): (10,),
        (10_000_000, 1_000_000): (10, 100, 1_000, 10_000),
    }
    return [Point(window, step, k) for (window, step), ks in chosen.items() for k in ks]


class Stream:
    """A stream of random order, held in memory: no contender is timed while it is made.

    Parameters
    ----------
    objects
        How many there are.
    seed
        Another seed, another stream.
    """

    def __init__(self, objects: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.items = Items(
            rng.random(objects),
            np.arange(1, objects + 1, dtype=np.int64),
            rng.integers(1 << 62, size=objects),
        )

    def __len__(self) -> int:
        return len(self.items)

    def arrivals(self, start: int, stop: int, step: int) -> Arrivals:
        """Whole panes, grouped without looking at the items.  O(panes)."""
        return Arrivals(
            np.arange(start // step, stop // step, dtype=np.int64),
            np.arange(0, stop - start + 1, step, dtype=np.int64),
            self.items.take(slice(start, stop)),
        )
