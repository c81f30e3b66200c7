"""The population: what is between the values that are known, and what is beyond them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from topwater.replica.population import FEWEST, NOBODY, Population


def quantile(population: Population, above: float) -> float:
    """The value that so great a share exceeds."""
    chances = np.cumsum(population.chances[::-1])
    return float(population.points[::-1][np.searchsorted(chances, above)])


@pytest.mark.parametrize("count", [100, 3_000])
@pytest.mark.parametrize("above", [0.1, 0.01, 0.001])
def test_the_end_of_a_log_normal_is_continued(count: int, above: float) -> None:
    """Of a hundred values none need be as rare as one in a thousand."""
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        found.append(np.log(quantile(Population(np.sort(np.exp(rng.normal(0, 2, count)))), above)))
    right = 2 * NormalDist().inv_cdf(1 - above)
    assert np.median(found) == pytest.approx(right, abs=0.6)


@pytest.mark.parametrize("above", [0.1, 0.01, 0.001])
def test_the_end_of_a_power_law_is_continued(above: float) -> None:
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        found.append(np.log(quantile(Population(np.sort(rng.pareto(1.2, 1_000) + 1)), above)))
    assert np.median(found) == pytest.approx(-np.log(above) / 1.2, rel=0.15)


def test_both_ends_are_alike() -> None:
    values = np.sort(np.random.default_rng(1).normal(0, 3, 500))
    one, other = Population(values), Population(np.sort(-values))
    assert one.points == pytest.approx(-other.points[::-1], abs=0.2)
    assert one.chances == pytest.approx(other.chances[::-1])


def test_chances_are_all_there_is_and_points_ascend() -> None:
    for values in (np.arange(FEWEST), np.geomspace(1, 1e12, 5_000), np.repeat([1.0, 7.0], 40)):
        population = Population(values.astype(np.float64))
        assert population.chances.sum() == pytest.approx(1.0)
        assert (np.diff(population.points) >= -1e-9).all()
        assert np.isfinite(population.points).all()
        assert len(np.unique(population.draws)) > 1


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e200, 1e307])
def test_values_of_any_size(scale: float) -> None:
    values = np.sort(np.random.default_rng(2).normal(0, 0.2, 100)) * scale
    for each in (values, np.abs(np.sort(np.abs(values)))):
        assert np.isfinite(Population(each).points).all()


def test_of_few_or_equal_values_nothing_can_be_said() -> None:
    assert not NOBODY.usable
    assert NOBODY.median == 0.0
    assert not Population(np.arange(FEWEST - 1.0)).usable
    assert not Population(np.full(100, 5.0)).usable
    assert Population(np.full(100, 5.0)).median == 5.0
    assert Population(np.array([-1e308, 1e308])).median == 0.0
    assert Population(np.array([1e308, 1.5e308])).median == pytest.approx(1.25e308)
