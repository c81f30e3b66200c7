"""Beliefs: how stale values are, and how they move."""

from __future__ import annotations

import json

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


def test_what_is_forgotten_leaves_the_prior_too() -> None:
    beliefs, slots = RateBeliefs(), np.arange(3)
    before = beliefs.prior.copy()
    beliefs.observe(observed(slots, np.full(3, 30.0), np.array([True, False, True])))
    assert beliefs.pooled.sum() == pytest.approx(3)
    assert not np.allclose(beliefs.prior, before)
    beliefs.reset(slots)
    assert beliefs.prior == pytest.approx(before)
    assert beliefs.of(slots[:1])[0] == pytest.approx(before)


def test_staleness_and_survival_are_two_sides_of_one_thing() -> None:
    beliefs, seconds = RateBeliefs(), np.array([0.0, 10.0, 600.0])
    one = np.tile(beliefs.prior, (3, 1))
    stale = beliefs.stale(one, seconds, np.zeros(3, np.int64))
    right = [(beliefs.prior * (1 - np.exp(-beliefs.grid * s))).sum() for s in seconds]
    assert stale == pytest.approx(right)
    survives = beliefs.survives(one[:1], seconds, np.zeros((1, 3)))[0]
    assert survives == pytest.approx(1 - stale)


def test_a_value_model_goes_on_after_a_restart() -> None:
    model, again = ValueModel(), ValueModel()
    assert (model.learnt, model.moves, model.memory, model.mean) == (False, False, 0.5, 0.0)
    model.start(np.array([1.0, 3.0, np.nan]))
    assert (model.mean, model.memory, model.learnt, model.moves) == (2.0, 0.5, False, True)
    again.restore(json.loads(json.dumps(model.snapshot())))
    values = np.array([5.0])
    assert again.could_be(values, 4).tolist() == model.could_be(values, 4).tolist()
