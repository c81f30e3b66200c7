"""How values go with what the stream says of their keys, and that by chance they hardly do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.election_scene import refresher_of, view_of
from topwater.model import FloatArray, IntArray
from topwater.replica.likeness import ALIKE, Likeness, said, times_as_great


def known(slope: float, count: int = 200, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    told = rng.normal(3.0, 1.5, count)
    return told, np.exp(slope * told + rng.normal(0, 1, count))


@pytest.mark.parametrize("slope", [0.7, -0.7, 2.0])
def test_the_line_is_found(slope: float) -> None:
    likeness = Likeness.of(*known(slope))
    assert likeness.slope == pytest.approx(slope, abs=0.25)
    assert likeness.times(np.array([likeness.middle])) == pytest.approx(1.0)
    apart = likeness.times(likeness.middle + np.array([1.0, -1.0]))
    assert apart == pytest.approx(np.exp([likeness.slope, -likeness.slope]))


def test_chance_is_hardly_taken_for_a_line() -> None:
    found = [Likeness.of(*known(0.0, seed=seed)) for seed in range(200)]
    assert sum(each.is_clear for each in found) < 12
    assert max(abs(each.slope) for each in found) < 0.1


def test_the_order_of_keys_does_not_count() -> None:
    told, values = known(0.4)
    order = np.random.default_rng(1).permutation(len(told))
    assert Likeness.of(told[order], values[order]) == Likeness.of(told, values)


@pytest.mark.parametrize(
    ("told", "values"),
    [
        (np.arange(9.0), 2.0 ** np.arange(9)),
        (np.full(99, 3.0), np.exp(np.arange(99.0))),
        (np.arange(99.0), np.full(99, 7.0)),
        (np.arange(99.0), np.zeros(99)),
        (np.full(99, np.nan), np.arange(99.0)),
        (np.arange(99.0), np.full(99, np.nan)),
    ],
)
def test_without_evidence_all_are_alike(told: FloatArray, values: FloatArray) -> None:
    assert Likeness.of(told, values) == ALIKE
    assert ALIKE.times(np.array([1.0, np.nan])).tolist() == [1.0, 1.0]


def test_huge_values_stay_finite() -> None:
    told = np.linspace(-1_000, 1_000, 300)
    likeness = Likeness.of(told, 10.0 ** (0.3 * told))
    assert likeness.is_clear
    assert np.isfinite(likeness.times(np.array([1e9, -1e9]))).all()


def test_what_is_said_is_the_stream_s_part_of_the_score() -> None:
    stream = np.array([8.0, 0.0, np.nan, -4.0])

    def scored(rows: IntArray, remote: FloatArray) -> FloatArray:
        return stream[rows] + remote

    told = said(scored, np.arange(4))
    assert told[[0, 1, 3]].tolist() == [3.0, 1.0, 2.0]
    assert np.isnan(told[2])
    assert times_as_great(ALIKE, scored, np.arange(4)) is None


def test_what_was_said_at_the_first_look_is_kept_over_restarts() -> None:
    script = {key: [(0, 10.0 * 2.0 ** (key / 8))] for key in range(64)}
    before, after = (refresher_of(script, budget=40) for _ in range(2))
    for window, times in enumerate((1.0, 5.0)):
        stream = times * 2.0 ** (np.arange(64) / 8)
        before.refresh(view_of(window, range(64), stream))
    slots = before.replica.find(np.arange(64))
    told = before.learners.said.at(slots)[:, 0]
    first = np.isclose(told, np.arange(64) / 8, atol=0.01)
    assert first.sum() >= 38
    assert np.allclose(told[~first], np.log2(5.0) + np.arange(64)[~first] / 8, atol=0.01)
    after.restore(*before.snapshot())
    assert after.values.population.likeness == before.values.population.likeness
    assert after.values.population.likeness.is_clear
    assert np.array_equal(after.values.population.known, before.values.population.known)
