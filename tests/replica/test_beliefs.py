"""Beliefs: how stale values are, and how they move."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.looping import MINUTE
from tests.support.rate_polls import observed, polls_of
from topwater.replica.beliefs import RateBeliefs, ValueModel
from topwater.replica.look_ups import Polls


@pytest.mark.parametrize("scale", [0.001, 1.0, 60.0])
def test_staleness_is_calibrated(scale: float) -> None:
    """Of the values said to be stale with probability p, a share of p is; at any pace."""
    rng = np.random.default_rng(5)
    rate = np.exp(rng.uniform(np.log(1 / 3_000), np.log(1 / 30), 400)) / scale
    beliefs = RateBeliefs(int(MINUTE * scale))
    slots = np.arange(400)
    said, true = [], []
    for turn in range(40):
        seconds, changed = polls_of(rng, rate, 30 * scale, 300 * scale)
        if turn >= 10:
            said.append(beliefs.stale(beliefs.of(slots), seconds, slots))
            true.append(changed)
        beliefs.observe(observed(slots, seconds, changed))
    said_all, true_all = np.concatenate(said), np.concatenate(true)
    for low in np.arange(0, 1, 0.2):
        here = (said_all >= low) & (said_all < low + 0.2)
        if here.sum() > 200:
            assert true_all[here].mean() == pytest.approx(said_all[here].mean(), abs=0.05)


def test_the_grid_of_rates_is_as_published_for_minutes_and_fits_other_steps() -> None:
    assert RateBeliefs().grid[[0, -1]] == pytest.approx([1 / 86_400, 1 / 15])
    assert RateBeliefs(10).grid[-1] == pytest.approx(400)
    assert RateBeliefs(86_400_000).grid[0] == pytest.approx(1 / 1_440 / 86_400)


def test_the_value_model_learns_how_values_move() -> None:
    rng = np.random.default_rng(6)
    model = ValueModel()
    x = rng.normal(10, 2, 300)
    model.start(x)
    for _ in range(20):
        after = 10 + 0.8 * (x - 10) + rng.normal(0, 1.2, 300)
        rows = np.arange(300)
        model.observe(Polls(0, rows, np.ones(300), rows >= 0, x, after, rows))
        x = after
    assert model.memory == pytest.approx(0.8, abs=0.05)
    assert model.mean == pytest.approx(10, abs=0.3)
    could_be = model.could_be(np.array([10.0]), 32)[0]
    assert could_be.std() == pytest.approx(1.2, abs=0.25)
