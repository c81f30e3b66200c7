"""A day of new keys: what is kept of them stops growing when it has reached its bound."""

from __future__ import annotations

import pytest

from topwater_lab.bench.scale_churn import Churn, ChurnPoint, Look, churn, row_of

SMALL = ChurnPoint(96, 60, budget=20, memory=200_000)


def check_flat(found: Churn, memory: int) -> None:
    """From when the bound was met on, nothing grows."""
    assert found.bound is not None
    assert found.bound < len(found.looks) // 2
    assert max(look.replica for look in found.looks) <= memory
    assert found.growth <= 1.1


def test_what_is_kept_of_new_keys_is_flat_after_the_bound() -> None:
    found = churn(SMALL)
    assert found.bound
    assert found.looks[found.bound - 1].remembered > found.looks[0].remembered
    check_flat(found, 200_000)
    row = row_of(SMALL, found)
    assert row["keys"] == 96 * 60
    assert row["bound_minute"] == found.looks[found.bound].minute
    assert (row["growth"], row["forgotten"]) == (found.growth, found.looks[-1].forgotten)


@pytest.mark.soak
def test_a_day_of_new_keys_with_what_is_set_by_default() -> None:
    """4.3 million keys, 50 a second; a look-up for one in ten fills the replica in some hours."""
    found = churn(ChurnPoint())
    for look in found.looks:
        print(look)
    check_flat(found, 64 * 2**20)


@pytest.mark.parametrize(
    ("forgotten", "growth"), [(0, 16 / 12), (3, 16 / 12), (11, 16 / 12)], ids=["", "early", "late"]
)
def test_what_grows_is_told_whenever_the_bound_was_met(forgotten: int, growth: float) -> None:
    looks = [
        Look(at, 1, 1, 1, 1 + at, 1, forgotten=int(bool(forgotten) and at >= forgotten))
        for at in range(16)
    ]
    found = Churn(looks, [], [])
    assert found.bound == (forgotten or None)
    assert found.growth == pytest.approx(growth)


def test_what_grew_before_the_bound_does_not_count() -> None:
    looks = [Look(at, min(at, 4) + 1, 1, 1, 1, 1, forgotten=int(at >= 5)) for at in range(16)]
    assert Churn(looks, [], []).growth == 1
    assert Churn([look._replace(forgotten=0) for look in looks], [], []).growth == 1
