"""Whether a list of candidates keeps its contract."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from topwater.model import (
    Arrivals,
    IntArray,
    Items,
)
from topwater.protocols import CandidateList, Floors, Sweeps
from topwater.testing.random_items import (
    WINDOWS,
    KeyKind,
    Row,
    best_first,
    random_cuts,
    random_items,
    rows,
)
from topwater.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def check_list(
    make: Callable[[Windows, int], CandidateList],
    *,
    in_order: bool = False,
    seeds: Iterable[int] = range(4),
    steps: int = 40,
    windows: Iterable[Windows] = WINDOWS,
) -> None:
    """Run a list against its contract, on seeded random streams.

    Parameters
    ----------
    make
        Builds an empty list for windows and k.
    in_order
        The list takes only panes that are in the current window, instead of all that L1 allows.
    seeds
        One stream per seed and kind of window.
    steps
        How many times to add, expire, sweep or restart in each stream.
    windows
        The kinds of window to try.

    Raises
    ------
    AssertionError
        Starting with the number of the clause that is broken.
    """
    for spans in windows:
        for seed in seeds:
            _Trial(make, spans, seed, in_order).run(steps)


class _Trial:
    """One stream, one list under test, and the items that a perfect memory would hold."""

    def __init__(
        self,
        make: Callable[[Windows, int], CandidateList],
        windows: Windows,
        seed: int,
        in_order: bool,
    ) -> None:
        self.make = make
        self.windows = windows
        self.in_order = in_order
        self.rng = np.random.default_rng([seed, windows.width, windows.step])
        self.k = int(self.rng.choice([1, 2, 3, 8]))
        self.keys: KeyKind = "str" if seed % 2 else "int"
        self.drift = float(self.rng.choice([-2, -0.1, 0, 0, 0.1, 2]))
        self.case = f"{windows}, k={self.k}, seed={seed}"
        self.current = 0
        self.history: list[Row] = []
        self.list = make(windows, self.k)
        self.twin = make(windows, self.k)

    def run(self, steps: int) -> None:
        moves = [self.add, self.add, self.slide, self.slide, self.jump, self.restart]
        if isinstance(self.list, Sweeps) and not self.in_order:
            moves.append(self.sweep)
        if isinstance(self.list, Floors):
            moves.append(self.floors)
        self.compare()
        for _ in range(steps):
            moves[self.rng.integers(len(moves))]()
            self.compare()

    def add(self) -> None:
        """L1, L7: one list gets the batch whole, the other in pieces."""
        items = self.arriving()
        self.history += rows(items)
        self.list.add(self.windows.group(items))
        for part in random_cuts(self.rng, items):
            self.twin.add(self.windows.group(part))

    def slide(self) -> None:
        self.expire(self.current)

    def jump(self) -> None:
        far = 10**9 if self.rng.random() < 0.1 else 2 * self.windows.overlap
        self.expire(self.current + int(self.rng.integers(far)))

    def expire(self, window: int) -> None:
        """L3: repeating it changes nothing."""
        self.current = window + 1
        for each in (self.list, self.twin):
            each.expire(window)
        before = list(self.list)
        self.list.expire(window)
        self.demand(3, list(self.list) == before, "expiring again changed what is kept")

    def restart(self) -> None:
        """L5: go on with a list rebuilt from the snapshot."""
        saved = self.windows.group(self.list.snapshot())
        self.list = self.make(self.windows, self.k)
        if self.current:
            self.list.expire(self.current - 1)
        self.list.add(saved)
        self.compare(clause=5)

    def sweep(self) -> None:
        """L8: many windows in one call."""
        items = self.arriving()
        until = self.current + int(self.rng.integers(2 * self.windows.overlap))
        self.history += rows(items)
        expected = [self.expected(w) for w in range(self.current, until + 1)]
        right = [len(top) for top in expected]
        for each in (self.list, self.twin):
            found, sizes, kept = _sweep(each, self.windows.group(items), until)
            self.demand(8, sizes.tolist() == right, f"{sizes} items per window, not {right}")
            self.demand(8, len(kept) == len(right), f"{len(kept)} numbers of candidates")
            self.demand(8, bool((kept >= sizes).all()), f"{kept} candidates for {sizes} items")
            self.same(8, rows(found), [row for top in expected for row in top], "sweep")
        self.current = until + 1

    def floors(self) -> None:
        """L9: in each window of the pane, k items score at least its floor."""
        assert isinstance(self.list, Floors), "L9: lists of one maker must all have floors"
        panes = np.unique(self.windows.pane_of(self.arriving().time))
        for pane, floor in zip(panes.tolist(), self.list.floors(panes).tolist(), strict=True):
            first, last = self.windows.span_of(pane)
            for window in range(max(first, self.current), last + 1) if floor > -np.inf else ():
                top = self.expected(window)
                useless = len(top) == self.k and top[-1][0] >= floor
                self.demand(9, useless, f"floor {floor} of pane {pane} is too high for {window}")

    def compare(self, clause: int = 2) -> None:
        later = self.current + int(self.rng.integers(2 * self.windows.overlap))
        self.list.check()
        for window in (self.current, later):
            right = self.expected(window)
            self.same(clause, rows(self.list.top(window)), right, f"top({window})")
            self.same(7, rows(self.twin.top(window)), right, f"top({window}) in other batches")
        self.list.check()
        self.kept()

    def kept(self) -> None:
        """L4: what is kept is in order, was added, and can still be asked for."""
        kept = list(self.list)
        opens = self.windows.window(self.current).start
        self.demand(4, len(self.list) == len(kept), f"len {len(self.list)}, not {len(kept)}")
        self.same(4, kept, best_first(kept), "iteration")
        self.demand(4, all(time > opens for _, time, _ in kept), "an expired item is kept")
        self.demand(4, not Counter(kept) - Counter(self.history), "an item was never added")

    def arriving(self) -> Items:
        """Nothing, a few or a burst; in any pane that may come, most often in the next ones."""
        first, last = self.windows.panes_in(self.current)
        if not self.in_order:
            last += int(self.rng.integers(2 * self.windows.panes_per_window))
        count = int(self.rng.choice([0, 1, 5, 5, 20, 150]))
        panes = self.rng.integers(first, last + 1, size=count)
        if self.rng.random() < 0.5:
            panes = np.sort(panes)
        return random_items(self.rng, self.windows, panes, keys=self.keys, drift=self.drift)

    def expected(self, window: int) -> list[Row]:
        """The one rule, without panes: sort what lies in the window."""
        span = self.windows.window(window)
        inside = (row for row in self.history if span.start < row[1] <= span.end)
        return best_first(inside)[: self.k]

    def same(self, clause: int, found: list[Row], right: list[Row], what: str) -> None:
        self.demand(clause, found == right, f"{what} is\n  {found}, not\n  {right}")

    def demand(self, clause: int, holds: bool, broken: str) -> None:
        assert holds, f"L{clause}: {broken}\n  ({self.case}, current window {self.current})"


def _sweep(each: CandidateList, arrivals: Arrivals, until: int) -> tuple[Items, IntArray, IntArray]:
    assert isinstance(each, Sweeps), "L8: lists of one maker must all sweep, or none"
    return each.sweep(arrivals, until)
