"""What one purse must reach: every target is missed by a little too much."""

from __future__ import annotations

from typing import Any

import pytest

from topwater_lab.bench.wallet_targets import check_targets


def row(case: str, contender: str, precision: float, **changes: Any) -> dict[str, Any]:
    plain = {"differs": 1.0, "cost": 12.0, "most_cost": 12.0, "budget": 12.0}
    return {"case": case, "contender": contender, "precision": precision, **plain, **changes}


def rows(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    """All targets are reached, just so."""
    told = {
        "equal": row("equal", "worth", 0.8),
        "split": row("equal", "fixed split", 0.8049),
        "ttl": row("equal", "TTL caches", 0.8049),
        "apart": row("apart", "worth", 0.8, differs=5.0),
        "apart split": row("apart", "fixed split", 0.7499),
        "apart ttl": row("apart", "TTL caches", 0.7499),
        "alone": row("apart", "ranked key alone", 0.6999),
        "copies": row("apart", "a copy for each key", 0.6999),
    }
    return [{**each, **changes.get(name, {})} for name, each in told.items()]


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, set()),
        ({"split": {"precision": 0.806}}, {0}),
        ({"ttl": {"precision": 0.806}}, {1}),
        ({"apart split": {"precision": 0.751}}, {2}),
        ({"apart ttl": {"precision": 0.751}}, {3}),
        ({"alone": {"precision": 0.701}}, {4}),
        ({"copies": {"precision": 0.701}}, {5}),
        ({"equal": {"most_cost": 12.5}}, {6}),
        ({"split": {"cost": 12.2}}, {7}),
    ],
)
def test_each_target_is_missed_by_itself(changes: dict[str, Any], missed: set[int]) -> None:
    found = check_targets(rows(**changes))
    assert {at for at, target in enumerate(found) if not target.reached} == missed
    for at in missed:
        assert found[at].missed


def test_what_was_not_measured_is_not_reached() -> None:
    found = check_targets([row("equal", "worth", 0.8)])
    assert [target.reached for target in found] == [None] * 6 + [True, True]
