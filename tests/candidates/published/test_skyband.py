"""The published structures against definitions 3.5 and 3.6, on streams in any order."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.score_streams import ORDERS, Stream, ordered, played, reported, streams, tops
from topwater.candidates.published.auto_skyband import Hybrid
from topwater.candidates.published.cpm_snn import cpm_w, snn
from topwater.candidates.published.criterion import limit
from topwater.candidates.published.filtered_skyband import Filtered, largest_buffer
from topwater.candidates.published.object_trees import Seen, Structure, Trees
from topwater.candidates.published.skyband import Probabilistic, Relaxed, Strict
from topwater.errors import QueryError

NAMES = ["sa", "ra", "sasf", "sarf", "sapf", "rasf", "rarf", "rapf", "cpm/w", "snn", "auto"]


def build(name: str, stream: Stream, buffer: int, gamma: float = 0.2) -> Structure:
    """By hand, with small limits, so that they matter in short streams."""
    k = stream.k
    if name == "auto":
        return Hybrid(k, stream.width, lambda: build("rapf", stream, buffer), objects=10)
    if name in ("cpm/w", "snn"):
        return cpm_w(k) if name == "cpm/w" else snn(k)
    parts: dict[str, Trees] = {
        "sa": Strict(k),
        "ra": Relaxed(k, gamma, first_limit=k),
        "sf": Strict(k),
        "rf": Relaxed(k, gamma, first_limit=k),
        "pf": Probabilistic(k, 2, additional=0, resets=False),
    }
    skyband = parts[name[:2]]
    return Filtered(skyband, parts[name[2:]], stream.width, buffer) if name[2:] else skyband


@pytest.mark.parametrize("name", NAMES)
@given(stream=streams(), share=st.floats(0, 1), gamma=st.sampled_from([0.0, 0.2, 2.0]))
@settings(max_examples=120, deadline=None)
def test_answers_and_result_stream_are_exact(
    name: str, stream: Stream, share: float, gamma: float
) -> None:
    buffer = max(1, round(share * largest_buffer(stream.width)))
    answers, told = played(build(name, stream, buffer, gamma), stream)
    assert answers == list(tops(stream))
    assert told == reported(stream)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_longer_stream(name: str, order: str) -> None:
    rng = np.random.default_rng(5)
    stream = Stream(ordered(order, 500, rng), list(range(1, 501)), 70, 5)
    answers, told = played(build(name, stream, 35), stream)
    assert answers == list(tops(stream))
    assert told == reported(stream)


@given(stream=streams())
@settings(max_examples=60, deadline=None)
def test_strict_keeps_the_skyband_and_nothing_else(stream: Stream) -> None:
    """Of two objects with the same stamp the better one dominates: they leave together."""
    strict = Strict(stream.k)
    window: list[Seen] = []
    for place, (score, stamp) in enumerate(stream):
        window.append(Seen(score, place, stamp))
        strict.expire(stamp - stream.width)
        strict.add(window[-1])
        strict.fill_top()
        window = [each for each in window if each.stamp > stamp - stream.width]
        assert {*strict.kept()} == {
            each
            for each in window
            if sum(o.rank < each.rank and o.stamp >= each.stamp for o in window) < stream.k
        }


def test_relaxed_keeps_the_skyband_and_little_more() -> None:
    rng = np.random.default_rng(1)
    strict, relaxed = Strict(5), Relaxed(5, gamma=0.2)
    sizes = []
    for stamp, score in enumerate(rng.random(4000).tolist()):
        seen = Seen(score, stamp, stamp)
        for each in (strict, relaxed):
            each.expire(stamp - 500)
            each.add(seen)
            each.fill_top()
        assert {*strict.kept()} <= {*relaxed.kept()}
        sizes.append((len(strict), len(relaxed)))
    strictly, lazily = np.mean(sizes[1000:], axis=0)
    assert strictly == pytest.approx(5 * (1 + np.log(500 / 5)), rel=0.1)
    assert strictly < lazily < 1.2 * strictly


def test_gamma_must_not_be_negative() -> None:
    with pytest.raises(QueryError, match=r"^gamma: must not be negative"):
        Relaxed(2, gamma=-0.1)


def false_ones(stream: Stream, pa: Structure) -> tuple[int, int]:
    """How many objects of the result stream were missed, and how many were told in error."""
    right = {place for _, place in reported(stream)}
    told = {place for _, place in played(pa, stream)[1]}
    return len(right - told), len(told - right)


def test_pa_misses_next_to_nothing_in_random_order() -> None:
    rng = np.random.default_rng(2)
    stream = Stream(rng.random(3000).tolist(), list(range(3000)), 300, 5)
    assert false_ones(stream, Probabilistic(5, limit(5, 300, 1e-3))) == (0, 0)


def test_pa_with_too_small_a_limit_is_wrong_now_and_then() -> None:
    rng = np.random.default_rng(2)
    stream = Stream(rng.random(3000).tolist(), list(range(3000)), 300, 5)
    missed, _ = false_ones(stream, Probabilistic(5, 1, additional=0))
    assert missed > 0


def test_pa_is_free_of_error_when_scores_rise_and_lost_when_they_fall() -> None:
    places = list(range(2000))
    rising = Stream([float(place) for place in places], places, 200, 3)
    falling = Stream([float(-place) for place in places], places, 200, 3)
    assert false_ones(rising, Probabilistic(3, limit(3, 200))) == (0, 0)
    missed, _ = false_ones(falling, Probabilistic(3, limit(3, 200)))
    assert missed > 0.5 * len(reported(falling))


def test_what_will_fill_the_top_is_no_candidate_any_more() -> None:
    """Three candidates are as many as the limit; one of them replaces the top that leaves."""
    pa = Probabilistic(1, limit=3, additional=0)
    for stamp, score in enumerate([9.0, 5.0, 4.0, 3.0]):
        pa.add(Seen(score, stamp, stamp))
        pa.fill_top()
    assert pa.threshold == 3.0
    pa.expire(0)
    assert pa.threshold == -np.inf


def test_a_raised_limit_takes_more() -> None:
    pa = Probabilistic(1, limit=1, additional=0)
    for stamp in range(10):
        pa.add(Seen(float(-stamp), stamp, stamp))
        pa.fill_top()
    assert len(pa) == 2
    pa.allow(5)
    for stamp in range(10, 20):
        pa.add(Seen(float(-stamp), stamp, stamp))
        pa.fill_top()
    pa.check()
    assert len(pa) == 6
