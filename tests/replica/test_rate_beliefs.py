"""Rates: how stale values are, what is pooled, and what fades."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.looping import MINUTE
from tests.support.rate_polls import observed, polls_of
from topwater.replica.rate_beliefs import RateBeliefs


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
            said.append(beliefs.stale(beliefs.of(slots, seconds), seconds, slots))
            true.append(changed)
        beliefs.observe(observed(slots, seconds, changed))
        beliefs.pool(slots)
    said_all, true_all = np.concatenate(said), np.concatenate(true)
    for low in np.arange(0, 1, 0.2):
        here = (said_all >= low) & (said_all < low + 0.2)
        if here.sum() > 200:
            assert true_all[here].mean() == pytest.approx(said_all[here].mean(), abs=0.05)


def test_the_prior_finds_the_rate_that_all_keys_have() -> None:
    """Each key is polled twice: none of them tells much, all of them together do."""
    rng, slots = np.random.default_rng(6), np.arange(2_000)
    beliefs = RateBeliefs()
    for _ in range(2):
        seconds, changed = polls_of(rng, np.full(2_000, 1 / 170), 30, 300)
        beliefs.observe(observed(slots, seconds, changed))
    for _ in range(30):
        beliefs.pool(slots)
    stale = (beliefs.prior * -np.expm1(-beliefs.grid * 120)).sum()
    assert stale == pytest.approx(1 - np.exp(-120 / 170), abs=0.03)


def test_the_grid_of_rates_is_as_published_for_minutes_and_fits_other_steps() -> None:
    assert RateBeliefs().grid[[0, -1]] == pytest.approx([1 / 86_400, 1 / 15])
    assert RateBeliefs(10).grid[-1] == pytest.approx(400)
    assert RateBeliefs(86_400_000).grid[0] == pytest.approx(1 / 1_440 / 86_400)


def test_what_was_learnt_of_a_key_fades() -> None:
    beliefs, slots = RateBeliefs(), np.arange(2)
    for _ in range(20):
        beliefs.observe(observed(slots, np.full(2, 60.0), np.array([True, False])))
    lively, calm = beliefs.stale(beliefs.of(slots), np.full(2, 60.0), slots)
    assert lively > 0.9
    assert calm < 0.1
    later = beliefs.of(slots, np.array([0.0, 1e9]))
    assert later[0] == pytest.approx(beliefs.of(slots)[0])
    assert later[1] == pytest.approx(beliefs.prior)


def test_a_key_that_was_forgotten_is_like_all_others_again() -> None:
    beliefs, slots = RateBeliefs(), np.arange(3)
    beliefs.observe(observed(slots, np.full(3, 30.0), np.array([True, False, True])))
    beliefs.pool(slots)
    assert beliefs.learnt(slots).all()
    beliefs.reset(slots)
    assert not len(beliefs.polled())
    assert beliefs.of(slots[:1])[0] == pytest.approx(beliefs.prior)


def test_the_prior_does_not_depend_on_the_order_of_keys() -> None:
    """Slots are numbered otherwise after a restart: not a bit may differ."""
    rng, slots = np.random.default_rng(7), np.arange(500)
    beliefs = RateBeliefs()
    seconds, changed = polls_of(rng, np.full(500, 0.01), 30, 300)
    beliefs.observe(observed(slots, seconds, changed))
    start = beliefs.prior
    beliefs.pool(slots)
    found, beliefs.prior = beliefs.prior, start
    beliefs.pool(rng.permutation(slots))
    assert beliefs.prior.tolist() == found.tolist()


def test_staleness_and_survival_are_two_sides_of_one_thing() -> None:
    beliefs, seconds = RateBeliefs(), np.array([0.0, 10.0, 600.0])
    one = np.tile(beliefs.prior, (3, 1))
    stale = beliefs.stale(one, seconds, np.zeros(3, np.int64))
    right = [(beliefs.prior * (1 - np.exp(-beliefs.grid * s))).sum() for s in seconds]
    assert stale == pytest.approx(right)
    survives = beliefs.survives(one[:1], seconds, np.zeros((1, 3)))[0]
    assert survives == pytest.approx(1 - stale)


def test_after_long_there_were_many_changes() -> None:
    beliefs = RateBeliefs()
    sure = np.zeros((3, len(beliefs.grid)))
    sure[:, 20] = 1.0
    seconds = np.array([0.001, 60.0, 3_600.0])
    stale = beliefs.stale(sure, seconds, np.zeros(3, np.int64))
    changes = beliefs.changes(sure, seconds, np.zeros(3, np.int64), stale)
    expected = beliefs.grid[20] * seconds / -np.expm1(-beliefs.grid[20] * seconds)
    assert changes == pytest.approx(expected, rel=1e-6)
    assert changes[0] == pytest.approx(1.0, abs=1e-3)
