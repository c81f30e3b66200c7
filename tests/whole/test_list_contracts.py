"""Every list against the numbered contract, and against recomputing from scratch."""

from __future__ import annotations

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
from topwater.model import Items
from topwater.protocols import CandidateList, ListMaker
from topwater.testing import WINDOWS, check_list, rows
from topwater.windows import Windows

RAW: dict[str, ListMaker] = {"pretopk": Predicted, "mintopk": SuperTopK, "tma": tma, "sma": sma}
"""They take only panes of the current window."""


SEEDS = [
    pytest.param(range(2), id="some"),  # keys of both kinds
    pytest.param(range(2, 12), id="many", marks=pytest.mark.soak),
]


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("name", RAW)
def test_contract_of_raw_lists(name: str, seeds: range) -> None:
    check_list(RAW[name], in_order=True, seeds=seeds)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("name", list(lists))
def test_contract_of_registered_lists(name: str, seeds: range) -> None:
    check_list(lists[name], seeds=seeds)


@pytest.mark.parametrize("make", [*RAW.values(), *(lists[name] for name in lists)])
def test_it_is_a_candidate_list(make: ListMaker) -> None:
    lst = make(Windows(9, 3), 2)
    assert isinstance(lst, CandidateList)
    assert (lst.windows, lst.k) == (Windows(9, 3), 2)


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
TestAllLists.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


class AllListsForLong(AllLists):
    """The same, for soak."""


TestAllListsForLong = pytest.mark.soak(AllListsForLong.TestCase)
TestAllListsForLong.settings = settings(max_examples=600, stateful_step_count=40, deadline=None)
