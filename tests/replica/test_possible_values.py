"""What values could be: a few points stand for all, and bounds hold them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.taught_moves import KEYS, SLOTS, taught
from topwater.replica.population import NOBODY
from topwater.replica.possible_values import POINTS, Passed


def test_points_stand_for_what_is_drawn() -> None:
    rng = np.random.default_rng(1)
    model, values = taught(lambda rng, _, x: x + rng.normal(0, 2, KEYS))
    moved = model.at(SLOTS, values, np.full(KEYS, 2.0), np.full(KEYS, 120.0))
    points, chances = moved.points()
    assert points.shape == chances.shape == (KEYS, POINTS)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    rows = np.zeros(20_000, np.int64)
    drawn = moved.draw(rows, rng.random(20_000), rng.random(20_000))
    assert drawn.mean() == pytest.approx((points * chances).sum(axis=1)[0], abs=0.2)
    for share in (0.1, 0.5, 0.9):
        at = np.quantile(drawn, share)
        assert chances[0][points[0] <= at].sum() == pytest.approx(share, abs=0.1)
    low, high = moved.range()
    assert (low <= points.min(axis=1)).all()
    assert (high >= points.max(axis=1)).all()


@pytest.mark.parametrize("told", [False, True])
def test_of_some_values_what_has_happened_to_them(told: bool) -> None:
    seconds, stale, changes = np.arange(12.0).reshape(3, 4)
    passed = Passed(seconds, stale, changes, NOBODY, times=stale + 1 if told else None)
    some = passed.at(np.array([3, 1]))
    assert [each.tolist() for each in some[:3]] == [[3, 1], [7, 5], [11, 9]]
    assert (some.times is None) != told
    if some.times is not None:
        assert some.times.tolist() == [8, 6]
