"""What look-ups may cost, as people write it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.replica.budget import Budget
from topwater.replica.joins.allowance import Allowance


@pytest.mark.parametrize(
    ("given", "cost", "words"),
    [
        (100, 100.0, "100 a window"),
        (None, None, "no limit on look-ups"),
        ("unlimited", None, "no limit on look-ups"),
        ({}, 7.0, "7 a window"),
        ({"fetches": 3}, 3.0, "3 a window"),
        ({"deadline": "2 s"}, None, "what can be looked up within 2 s"),
        ({"per": {"1 day": 50_000}}, None, "50,000 in 1 d"),
        ({"cost": 9, "per": {"1 min": 60}}, 9.0, "9 a window, 60 in 1 min"),
    ],
)
def test_what_is_written_is_what_is_meant(given: Any, cost: float | None, words: str) -> None:
    allowance = Allowance.of(given)
    assert (allowance.cost, allowance.in_words) == (cost, words)
    assert Allowance.of(json.loads(json.dumps(allowance.to_dict()))) == allowance
    assert allowance.unlimited == (given in (None, "unlimited"))


def test_a_budget_of_one_value_means_the_same() -> None:
    assert Allowance.of(Budget(9, accuracy=0.8)) == Allowance(9, accuracy=0.8)
    with pytest.raises(QueryError, match="only a quota keeps"):
        Allowance.of(Budget(9, carry_over=True))
    with pytest.raises(QueryError, match="only a query with one remote value"):
        Allowance.of(Budget.of({"accuracy": 0.95, "at_most": 50}))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (0, "must be a number above 0"),
        ({"cost": -3}, "must be a number above 0"),
        ({"over": "some"}, "'some' is unknown"),
        ({"deadline": 0}, "at least 1"),
        ({"accuracy": 2}, "at most 1"),
        ({"costs": 3}, "did you mean cost"),
        ({"fetches": 3, "cost": 4}, "given twice"),
        ({"fetches": 3, "carry_over": True}, "only a quota keeps"),
        ({"accuracy": 0.9, "at_most": 50}, "only a query with one remote value"),
    ],
)
def test_what_can_not_be_is_refused(given: Any, problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        Allowance.of(given)
