"""Pairs of values: what they come back to, by values and by their logarithms."""

from __future__ import annotations

import json

import numpy as np
import pytest

from topwater.replica.proportions import Proportions
from topwater.replica.value_pairs import ValuePairs

VALUES = np.exp(np.linspace(-2, 4, 50))


def test_before_anything_is_known() -> None:
    pairs = ValuePairs(Proportions())
    assert (pairs.begun, pairs.learnt, pairs.mean, pairs.memory) == (False, False, 0.0, 0.5)


@pytest.mark.parametrize("on", [False, True])
def test_values_come_back_on_the_scale_that_is_taken(on: bool) -> None:
    scale, rng = Proportions(), np.random.default_rng(2)
    pairs = ValuePairs(scale)
    pairs.start(VALUES)
    assert (pairs.begun, pairs.learnt, pairs.memory) == (True, False, 0.5)
    values = VALUES
    for _ in range(200):
        after = np.exp(1.0 + 0.8 * (np.log(values) - 1.0) + rng.normal(0, 0.3, 50))
        pairs.observe(values, after)
        values = after
    scale.on = on
    assert pairs.learnt
    if on:
        assert (pairs.middle, pairs.memory) == pytest.approx((1.0, 0.8), abs=0.06)
        assert pairs.mean == pytest.approx(np.exp(pairs.middle))
    else:
        assert pairs.mean == pairs.middle > np.e


def test_without_logarithms_there_is_one_scale() -> None:
    scale = Proportions()
    pairs = ValuePairs(scale)
    scale.positive = False
    pairs.start(VALUES - 5.0)
    pairs.observe(VALUES - 5.0, VALUES - 4.0)
    assert pairs.mean == pytest.approx((VALUES - 5.0).mean(), abs=1.0)
    again = ValuePairs(scale)
    again.restore_facts(json.loads(json.dumps(pairs.facts())))
    assert again.facts() == pairs.facts()
    again.restore_facts(None)
    assert again.facts() is None
