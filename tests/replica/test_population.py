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


def test_of_a_world_the_share_beyond_the_greatest_value_is_uncertain() -> None:
    """As that of any value between the others."""
    population = Population(np.sort(np.random.default_rng(4).normal(0, 1, 99)))
    found = population.in_worlds(4_000, np.random.default_rng(5))
    assert found.sum(axis=1) == pytest.approx(1.0)
    beyond = found[:, population.points > population.known[-1]].sum(axis=1)
    assert beyond.mean() == pytest.approx(0.01, rel=0.1)
    assert beyond.std() == pytest.approx(0.01, rel=0.1)
    assert found.mean(axis=0) == pytest.approx(population.chances, rel=0.3)


def test_unread_values_are_drawn_by_the_shares_of_their_world() -> None:
    population = Population(np.arange(40.0))
    chances = population.in_worlds(50, np.random.default_rng(6))
    drawn = population.drawn(chances, 4_000, np.random.default_rng(7))
    for world, values in enumerate(drawn):
        assert np.isin(values, population.points).all()
        right = chances[world, population.points > 30].sum()
        assert (values > 30).mean() == pytest.approx(right, abs=0.04)


def test_the_greatest_known_value_is_the_first_of_all_as_often_as_it_should_be() -> None:
    """Of 30 keys 10 are known: the best of these is the best of all one time in three."""
    said = []
    for seed in range(200):
        population = Population(np.sort(np.random.default_rng(seed).lognormal(0, 2, 20)))
        chances = population.in_worlds(64, np.random.default_rng(seed))
        others = population.drawn(chances, 40, np.random.default_rng(seed + 1))
        said.append((others.max(axis=1) <= population.known[-1]).mean())
    assert np.mean(said) == pytest.approx(1 / 3, abs=0.04)


def test_whole_numbers_stay_such() -> None:
    values = np.sort(np.random.default_rng(8).poisson(2.0, 400).astype(float))
    population = Population(np.where(values < 2, 0.0, values))
    assert np.abs(population.points - np.rint(population.points)).max() < 1e-6
    assert population.chances[population.points == 0].sum() == pytest.approx(
        (population.known == 0).mean(), abs=0.02
    )
    few = Population(np.repeat([0.0, 1.0, 2.0, 3.0], 50))
    assert few.chances[few.points > 3.5].sum() < 0.02


@pytest.mark.parametrize("spread", [0.2, 2.0])
def test_where_all_values_are_positive_so_are_those_expected(spread: float) -> None:
    """A score that divides by a value would else be minus infinity in some worlds."""
    values = np.sort(np.exp(np.random.default_rng(3).normal(3, spread, 100)))
    found = Population(values)
    assert 0 < found.points[0] < values[0]
    assert 0 < found.chances[found.points < values[0]].sum() < 0.011
    assert found.chances[found.points < values[0] / 4].sum() < 0.005
