"""A made-up evening has the figures of the recorded one."""

from __future__ import annotations

import numpy as np
import pytest

from topwater_lab.experiments.evening import Recording
from topwater_lab.experiments.generated_evening import USERS, make_evening


@pytest.fixture(scope="module")
def evening() -> Recording:
    return make_evening(1)


@pytest.mark.parametrize("seed", range(4))
def test_a_generated_evening_looks_like_the_published_one(seed: int) -> None:
    evening = make_evening(seed)
    views = evening.views("paper")
    users = [len(view.keys) for view in views]
    mentions = [view.values["mentions"].sum() for view in views]
    assert len(views) == 150
    assert len(evening.growth.distinct) == USERS
    assert 18 <= min(users) <= 25
    assert 30 <= np.median(users) <= 34
    assert 40 <= max(users) <= 48
    assert 22 <= min(mentions) <= 30
    assert 36 <= np.median(mentions) <= 40
    assert 48 <= max(mentions) <= 62
    assert {1.0, 2.0} == {float(m) for view in views for m in np.unique(view.values["mentions"])}
    assert np.mean(evening.growth.values != 0) == pytest.approx(0.058, abs=0.006)


def test_mentions_have_a_long_tail(evening: Recording) -> None:
    _, counts = np.unique(evening.keys, return_counts=True)
    assert counts.max() > 40 * np.median(counts)
    assert len(counts) < 0.75 * USERS


def test_rounds_come_about_every_64_seconds(evening: Recording) -> None:
    followers = evening.followers
    times = followers.times[followers.keys == followers.distinct[0]]
    assert np.median(np.diff(times)) == pytest.approx(64_000, abs=1_500)
    assert followers.complete_at < evening.windows.window(0).end


def test_growth_is_the_difference_of_two_rounds(evening: Recording) -> None:
    key = evening.growth.distinct[:1]
    rounds = evening.followers.values[evening.followers.keys == key]
    assert evening.growth.values[evening.growth.keys == key].tolist() == np.diff(rounds).tolist()


def test_the_same_seed_gives_the_same_evening() -> None:
    assert make_evening(5).times.tolist() == make_evening(5).times.tolist()
    assert make_evening(5).times.tolist() != make_evening(6).times.tolist()
