"""``pa`` as a list: the contract but for what it may lose, and that no query takes it for exact."""

from __future__ import annotations

import numpy as np
import pytest

from topwater import TopKQuery, counting, run
from topwater.candidates import approximate, build, lists, one_by_one
from topwater.candidates.pane_order import InOrder
from topwater.candidates.published.adapter import Stepped
from topwater.candidates.published.criterion import limit
from topwater.candidates.published.object_trees import Seen
from topwater.candidates.published.timed_skyband import GUESS, Estimated
from topwater.errors import QueryError
from topwater.model import Items
from topwater.testing import WINDOWS, best_first, rows
from topwater.testing.list_contract import _Trial
from topwater.windows import Windows


class _LossyTrial(_Trial):
    """L1 and L3 to L7 as ever; of L2, that only items are lost, and never invented or misplaced.

    L7 is for streams in order: with another order PA keeps other items.
    """

    def arriving(self) -> Items:
        items = super().arriving()
        return items.take(np.argsort(self.windows.pane_of(items.time), kind="stable"))

    def restart(self) -> None:
        before = rows(self.list.top(self.current))
        super().restart()
        self.demand(5, rows(self.list.top(self.current)) == before, "a restart answers otherwise")
        self.twin = self.make(self.windows, self.k)
        self.twin.expire(self.current - 1)
        self.twin.add(self.windows.group(self.list.snapshot()))

    def compare(self, clause: int = 2) -> None:
        later = self.current + int(self.rng.integers(2 * self.windows.overlap))
        self.list.check()
        for window in (self.current, later):
            right, found = self.expected(window), rows(self.list.top(window))
            self.same(clause, found, best_first(found), "the order of the answer")
            self.demand(clause, len(found) <= len(right), "more items than there are")
            for mine, best in zip(found, right, strict=False):
                self.demand(clause, best_first([best, mine])[0] == best, f"{mine} was invented")
            if clause == 2:
                self.same(7, rows(self.twin.top(window)), found, "the answer in other batches")
        self.kept()


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_the_contract_of_pa_but_for_what_it_may_lose(windows: Windows) -> None:
    for seed in range(4):
        _LossyTrial(approximate["pa"], windows, seed, in_order=False).run(40)


def test_what_pa_may_lose_is_lost_when_scores_fall() -> None:
    windows = Windows(200, 1)
    lst = approximate["pa"](windows, 1)
    found = 0
    for window in range(400):
        times = np.arange(1, 201) if window == 0 else np.array([200 + window])
        lst.add(windows.group(Items(-times.astype(np.float64), times, times)))
        found += lst.top(window).key[0] == window + 1
        lst.expire(window)
    assert found < 200


def test_registries_hold_exact_and_approximate_lists_apart() -> None:
    assert list(approximate) == ["pa"]
    assert {*one_by_one} <= {*lists}
    assert "pa" not in lists
    with pytest.raises(QueryError, match="'pa' is unknown"):
        build("pa", counting(10, 1), 3)


def test_no_query_takes_pa_for_exact() -> None:
    with pytest.raises(QueryError, match=r"^list: 'pa' may lose.*\n.*'auto' or 'rapf'.*standing"):
        TopKQuery(key="key", score="score", k=3, window=counting(10, 1), list="pa")


@pytest.mark.parametrize("name", one_by_one)
def test_a_query_takes_each_of_the_others(name: str) -> None:
    events = {"key": list(range(40)), "score": [(7 * n) % 23 for n in range(40)]}
    query = TopKQuery(key="key", score="score", k=3, window=counting(10, 1), list=name)
    usual = TopKQuery(key="key", score="score", k=3, window=counting(10, 1))
    found, right = list(run(query, [events])), list(run(usual, [events]))
    assert [answer.keys for answer in found] == [answer.keys for answer in right]
    assert all(answer.exact for answer in found)


def test_count_windows_tell_their_objects_and_time_windows_let_them_be_counted() -> None:
    counted, timed = (
        approximate["pa"](windows, 7) for windows in (counting(5_000, 1), Windows(5_000, 1))
    )
    limits = []
    for each in (counted, timed):
        assert isinstance(each, InOrder)
        assert isinstance(each.inner, Stepped)
        limits.append(getattr(each.inner.structure, "limit", None))
    assert limits == [limit(7, 5_000), limit(7, GUESS)]


def test_the_estimate_forgets_what_left_and_never_falls() -> None:
    pa = Estimated(1, width=64)
    for stamp in range(1000):
        for _ in range(20):
            pa.add(Seen(0.0, 0, stamp))
            pa.fill_top()
        pa.expire(stamp - 64)
        pa.fill_top()
        pa.check()
    assert pa.objects == GUESS
    for number in range(GUESS):
        pa.add(Seen(0.0, number, 1000))
        pa.fill_top()
    assert GUESS < pa.objects <= 2 * GUESS + 4000
    pa.expire(2000)
    assert pa.objects > GUESS
