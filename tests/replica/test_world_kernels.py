"""The places of some keys in some worlds, against sorting the worlds."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.replica.possible_worlds import decided
from topwater.replica.world_kernels import (
    best_in_worlds,
    moved_in_worlds,
    places_among,
    ways_taken,
)


@pytest.mark.parametrize(("worlds", "n"), [(1, 1), (3, 2), (20, 9), (7, 130)])
def test_places_are_those_of_a_stable_sort(worlds: int, n: int) -> None:
    rng = np.random.default_rng(n)
    scores = np.where(rng.random((worlds, n)) < 0.2, -np.inf, rng.integers(0, 5, (worlds, n)))
    world, column = (each.ravel() for each in np.indices((worlds, n)))
    places = places_among(scores, world, column).reshape(worlds, n)
    for row, found in zip(scores, places, strict=True):
        assert np.argsort(found).tolist() == np.argsort(-row, kind="stable").tolist()


def test_of_no_keys_there_are_no_places() -> None:
    none = np.empty(0, np.int64)
    assert places_among(np.zeros((2, 3)), none, none).tolist() == []


@pytest.mark.parametrize("seed", range(20))
def test_values_move_and_take_their_ways_as_the_numbers_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stale, weight = rng.random(30), rng.random((30, 4)) * (rng.random((30, 4)) < 0.7)
    weight[0], weight[1] = 0.0, [0.0, 0.0, 1.0, 0.0]
    bits = rng.bit_generator.random_raw(8 * 30)
    moved = decided(bits, 0).reshape(8, 30) < stale
    places, columns = moved_in_worlds(bits, stale)
    assert places.tolist() == np.flatnonzero(moved).tolist()
    assert columns.tolist() == np.nonzero(moved)[1].tolist()
    rows, chosen = rng.integers(0, 30, 300), decided(rng.bit_generator.random_raw(300), 1)
    steps = np.cumsum(weight, axis=1)[rows]
    ways = np.minimum((chosen[:, None] * steps[:, -1:] >= steps).sum(axis=1), 3)
    assert ways_taken(rows, chosen, weight).tolist() == ways.tolist()


@pytest.mark.parametrize("scores", [0, 1, 40])
def test_the_first_scores_that_lots_let_through_come_first(scores: int) -> None:
    rng = np.random.default_rng(scores)
    for most in (1, 3, 30):
        reached = np.cumsum(rng.exponential(size=(6, 50)), axis=1)
        above, ranked = np.cumsum(rng.random(scores)), -np.sort(rng.random(scores))
        points, usual = rng.integers(-1, 4, scores), rng.random((6, 5))
        lots = rng.random(reached.shape)
        found = best_in_worlds(reached, above, ranked, points, lots, usual, most)
        for world in range(6):
            at = np.searchsorted(above, reached[world])
            here = at < scores
            let = lots[world][here] < usual[world, points[at[here]]]
            right = ranked[at[here]][let][:most].tolist()
            assert found[world].tolist() == right + [-np.inf] * (most - len(right))
