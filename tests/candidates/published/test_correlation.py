"""Rank tests: exact values, how seldom they alarm, and what alarms them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from topwater.candidates.published.auto_skyband import ALARM
from topwater.candidates.published.correlation import clinging, drift


@pytest.mark.parametrize("levels", [None, 3])
def test_a_false_alarm_is_rarer_than_told(levels: int | None) -> None:
    rng = np.random.default_rng(9)
    alarms = 0
    for _ in range(10_000):
        sample = rng.random(64) if levels is None else rng.integers(levels, size=64)
        alarms += clinging(sample.tolist()) > ALARM or drift(sample.tolist()) < -ALARM
    assert alarms <= 3


def test_the_tests_have_the_moments_of_a_standard_normal() -> None:
    rng = np.random.default_rng(10)
    samples = rng.random((4000, 64)).tolist()
    for test in (clinging, drift):
        found = [test(sample) for sample in samples]
        assert np.mean(found) == pytest.approx(0, abs=0.06)
        assert np.std(found) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize(
    ("scores", "alarm"),
    [
        (list(range(64)), True),
        ([-float(place) for place in range(64)], True),
        ([math.sin(place / 5) for place in range(64)], True),
        ([float(place % 2) for place in range(64)], False),
        ([1.0] * 64, False),
    ],
)
def test_what_clings(scores: list[float], alarm: bool) -> None:
    assert (clinging(scores) > ALARM) is alarm


@pytest.mark.parametrize("seed", range(5))
def test_drift_is_the_count_of_rising_pairs_by_its_deviation(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(5, size=20).tolist()
    pairs = [(a, b) for at, a in enumerate(scores) for b in scores[at + 1 :]]
    rising = sum(b > a for a, b in pairs) - sum(b < a for a, b in pairs)
    assert drift(scores) == pytest.approx(rising / math.sqrt(20 * 19 * 45 / 18))


@pytest.mark.parametrize("seed", range(5))
def test_clinging_is_the_correlation_of_neighbouring_ranks(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(5, size=20).tolist()
    ranks = [sum(o < score for o in scores) - sum(o > score for o in scores) for score in scores]
    together = sum(a * b for a, b in pairwise(ranks)) / sum(rank**2 for rank in ranks)
    assert clinging(scores) == pytest.approx(math.sqrt(20) * (together + 1 / 20))
