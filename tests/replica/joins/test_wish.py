"""What a ranking wants, as columns."""

from __future__ import annotations

import numpy as np

from topwater.replica.joins.wish import Granted, Wanted, Wish


def test_what_is_wanted_has_a_length() -> None:
    wanted = Wanted(np.array(["a", "b"], object), np.array([3, 1]), np.array([2.0, 1.0]))
    assert len(wanted) == 2
    assert len(Wanted.nothing()) == 0
    assert Wish([wanted], 5).wanted[0].slots.tolist() == [3, 1]


def test_nothing_is_granted_at_no_cost() -> None:
    granted = Granted([], [])
    assert (granted.spent, granted.left) == (0.0, ())
