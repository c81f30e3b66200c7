"""Users whose following changes: the same for the same seed, at any time."""

from __future__ import annotations

import numpy as np

from topwater_lab.experiments.generated_evening import LENGTH, START, make_evening
from topwater_lab.experiments.workloads import changing
from topwater_lab.services.followers import CHANGING, Followers


def test_followers_are_those_of_the_generated_evenings() -> None:
    followers, evening = Followers(users=800, seed=0), make_evening(0).followers
    keys = np.arange(1_000, 1_400)
    for after in (0, 1_000_000, LENGTH):
        assert np.array_equal(followers.at(keys, START + after), evening.at(keys, START + after))
    second = make_evening(2_503).followers
    assert np.array_equal(followers.at(keys + 400, START), second.at(keys, START))
    growth = Followers(users=400, seed=5).growth_at(keys, START + 1_000_000)
    course = changing(make_evening(5).growth, CHANGING, 5)
    assert np.array_equal(growth, course.at(keys, START + 1_000_000))


def test_followers_change_at_all_times_and_never_jump() -> None:
    followers = Followers(users=400, seed=1)
    keys = np.arange(1_000, 1_400)
    course = np.array([followers.at(keys, START + at) for at in range(0, 4 * LENGTH, LENGTH // 50)])
    steps = np.abs(np.diff(course, axis=0))
    assert (steps.sum(axis=1) > 0).all()
    assert steps.max() < 50
    assert np.array_equal(course[0], course[100]), "after two evenings, to and fro"
    assert np.array_equal(followers.at(keys, START - 5_000), followers.at(keys, START + 5_000))
