"""The oracle, on examples small enough to see."""

from __future__ import annotations

import pytest

from tests.support.figures import YANG, arrivals, yang
from topwater.candidates.recompute import Recompute
from topwater.windows import Windows


def test_the_published_example() -> None:
    lst = Recompute(YANG, 3)
    lst.add(yang(1, 20))
    answers = [lst.top(window).key.tolist() for window in range(5)]
    assert answers == [[1, 6, 14], [17, 6, 14], [17, 14, 15], [17, 14, 15], [17, 18, 20]]
    lst.expire(0)
    assert len(lst) == 16


def test_ties_go_to_the_younger_then_to_the_smaller_key() -> None:
    windows = Windows(10, 5)
    lst = Recompute(windows, 4)
    lst.add(arrivals(windows, (1, 2, 9), (1, 3, 8), (1, 3, 7), (2, 1, 6)))
    assert list(lst) == [(2.0, 1, 6), (1.0, 3, 7), (1.0, 3, 8), (1.0, 2, 9)]
    assert lst.top(0).key.tolist() == [6, 7, 8, 9]


def test_window_edges() -> None:
    """Open on the left, closed on the right.

    ::

        time   0    5    10   15
        W0     (─────────]
        W1          (─────────]
                    ▲    ▲
                    5    10
    """
    windows = Windows(10, 5)
    lst = Recompute(windows, 9)
    lst.add(arrivals(windows, (1, 5, 5), (1, 10, 10), (1, 11, 11), (1, 15, 15)))
    assert lst.top(0).key.tolist() == [10, 5]
    assert lst.top(1).key.tolist() == [15, 11, 10]
    assert lst.top(2).key.tolist() == [15, 11]


def test_a_window_of_a_billion_panes() -> None:
    windows = Windows(10**9, 10**9 - 1)
    lst = Recompute(windows, 1)
    lst.add(arrivals(windows, (1, 5, 5)))
    assert lst.top(0).key.tolist() == [5]
    assert len(lst.top(1)) == 0


def test_check_notices_an_expired_pane() -> None:
    lst = Recompute(YANG, 3)
    lst.add(yang(1, 16))
    lst._current = 2
    with pytest.raises(AssertionError, match="expired"):
        lst.check()
