"""One wallet for all groups: what several want is read once, and spent where it matters."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings

from tests.support.joined_scene import PRODUCTS, Event, Step, play, query_of, steps
from topwater.monitor.group_wallet import pooled
from topwater.replica.joins.wish import Wanted


def test_what_several_want_is_worth_the_more() -> None:
    one = Wanted(np.array(["a", "b"], object), np.array([0, 1]), np.array([3.0, 2.0]))
    other = Wanted(np.array(["b"], object), np.array([5]), np.array([2.0]))
    pool = pooled([one, other, Wanted.nothing()])
    assert (pool.keys.tolist(), pool.worth.tolist()) == (["b", "a"], [4.0, 3.0])
    assert [each.tolist() for each in pool.where] == [[1, 0], [0], []]


@settings(max_examples=15)
@given(steps())
def test_all_groups_together_cost_no_more_than_they_may(given_steps: list[Step]) -> None:
    query = query_of(group_by="team", budget={"cost": 12, "over": "all", "per": {"3 s": 20}})
    spent: dict[int, float] = {}
    asked: dict[int, set[Any]] = {}
    for told in play(query, given_steps):
        end = told.answer.window.end
        looked_up = {(each.source, each.key) for each in told.answer.looked_up}
        asked[end] = asked.get(end, set()) | looked_up
        spent[end] = sum(5 if source == "vendors" else 1 for source, _ in asked[end])
        assert spent[end] <= 12
        assert dict(told.answer.left)["3 s"] <= 20
    for end in spent:
        assert sum(cost for at, cost in spent.items() if end - 3_000 < at <= end) <= 20


def test_groups_do_not_share_a_budget_that_each_has() -> None:
    events = [
        Event(product, 1 + at, 7 + at % 2, None, "red" if at % 2 else "blue")
        for at, product in enumerate(PRODUCTS)
    ]
    given_steps = [Step(events, {}, {}), *[Step([], {}, {})] * 2]
    told = play(query_of(group_by="team", budget=5), given_steps)
    assert [each.answer.spent for each in told] == [5, 5]
    told = play(query_of(group_by="team", budget={"cost": 5, "over": "all"}), given_steps)
    assert sum(each.answer.spent or 0 for each in told) == 5


@settings(max_examples=15)
@given(steps())
def test_each_group_may_cost_that_much(given_steps: list[Step]) -> None:
    for told in play(query_of(group_by="team", budget=12), given_steps):
        assert (told.answer.spent or 0) <= 24
