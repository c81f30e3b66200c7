"""On which scale values move: by so much, or by such a share of what they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

from topwater.model import FloatArray
from topwater.replica.proportions import Proportions, log_likelihood, values_of

FAR_APART = np.exp(np.random.default_rng(4).normal(0, 2, 60))
ALIKE = np.random.default_rng(4).normal(20, 4, 60)


def told(values: FloatArray, share: float, amount: float) -> Proportions:
    """Thirty rounds of changes, of a part of each value or of all alike."""
    rng, found = np.random.default_rng(1), Proportions()
    found.start(np.sort(values))
    for _ in range(30):
        moved = values * np.exp(rng.normal(0, share, len(values)))
        moved = moved + rng.normal(0, amount, len(values)) if amount else moved
        moved = np.where(moved > 0, moved, values)
        found.observe(values[:8], moved[:8])
        values = moved
    return found


def test_values_that_move_in_proportion_are_taken_as_logarithms() -> None:
    found = told(FAR_APART, share=0.3, amount=0.0)
    assert (found.on, found.positive) == (True, True)
    assert found.taken(FAR_APART) == pytest.approx(np.log(FAR_APART))
    assert values_of(found.taken(FAR_APART)) == pytest.approx(FAR_APART)
    # On average, 0.3 times what a normal number is.
    assert found.size[1] == pytest.approx(0.3 * np.sqrt(2 / np.pi), rel=0.3)


@pytest.mark.parametrize("values", [ALIKE, FAR_APART + 5.0])
def test_values_that_move_by_so_much_are_taken_as_they_are(values: FloatArray) -> None:
    found = told(values, share=0.0, amount=0.5)
    assert (found.on, found.positive) == (False, True)
    assert found.taken(values) is values


def test_before_a_change_was_seen_values_are_taken_as_they_are() -> None:
    found = Proportions()
    found.start(np.sort(FAR_APART))
    assert (found.on, found.positive) == (False, True)
    found.observe(FAR_APART[:1], 1.2 * FAR_APART[:1])
    assert found.on


def test_where_both_scales_are_alike_nothing_is_taken_for_sure() -> None:
    """From 10 to 30, a tenth of a value and 2 are about the same."""
    assert not told(ALIKE, share=0.1, amount=0.0).on


def test_one_value_without_a_logarithm_is_enough_for_ever() -> None:
    found = told(FAR_APART, share=0.3, amount=0.0)
    assert found.admits(np.array([1e-9]))
    assert not found.admits(np.array([2.0, 0.0]))
    assert not found.on
    found.observe(FAR_APART, 1.1 * FAR_APART)
    assert (found.on, found.admits(FAR_APART)) == (False, False)


def test_a_change_of_mind_needs_evidence() -> None:
    found = told(FAR_APART, share=0.3, amount=0.0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        found.observe(FAR_APART + 5.0, FAR_APART + 5.0 + rng.normal(0, 0.5, 60))
    assert not found.on


def test_it_goes_on_after_a_restart() -> None:
    found, again = told(FAR_APART, share=0.3, amount=0.0), Proportions()
    again.restore_facts(json.loads(json.dumps(found.facts())))
    for each in (found, again):
        each.observe(FAR_APART[:3], 2.0 * FAR_APART[:3])
    assert again.facts() == found.facts()


@pytest.mark.parametrize("value", [5e-324, 1.0, 1e140])
def test_values_that_never_differ_or_differ_beyond_measure(value: float) -> None:
    found = Proportions()
    found.start(np.full(3, value))
    assert not found.on
    for _ in range(3):
        found.observe(np.full(3, value), np.array([5e-324, 1.0, 1e140]))
    assert np.isfinite(found.sums).all()
    assert np.isfinite(found.size).all()
    assert np.isfinite(values_of(np.array([-np.inf, np.inf, 1e9]))).all()


def test_the_likelihood_is_a_density() -> None:
    off = np.linspace(-400, 400, 400_001)
    chances = np.exp(log_likelihood(off, 2.0))
    # But for a factor that is the same on all scales: 3/8.
    assert chances.sum() * (off[1] - off[0]) == pytest.approx(8 / 3, rel=1e-3)
