"""InOrder: a list for the current window only, made one for all that may come."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.candidates.pane_order import InOrder
from topwater.candidates.published.mintopk import SuperTopK
from topwater.candidates.recompute import Recompute
from topwater.model import Arrivals, Items
from topwater.testing import check_list, rows
from topwater.windows import Windows

WINDOWS = Windows(9, 3)
"""W0 = (0, 9], W1 = (3, 12], W2 = (6, 15]; panes of 3."""


def arriving(*found: tuple[float, int, int]) -> Arrivals:
    score, time, key = (list(column) for column in zip(*found, strict=True))
    return WINDOWS.group(Items(np.array(score, float), np.array(time), np.array(key)))


class Watched(Recompute):
    """It notes the panes that it is given."""

    def __init__(self, windows: Windows, k: int) -> None:
        super().__init__(windows, k)
        self.panes: list[list[int]] = []

    def add(self, arrivals: Arrivals) -> None:
        self.panes.append(arrivals.panes.tolist())
        super().add(arrivals)


def test_it_keeps_the_whole_contract_around_a_list_that_does_not() -> None:
    windows = (WINDOWS, Windows(5, 2))
    check_list(lambda w, k: InOrder(SuperTopK(w, k)), windows=windows, seeds=range(2))


def test_what_comes_early_waits_until_its_window_is_the_current_one() -> None:
    """
    ::

        0     3     6     9     12    15
        (--------W0-------]
              (--------W1-------]
          1                  2       3
    """
    inner = Watched(WINDOWS, 1)
    lst = InOrder(inner)
    lst.add(arriving((5, 1, 1), (7, 11, 2), (9, 14, 3)))
    assert inner.panes == [[0]]
    lst.expire(0)
    assert inner.panes == [[0], [3]]
    lst.expire(1)
    assert inner.panes == [[0], [3], [4]]


def test_what_waits_is_in_the_answers_of_its_windows_and_in_no_other() -> None:
    lst = InOrder(Recompute(WINDOWS, 1))
    lst.add(arriving((5, 1, 1), (7, 11, 2), (9, 14, 3)))
    assert [rows(lst.top(window)) for window in range(6)] == [
        [(5, 1, 1)],
        [(7, 11, 2)],
        [(9, 14, 3)],
        [(9, 14, 3)],
        [(9, 14, 3)],
        [],
    ]


def test_what_waited_too_long_is_never_given_to_the_list() -> None:
    inner = Watched(WINDOWS, 1)
    lst = InOrder(inner)
    lst.add(arriving((5, 1, 1), (7, 11, 2)))
    lst.expire(50)
    assert inner.panes == [[0]]
    assert len(lst) == len(lst.snapshot()) == 0


def test_of_what_waits_only_the_best_of_each_pane_are_kept() -> None:
    lst = InOrder(Recompute(WINDOWS, 2))
    lst.add(arriving(*[(float(n), 11, n) for n in range(10)], (1.0, 14, 99)))
    assert sorted(lst.snapshot().key.tolist()) == [8, 9, 99]


def test_check_notices_what_waits_in_vain() -> None:
    lst = InOrder(Recompute(WINDOWS, 1))
    lst.add(arriving((7, 11, 2)))
    lst.check()
    lst._current = 1
    with pytest.raises(AssertionError, match="waits for a window that is here"):
        lst.check()
