"""Values that tell nothing, and answers that hold everything: budgets stay sane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.looping import MINUTE, Loop, query_of
from topwater.model import Freshness
from topwater.testing import Scripted

BUDGETS: dict[str, dict[str, Any]] = {
    "by accuracy": {"budget": {"accuracy": 0.9, "at_most": 8}},
    "by order": {"budget": {"accuracy": 0.9, "at_most": 8}, "aim": "relevance"},
    "carried over": {"budget": {"accuracy": 0.9, "at_most": 3, "carry_over": True}},
    "audited": {"budget": 4, "audit": 0.5},
    "both": {"budget": {"accuracy": 0.9, "at_most": 8}, "audit": 0.2},
}


def fresh(script: Any, keys: int, k: int, minutes: int = 40, **more: Any) -> list[Freshness]:
    settings: dict[str, Any] = {"aim": "accuracy"} | more
    loop = Loop(query_of(k=k, **settings), Scripted(script))
    loop.ingest([(key, at * MINUTE + 1 + key) for at in range(minutes) for key in range(keys)])
    answers = loop.answers(until=minutes * MINUTE)
    assert all(len(answer.rows) == min(k, keys) for answer in answers)
    found = [answer.freshness for answer in answers if answer.freshness is not None]
    for each in found:
        numbers = [each.precision, each.ndcg, each.audited or 0.0]
        assert all(0.0 <= number <= 1.0 for number in numbers)
    return found


@pytest.fixture(params=BUDGETS)
def budget(request: pytest.FixtureRequest) -> dict[str, Any]:
    return BUDGETS[request.param]


def test_values_that_are_the_same_for_ever_cost_next_to_nothing(budget: dict[str, Any]) -> None:
    found = fresh(dict.fromkeys(range(20), 5.0), 20, 3, **budget)
    if "accuracy" in str(budget):
        assert np.mean([each.fetched for each in found[15:]]) <= 1.5
        assert not any(each.out_of_reach for each in found)


def test_one_key(budget: dict[str, Any]) -> None:
    found = fresh({0: [(at * MINUTE, float(at)) for at in range(40)]}, 1, 3, **budget)
    assert max(each.fetched for each in found) <= 1
    # Where there is one, it is right.
    assert all(each.precision == 1.0 for each in found if each.fetched)


def test_more_places_than_keys(budget: dict[str, Any]) -> None:
    script = {key: [(at * MINUTE, float((at * key) % 7)) for at in range(40)] for key in range(5)}
    found = fresh(script, 5, 50, **budget)
    assert max(each.fetched for each in found) <= 5


def test_random_numbers_at_each_look(budget: dict[str, Any]) -> None:
    """The budget is not exceeded, and nothing is claimed that is not so: nobody knows the order."""
    rng = np.random.default_rng(1)
    script = {
        key: [(at * MINUTE // 2, float(rng.normal())) for at in range(80)] for key in range(20)
    }
    found = fresh(script, 20, 3, **budget)
    assert max(each.fetched for each in found) <= 9
    if budget is BUDGETS["audited"]:
        assert np.mean([each.precision for each in found[10:]]) < 0.7
