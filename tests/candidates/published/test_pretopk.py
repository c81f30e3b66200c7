"""PreTopk: the published example number by number."""

from __future__ import annotations

import pytest

from tests.support.figures import YANG, arrivals, yang
from topwater.candidates.published.pretopk import Predicted


def at_w0() -> Predicted:
    lst = Predicted(YANG, 3)
    lst.add(yang(1, 16))
    return lst


def test_figure_3_at_w0() -> None:
    lst = at_w0()
    lst.check()
    assert lst.predicted() == {0: [1, 6, 14], 1: [6, 14, 7], 2: [14, 15, 16], 3: [14, 15, 16]}
    assert [key for _, _, key in lst] == [1, 6, 14, 7, 15, 16]
    assert len(lst) == 6


def test_figure_3_after_the_slide() -> None:
    lst = at_w0()
    lst.expire(0)
    lst.check()
    assert lst.predicted() == {1: [6, 14, 7], 2: [14, 15, 16], 3: [14, 15, 16]}
    assert len(lst) == 5


def test_figure_3_after_four_new_objects() -> None:
    lst = at_w0()
    lst.expire(0)
    lst.add(yang(17, 20))
    lst.check()
    assert lst.predicted() == {1: [17, 6, 14], 2: [17, 14, 15], 3: [17, 14, 15], 4: [17, 18, 20]}
    assert [key for _, _, key in lst] == [17, 6, 14, 15, 18, 20]


def test_a_far_jump_takes_no_time() -> None:
    lst = at_w0()
    lst.expire(10**15)
    lst.check()
    assert len(lst) == 0


def test_equal_items_each_count() -> None:
    lst = Predicted(YANG, 3)
    lst.add(arrivals(YANG, *[(7, 2, 1)] * 5))
    lst.check()
    assert lst.top(0).key.tolist() == [1, 1, 1]
    assert len(lst) == 3


def test_check_notices_a_lost_item() -> None:
    lst = at_w0()
    lst._tops[1].pop(0)
    with pytest.raises(AssertionError, match="window 1"):
        lst.check()
