"""``auto``: when it alarms, when it switches and back, and that it is never wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.score_streams import Stream, played, reported, tops
from topwater.candidates.published.auto_skyband import Hybrid
from topwater.candidates.published.criterion import limit
from topwater.candidates.published.filtered_skyband import Filtered
from topwater.candidates.published.object_trees import ResultStream
from topwater.candidates.published.skyband import Probabilistic, Relaxed, Strict

WIDTH, K = 256, 4


def rapf() -> Filtered:
    return Filtered(Relaxed(K), Probabilistic(K, 20, additional=0, resets=False), WIDTH)


def auto() -> Hybrid:
    return Hybrid(K, WIDTH, rapf, objects=WIDTH)


def stream(scores: list[float]) -> Stream:
    return Stream(scores, list(range(1, len(scores) + 1)), WIDTH, K)


def test_it_stays_with_pa_in_random_order() -> None:
    rng = np.random.default_rng(4)
    hybrid = auto()
    played(hybrid, stream(rng.random(3000).tolist()))
    assert hybrid.approximates
    assert (hybrid.switches, hybrid.repairs) == (0, 0)


@pytest.mark.parametrize("trend", ["falling", "wave"])
def test_it_is_exact_where_pa_is_lost(trend: str) -> None:
    places = np.arange(2000)
    slow = {"falling": -places / 10, "wave": 3 * np.sin(places * math.pi / WIDTH)}
    noise = np.random.default_rng(6).standard_normal(2000)
    scores = (slow[trend] + 0.3 * noise).tolist()
    hybrid = auto()
    answers, told = played(hybrid, stream(scores))
    assert answers == list(tops(stream(scores)))
    assert told == reported(stream(scores))
    assert not hybrid.approximates
    pa = Probabilistic(K, limit(K, WIDTH))
    missed = {*reported(stream(scores))} - {*played(pa, stream(scores))[1]}
    assert len(missed) > 20


def test_a_trend_far_below_the_noise_of_neighbours_is_seen_over_the_window() -> None:
    rng = np.random.default_rng(7)
    scores = (rng.random(3000) - np.arange(3000) / 400).tolist()
    hybrid = auto()
    answers, _ = played(hybrid, stream(scores))
    assert answers == list(tops(stream(scores)))
    assert not hybrid.approximates


def test_it_returns_to_pa_a_window_after_the_order_is_random_again() -> None:
    rng = np.random.default_rng(8)
    hybrid = auto()
    results = ResultStream(hybrid, WIDTH)
    stages = {"falling": 1000, "calm": 1000, "waving": 500}
    modes = []
    stamp = 0
    for stage, count in stages.items():
        for place in range(count):
            noise = float(rng.random())
            trend = {"falling": -place, "calm": -1000, "waving": 50 * math.sin(place / 20)}[stage]
            stamp += 1
            results.add(trend + noise, stamp)
            hybrid.check()
        modes.append(hybrid.approximates)
    assert modes == [False, True, False]
    assert hybrid.switches == 3


def test_an_error_about_to_happen_is_repaired_before_it_does() -> None:
    """Too few objects for any test, all falling, and next to no candidates."""
    falling = Stream([float(-place) for place in range(15)], list(range(15)), 8, 1)
    hybrid = Hybrid(1, 8, lambda: Strict(1), objects=2, sigma=0.99, additional=0)
    answers, told = played(hybrid, falling)
    assert answers == list(tops(falling))
    assert told == reported(falling)
    assert hybrid.repairs > 0


def test_more_objects_than_expected_raise_the_limit() -> None:
    rng = np.random.default_rng(3)
    hybrid = Hybrid(K, 10, rapf, objects=20)
    results = ResultStream(hybrid, 10)
    for place, score in enumerate(rng.random(800).tolist()):
        results.add(score, place // 40, key=place)
    assert hybrid._pa is not None
    assert hybrid._objects >= 400
    hybrid.check()


def test_check_notices_a_wrong_answer() -> None:
    hybrid = auto()
    played(hybrid, stream(np.random.default_rng(1).random(400).tolist()))
    hybrid._inner.expire(300)
    hybrid._inner.fill_top()
    with pytest.raises(AssertionError, match="not the best"):
        hybrid.check()
