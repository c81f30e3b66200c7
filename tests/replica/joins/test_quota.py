"""What may be spent in a span of time, and that no span ever sees more."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.replica.joins.quota import Quota, limits_of, quotas_of, require_room

spends = st.lists(st.tuples(st.integers(0, 400), st.floats(0, 1)), max_size=60)


@given(spends, st.integers(1, 1_000), st.integers(1, 300))
def test_no_span_sees_more_than_the_amount(
    given_spends: list[tuple[int, float]], length: int, step: int
) -> None:
    quota, now, spent = Quota(100.0, length, step), 0, list[tuple[int, float]]()
    for wait, share in given_spends:
        now += wait
        amount = share * quota.left(now)
        quota.spend(now, amount)
        spent.append((now, amount))
    for end, _ in spent:
        inside = sum(amount for at, amount in spent if end - length < at <= end)
        assert inside <= 100.0 + 1e-6


@given(spends, st.integers(0, 60))
def test_a_restart_changes_nothing(given_spends: list[tuple[int, float]], when: int) -> None:
    first, now = Quota(100.0, 700, 100), 0
    second = Quota(100.0, 700, 100)
    for place, (wait, share) in enumerate(given_spends):
        now += wait
        if place == when:
            second = Quota(100.0, 700, 100)
            second.restore(json.loads(json.dumps(first.snapshot())))
        assert first.left(now) == second.left(now)
        amount = share * first.left(now)
        first.spend(now, amount)
        second.spend(now, amount)


def test_what_is_not_spent_is_kept_up_to_the_whole() -> None:
    quota = Quota(60.0, 60_000, 1_000)
    assert quota.left(0) == 1.0
    assert quota.left(10_000) == pytest.approx(11.0)
    assert quota.left(10_000_000) == 60.0


def test_the_first_hour_does_not_take_the_whole_day() -> None:
    quota, taken = Quota(2_400.0, 86_400_000, 60_000), 0.0
    for minute in range(60):
        now = minute * 60_000
        taken += quota.left(now)
        quota.spend(now, quota.left(now))
    assert taken == pytest.approx(100.0, rel=0.02)


def test_limits_are_kept_by_their_spans() -> None:
    assert limits_of({"24 h": 10, "90 s": 3}, "budget.per", 1.0) == {"1 d": 10.0, "90 s": 3.0}
    assert [*quotas_of({"1 d": 10.0}, 1_000, share=2)] == ["1 d"]
    assert quotas_of({"1 d": 10.0}, 1_000, share=2)["1 d"].amount == 5.0


@pytest.mark.parametrize(
    ("given_limits", "problem"),
    [
        ({"1 d": 0}, "must be a number above 0"),
        ({"soon": 5}, "'soon' is not a duration"),
        ({"1 d": 5, "24 h": 6}, "stands there twice"),
        ({"0 s": 5}, "at least 1"),
        (5, "must be a table"),
        ({"1 d": 0.5}, "less than one look-up"),
    ],
)
def test_limits_that_can_not_be_are_refused(given_limits: object, problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        limits_of(given_limits, "budget.per", 1.0)


def test_an_amount_has_to_allow_a_look_up() -> None:
    require_room(5.0, 5.0, "budget.cost")
    with pytest.raises(QueryError, match=r"budget\.cost: 4 is less than one look-up"):
        require_room(4.0, 5.0, "budget.cost")
