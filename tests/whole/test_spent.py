"""What look-ups cost never exceeds what they may: by the services' own books, with faults."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.metered_scene import STEP, Meter, asked_at, most_in, play, query_of, spent_at
from topwater import Answer, TopKQuery

BUDGETS: dict[str, tuple[Any, dict[str, float]]] = {
    "a window's cost": ({"cost": 30}, {}),
    "a quota": ({"per": {"10 s": 90}}, {}),
    "all of them": ({"cost": 30, "per": {"10 s": 200, "1 min": 700}}, {"10 s": 9, "1 min": 35}),
}
BUDGET = pytest.mark.parametrize("budget", BUDGETS)
BATCHED = pytest.mark.parametrize("batched", [False, True])


def check(query: TopKQuery, answers: list[Answer], meters: dict[str, Meter], groups: int) -> None:
    """Compare the services' books with the limits, and with what answers say."""
    assert query.joins is not None
    budget, spent = query.joins.budget, spent_at(meters)
    if budget.cost is not None:
        each = budget.cost * (1 if budget.over == "all" else groups)
        assert max(spent.values()) <= each
    limits = {each: int(each.split()[0]) * 1_000 for each in ("10 s",)} | {"1 min": 60_000}
    for span, amount in budget.per.items():
        assert most_in(spent, limits[span]) <= amount
    vendors = next(join for join in query.joins.joins if join.source == "vendors")
    for span, amount in vendors.per.items():
        assert most_in(asked_at(meters["vendors"]), limits[span]) <= amount
    if query.group_by is None:
        told = {answer.window.end: answer.spent for answer in answers if answer.spent}
        assert told == spent
        for answer in answers:
            for name, left in answer.left:
                assert 0 <= left <= {**budget.per, **_named(vendors.per)}[name]


def _named(per: Any) -> dict[str, float]:
    return {f"vendors by vendor: {span}": amount for span, amount in per.items()}


@BUDGET
@BATCHED
@pytest.mark.parametrize("windows", [40])
def test_nothing_is_overspent(budget: str, batched: bool, windows: int) -> None:
    query = query_of(*BUDGETS[budget])
    answers, meters = play(query, windows, seed=5, batched=batched)
    assert len(answers) >= windows - 3
    failed = sum(answer.freshness.failed for answer in answers if answer.freshness)
    assert failed > 0.05 * sum(sum(asked_at(meter).values()) for meter in meters.values())
    check(query, answers, meters, groups=1)


@BUDGET
def test_every_attempt_is_paid_for(budget: str) -> None:
    query = query_of(*BUDGETS[budget])
    answers, meters = play(query, 40, seed=6, retries=2)
    check(query, answers, meters, groups=1)
    asked = sum(sum(asked_at(meter).values()) for meter in meters.values())
    again = asked - sum(answer.freshness.fetched for answer in answers if answer.freshness)
    # A window that may cost so much spends it on first attempts.
    assert again > 0 if budget == "a quota" else again >= 0, again


def check_groups(over: str, windows: int) -> None:
    """Play each budget with groups."""
    for number, (budget, per) in enumerate(BUDGETS.values()):
        query = query_of({**budget, "over": over}, per, group_by="team")
        answers, meters = play(query, windows, seed=number, batched=True)
        check(query, answers, meters, groups=2)


@pytest.mark.parametrize("over", ["each", "all"])
def test_groups_overspend_nothing(over: str) -> None:
    check_groups(over, windows=15)


@pytest.mark.soak
@BUDGET
@BATCHED
@pytest.mark.parametrize("seed", range(100, 104))
def test_a_thousand_windows_overspend_nothing(budget: str, batched: bool, seed: int) -> None:
    query = query_of(*BUDGETS[budget])
    answers, meters = play(query, 1_000, seed, batched=batched, restart_every=1 + seed % 4)
    check(query, answers, meters, groups=1)


@pytest.mark.soak
@BUDGET
@pytest.mark.parametrize("seed", range(200, 203))
def test_a_thousand_windows_of_further_attempts_overspend_nothing(budget: str, seed: int) -> None:
    query = query_of(*BUDGETS[budget])
    answers, meters = play(query, 1_000, seed, retries=2)
    check(query, answers, meters, groups=1)


@pytest.mark.soak
@pytest.mark.parametrize("over", ["each", "all"])
def test_a_thousand_windows_of_groups_overspend_nothing(over: str) -> None:
    check_groups(over, windows=1_000)


def test_the_books_are_kept_right() -> None:
    """The measure itself: spans are open on the left, and may begin anywhere."""
    spent = {STEP: 3.0, 2 * STEP: 4.0, 11 * STEP: 5.0, 12 * STEP: 1.0}
    assert most_in(spent, 10 * STEP) == 9.0
    assert most_in(spent, 11 * STEP) == 12.0
