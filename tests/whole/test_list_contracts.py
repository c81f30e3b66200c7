"""Every list against the numbered contract, and against recomputing from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from topwater.candidates import lists
from topwater.candidates.published.mintopk import SuperTopK
from topwater.candidates.published.pretopk import Predicted
from topwater.candidates.published.tma_sma import sma, tma
from topwater.candidates.recompute import Recompute
from topwater.model import Arrivals, FloatArray, IntArray, Items
from topwater.protocols import CandidateList, ListMaker
from topwater.testing import WINDOWS, check_list, rows
from topwater.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Iterator

RAW: dict[str, ListMaker] = {"pretopk": Predicted, "mintopk": SuperTopK, "tma": tma, "sma": sma}
"""They take only panes of the current window."""


@pytest.mark.parametrize("name", RAW)
def test_contract_of_raw_lists(name: str) -> None:
    check_list(RAW[name], in_order=True)


@pytest.mark.parametrize("name", list(lists))
def test_contract_of_registered_lists(name: str) -> None:
    check_list(lists[name])


@pytest.mark.parametrize("make", [*RAW.values(), *(lists[name] for name in lists)])
def test_it_is_a_candidate_list(make: ListMaker) -> None:
    lst = make(Windows(9, 3), 2)
    assert isinstance(lst, CandidateList)
    assert (lst.windows, lst.k) == (Windows(9, 3), 2)


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


MAKERS = {f"raw {name}": make for name, make in RAW.items()} | {n: lists[n] for n in lists}


class AllLists(RuleBasedStateMachine):
    """Raw and registered lists in step with the oracle: add, slide, jump, restart."""

    @initialize(windows=st.sampled_from(WINDOWS), k=st.integers(1, 4))
    def begin(self, windows: Windows, k: int) -> None:
        self.windows, self.k, self.current = windows, k, 0
        self.oracle = Recompute(windows, k)
        self.lists = {name: make(windows, k) for name, make in MAKERS.items()}

    @rule(
        rows=st.lists(
            st.tuples(st.integers(-2, 4), st.floats(0, 1, exclude_min=True), st.integers(0, 3)),
            min_size=1,
            max_size=12,
        )
    )
    def add(self, rows: list[tuple[int, float, int]]) -> None:
        scores, shares, keys = (np.array(column) for column in zip(*rows, strict=True))
        opens = self.windows.window(self.current).start
        times = opens + np.ceil(shares * self.windows.width).astype(np.int64)
        batch = self.windows.group(Items(scores.astype(np.float64), times, keys))
        for lst in (self.oracle, *self.lists.values()):
            lst.add(batch)

    @rule(windows=st.one_of(st.just(1), st.integers(1, 9), st.integers(1, 10**9)))
    def expire(self, windows: int) -> None:
        self.current += windows
        for lst in (self.oracle, *self.lists.values()):
            lst.expire(self.current - 1)

    @rule(name=st.sampled_from(list(MAKERS)))
    def restart(self, name: str) -> None:
        rebuilt = MAKERS[name](self.windows, self.k)
        rebuilt.expire(self.current - 1)
        rebuilt.add(self.windows.group(self.lists[name].snapshot()))
        self.lists[name] = rebuilt

    @rule(ahead=st.integers(0, 8))
    def ask(self, ahead: int) -> None:
        self.agree(self.current + ahead)

    @invariant()
    def sound(self) -> None:
        for lst in self.lists.values():
            lst.check()

    def agree(self, window: int) -> None:
        right = rows(self.oracle.top(window))
        for name, lst in self.lists.items():
            assert rows(lst.top(window)) == right, f"{name} at window {window}"


TestAllLists = AllLists.TestCase
TestAllLists.settings = settings(max_examples=120, stateful_step_count=25, deadline=None)
