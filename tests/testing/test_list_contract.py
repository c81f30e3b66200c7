"""The contract of lists: sound ones pass, broken ones are told which clause they break."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from topwater.candidates.recompute import Recompute
from topwater.model import Arrivals, FloatArray, IntArray, Items
from topwater.protocols import ListMaker
from topwater.testing import check_list

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Unchecked(Recompute):
    """So that the contract, not the list itself, finds the defects below."""

    def check(self) -> None:
        pass


class _OlderFirst(_Unchecked):
    def top(self, window: int) -> Items:
        found = super().top(window)
        return found.take(np.lexsort((found.time, -found.score)))


class _Restless(_Unchecked):
    def expire(self, window: int) -> None:
        if window < self._current:
            self._panes.clear()
        super().expire(window)


class _Hoarder(_Unchecked):
    def expire(self, window: int) -> None:
        self._current = max(self._current, window + 1)


class _Unsorted(_Unchecked):
    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return reversed(list(super().__iter__()))


class _Forgetful(_Unchecked):
    def snapshot(self) -> Items:
        return super().snapshot().ranked().take(slice(1, None))


class _Broken(Recompute):
    def check(self) -> None:
        raise AssertionError("torn")


class _CutSensitive(_Unchecked):
    def add(self, arrivals: Arrivals) -> None:
        if len(arrivals) == 0 or len(arrivals) > 4:
            super().add(arrivals)


class _Sweeper(_Unchecked):
    def sweep(self, arrivals: Arrivals, until: int) -> tuple[Items, IntArray, IntArray]:
        self.add(arrivals)
        tops = [self.top(window) for window in range(self._current, until + 1)]
        sizes = np.array([len(top) for top in tops])
        self.expire(until)
        return Items.concat(tops), sizes, sizes


class _SlowSweeper(_Sweeper):
    def sweep(self, arrivals: Arrivals, until: int) -> tuple[Items, IntArray, IntArray]:
        return super().sweep(arrivals, max(self._current, until - 1))


class _Floored(_Unchecked):
    height = 1.0

    def floors(self, panes: IntArray) -> FloatArray:
        return np.array([self._floor(pane) for pane in panes.tolist()])

    def _floor(self, pane: int) -> float:
        first, last = self.windows.span_of(pane)
        tops = [self.top(window) for window in range(max(first, self._current), last + 1)]
        if any(len(top) < self.k for top in tops):
            return -np.inf
        return self.height * min(float(top.score[-1]) for top in tops)


class _TooHigh(_Floored):
    height = 1.01


@pytest.mark.parametrize("make", [_Unchecked, _Sweeper, _Floored])
def test_sound_lists_pass(make: ListMaker) -> None:
    check_list(make)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_OlderFirst, "L2: "),
        (_Restless, "L3: "),
        (_Hoarder, "L4: "),
        (_Unsorted, "L4: "),
        (_Forgetful, "L5: "),
        (_Broken, "torn"),
        (_CutSensitive, "L[27]: "),
        (_SlowSweeper, "L8: "),
        (_TooHigh, "L9: "),
    ],
)
def test_a_broken_list_is_told_which_clause_it_breaks(make: ListMaker, told: str) -> None:
    with pytest.raises(AssertionError, match=f"^{told}"):
        check_list(make)
