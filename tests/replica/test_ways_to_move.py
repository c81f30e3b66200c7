"""Ways to move: each is found where values move so, and a restart changes nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.taught_moves import KEYS, OWN, SLOTS, Course, taught
from topwater.model import FloatArray
from topwater.replica.look_ups import Polls
from topwater.replica.possible_values import BACK, COUNT, LEVEL, POINTS, TREND, WALK
from topwater.replica.ways_to_move import WaysToMove

PACE = np.random.default_rng(9).normal(0, 2, KEYS)


@pytest.mark.parametrize(
    ("way", "course"),
    [
        (BACK, lambda rng, _, x: 50 + 0.5 * (x - 50) + rng.normal(0, 5, KEYS)),
        (LEVEL, lambda rng, _, __: OWN + rng.normal(0, 2, KEYS)),
        (WALK, lambda rng, _, x: x + rng.normal(0, 2, KEYS)),
        (TREND, lambda rng, m, _: OWN + PACE * m + rng.normal(0, 0.5, KEYS)),
    ],
)
def test_the_way_that_values_move_is_found(way: int, course: Course) -> None:
    model, values = taught(course)
    weight = model.at(SLOTS, values, np.ones(KEYS), np.full(KEYS, 60.0)).weight.mean(axis=0)
    assert weight[way] > 0.5, weight
    assert model.prior.argmax() == way


def test_a_walk_goes_farther_the_longer_it_is_left_alone() -> None:
    model, values = taught(lambda rng, _, x: x + rng.normal(0, 2, KEYS), turns=40)
    for changes in (1.0, 9.0):
        seconds = np.full(KEYS, 60.0 * changes)
        points, chances = model.at(SLOTS, values, np.full(KEYS, changes), seconds).points()
        spread = np.sqrt((chances * (points - values[:, None]) ** 2).sum(axis=1).mean())
        assert spread == pytest.approx(2 * np.sqrt(changes), rel=0.25)


def test_keys_have_scales_of_their_own_where_they_differ() -> None:
    scale = np.where(SLOTS % 2, 0.5, 8.0)
    model, values = taught(lambda rng, _, __: OWN + scale * rng.normal(0, 1, KEYS))
    points, chances = model.at(SLOTS, values, np.ones(KEYS), np.full(KEYS, 60.0)).points()
    spread = np.sqrt((chances * (points - OWN[:, None]) ** 2).sum(axis=1))
    assert np.median(spread[1::2]) < 2.0
    assert np.median(spread[::2]) > 5.0


@pytest.mark.parametrize("powers", [False, True])
def test_it_goes_on_after_a_restart(powers: bool) -> None:
    def course(rng: np.random.Generator, _: int, x: FloatArray) -> FloatArray:
        noise = rng.normal(0, 2, KEYS)
        return x * np.exp(noise / 10) if powers else x + noise

    model, values = taught(course)
    assert model.facts()["powers"]["on"] == powers
    again = WaysToMove()
    again.restore_facts(json.loads(json.dumps(model.facts())))
    import pyarrow as pa

    # Slots are numbered otherwise.
    others = SLOTS[::-1] + 7
    again.restore(pa.table(model.snapshot(SLOTS)), others)
    args = values, np.full(KEYS, 3.0), np.full(KEYS, 60.0)
    for mine, theirs in zip(
        model.at(SLOTS, *args).points(), again.at(others, *args).points(), strict=True
    ):
        assert mine.tolist() == theirs.tolist()
    model.pool(SLOTS)
    again.pool(others)
    assert model.facts() == again.facts()


def test_values_that_move_in_proportion_to_their_size_stay_in_proportion() -> None:
    model, values = taught(lambda rng, _, x: x * np.exp(rng.normal(0, 0.3, KEYS)), turns=40)
    assert model.facts()["powers"]["on"]
    assert values.max() > 1_000 * values.min() > 0
    # Of a key of which nothing was learnt, as of the others.
    for slots in (SLOTS, SLOTS + KEYS):
        moved = model.at(slots, values, np.ones(KEYS), np.full(KEYS, 60.0))
        points, chances = moved.points()
        assert points.min() > 0
        off = np.log(points / values[:, None])
        spread = np.sqrt((chances * off**2).sum(axis=1))
        assert np.median(spread) == pytest.approx(0.3, rel=0.3)
        low, high = model.reaches(slots, values, np.ones(KEYS), np.full(KEYS, 60.0))
        assert (low > 0).all()
        assert np.median(high / values) < 6.0


def test_a_value_without_a_logarithm_changes_the_scale_and_nothing_else() -> None:
    model, values = taught(lambda rng, _, x: x * np.exp(rng.normal(0, 0.1, KEYS)))
    args = SLOTS, values, np.ones(KEYS), np.full(KEYS, 60.0)
    before = model.at(*args)
    model.admit(np.array([3.0, -1.0]))
    after = model.at(*args)
    assert (before.powers, after.powers) == (True, False)
    for each in (before, after):
        assert each.weight == pytest.approx(before.weight)
        points, chances = each.points()
        mean = (points * chances).sum(axis=1)
        assert np.median(np.abs(mean / values - 1.0)) < 0.1
        spread = np.sqrt((chances * (points - mean[:, None]) ** 2).sum(axis=1))
        assert 0.07 < np.median(spread / values) < 0.2
    low, high = model.reaches(*args)
    least, greatest = after.range()
    assert (np.minimum(values, least) == low).all()
    assert (np.maximum(values, greatest) == high).all()


def test_before_anything_is_known_nothing_moves() -> None:
    model = WaysToMove()
    assert (model.learnt, model.moves, model.memory, model.mean) == (False, False, 0.5, 0.0)
    points, _ = model.at(SLOTS[:2], np.array([1.0, 2.0]), np.ones(2), np.ones(2)).points()
    assert np.isfinite(points).all()
    model.start(np.array([1.0, 3.0, np.nan]))
    assert (model.mean, model.memory, model.learnt, model.moves) == (2.0, 0.5, False, True)


@pytest.mark.parametrize("after", [5.0, 1e300, -1e300])
def test_values_that_never_differ_or_differ_beyond_measure_divide_by_nothing(after: float) -> None:
    model, ones = WaysToMove(), np.full(3, 5.0)
    model.start(ones)
    slots = np.arange(3)
    changed = np.full(3, after != 5.0)
    for _ in range(5):
        polls = Polls(0, slots, np.zeros(3), changed, ones, np.full(3, after), slots)
        model.observe(polls, np.ones(3))
        model.pool(slots)
    points, chances = model.at(slots, ones, np.ones(3), np.full(3, np.inf)).points()
    assert np.isfinite(points).all()
    assert np.isfinite(chances).all()
    assert chances.shape[1] == POINTS == 13 * COUNT
