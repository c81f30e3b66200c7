"""One purse for all sources: never more than it holds, and the best for its cost first."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.model import Fetched
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.joins.wallet import Wallet
from topwater.replica.joins.wish import Wanted

worths = st.lists(st.floats(0, 10), max_size=12)


def wallet_of(budget: Any, most: int | None = None, **changes: Any) -> Wallet:
    joins = [
        {"remote": "a", "from": "x"},
        {"remote": "b", "from": "y", "cost": 5, "request_cost": 2, **changes},
    ]
    return Wallet(JoinSettings.of(joins, budget), 1_000, [None, most])


def wanted(worth: list[float]) -> Wanted:
    best = np.sort(np.array(worth))[::-1]
    return Wanted(np.arange(len(best)), np.arange(len(best)), best)


def came(count: int, seconds: float = 0.0) -> Fetched:
    return Fetched(np.zeros(count), np.ones(count, bool), seconds)


@given(worths, worths, st.floats(7, 60), st.integers(1, 5))
def test_a_window_never_costs_more_than_it_may(
    one: list[float], other: list[float], cost: float, most: int
) -> None:
    wallet = wallet_of(cost, most)
    rows = wallet.chosen(0, [wanted(one), wanted(other)])
    assert all(len(set(each.tolist())) == len(each) for each in rows)
    spent = wallet.spend(0, [len(each) for each in rows], [came(len(each)) for each in rows])
    assert spent <= cost + 1e-6


@given(st.lists(st.tuples(worths, worths, st.integers(0, 9_000)), max_size=20))
def test_no_quota_is_overspent_over_restarts(
    windows: list[tuple[list[float], list[float], int]],
) -> None:
    budget = {"cost": 40, "per": {"10 s": 60}}
    wallet, now, spent, asked = wallet_of(budget, per={"20 s": 4}), 0, [], []
    for one, other, wait in windows:
        now += 1_000 + wait
        rows = wallet.chosen(now, [wanted(one), wanted(other)])
        counts = [len(each) for each in rows]
        spent.append((now, wallet.spend(now, counts, [came(count) for count in counts])))
        asked.append((now, counts[1]))
        state = json.loads(json.dumps(wallet.snapshot()))
        wallet = wallet_of(budget, per={"20 s": 4})
        wallet.restore(state)
    for end, _ in spent:
        assert sum(cost for at, cost in spent if end - 10_000 < at <= end) <= 60 + 1e-6
        assert sum(count for at, count in asked if end - 20_000 < at <= end) <= 4


def test_a_quota_is_not_overspent_where_another_comes_or_goes() -> None:
    """Settings may change at a restart: what was spent of a day stays spent."""
    wallet = wallet_of({"per": {"1 d": 60}}, per={"20 s": 4})
    day = 86_400_000
    left = dict(wallet.left(day))["1 d"]
    wallet.left(2 * day)
    wallet.spend(2 * day, [50, 0], [came(50), came(0)])
    other = wallet_of({"per": {"1 min": 20, "1 d": 60}})
    other.restore(json.loads(json.dumps(wallet.snapshot())))
    assert dict(other.left(2 * day)) == {"1 min": pytest.approx(1 / 3), "1 d": 10.0}
    assert left < 1


def test_further_attempts_are_paid_from_what_is_left() -> None:
    wallet = wallet_of({"cost": 40, "per": {"10 s": 360}}, per={"20 s": 80})
    again = wallet.again(0, [4, 2])
    assert {name: (each.look_ups, each.cost) for name, each in again.items()} == {
        "x": (math.inf, 10.0),  # of 36 that are free, 16 are spent, and two share the rest
        "y": (2.0, 10.0),
    }
    assert [again["x"].take(9), again["y"].take(1), again["y"].take(1)] == [True, True, False]
    spent = wallet.spend(0, [4, 2], [came(4), came(2)], again)
    assert spent == 16 + 9 + 7
    assert dict(wallet.left(0)) == {"10 s": 4.0, "y: 20 s": 1.0}
    assert not again["x"].take(1)
    assert wallet.again(0, [3, 0]).keys() == {"x"}
    assert wallet.again(0, [9, 9])["x"].cost == 0


def test_a_group_of_several_has_a_budget_of_its_own() -> None:
    wallet = wallet_of({"cost": 9, "per": {"10 s": 250}})
    some = [wanted([1.0] * 30), wanted([])]
    assert [len(each) for each in wallet.chosen(0, some)] == [9, 0]
    assert [len(each) for each in wallet.chosen(0, some, cost=18)] == [18, 0]
    assert [len(each) for each in wallet.chosen(0, some, cost=99)] == [25, 0]
    assert wallet.again(0, [12, 0], cost=18)["x"].cost == 6


def test_worth_is_divided_by_cost() -> None:
    rows = wallet_of(9).chosen(0, [wanted([1.0, 0.9, 0.8]), wanted([4.0, 4.0])])
    assert [each.tolist() for each in rows] == [[0, 1, 2], []]
    rows = wallet_of(9).chosen(0, [wanted([1.0, 0.9, 0.8]), wanted([60.0, 6.0])])
    assert [each.tolist() for each in rows] == [[0, 1], [0]]


def test_trifles_are_no_reason_to_touch_a_quota() -> None:
    trifles = [wanted([1e-9] * 3), wanted([])]
    assert [len(each) for each in wallet_of({"cost": 9}).chosen(0, trifles)] == [3, 0]
    quota = {"cost": 9, "per": {"1 d": 1_000_000}}
    assert [len(each) for each in wallet_of(quota).chosen(0, trifles)] == [0, 0]


def test_without_a_limit_everything_is_read() -> None:
    assert wallet_of(None).unlimited
    rows = wallet_of(None).chosen(0, [wanted([1.0, 0.0]), wanted([0.0])])
    assert [len(each) for each in rows] == [2, 1]


def test_a_deadline_allows_what_a_source_has_time_for() -> None:
    wallet = wallet_of({"deadline": "1 s"})
    wallet.spend(0, [10, 0], [came(10, 5.0), came(0)])
    rows = wallet.chosen(1_000, [wanted([1.0] * 50), wanted([1.0] * 9)])
    assert len(rows[0]) == pytest.approx(1 / (0.02 + 0.3 * 0.48), abs=1)
    assert len(rows[1]) == 9


def test_what_is_left_is_told_by_name() -> None:
    wallet = wallet_of({"cost": 40, "per": {"10 s": 60}}, per={"20 s": 40})
    assert dict(wallet.left(0)) == {"10 s": 6.0, "y: 20 s": 2.0}
