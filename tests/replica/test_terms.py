"""Scores from both sides' values."""

from __future__ import annotations

import numpy as np

from topwater.replica import RefreshSettings
from topwater.replica.terms import Terms
from topwater.scoring import Formula
from topwater.windows import tumbling


def test_the_remote_value_stands_beside_those_of_the_stream() -> None:
    terms = Terms(RefreshSettings("price"), Formula("sold * price"), tumbling(10), 3)
    values = {"sold": np.array([2.0, 3.0])}
    assert terms.scores(values, np.array([5.0, 0.5])).tolist() == [10.0, 1.5]
    assert list(values) == ["sold"]


def test_larger_is_better_also_where_the_smallest_is_asked_for() -> None:
    score = Formula("price", order="smallest")
    terms = Terms(RefreshSettings("price"), score, tumbling(10), 3)
    assert terms.scores({}, np.array([5.0, 0.5])).tolist() == [-5.0, -0.5]
