"""The streams that standing queries are measured on."""

from __future__ import annotations

import numpy as np
import pytest

from topwater_lab.bench.standing_data import (
    numpy_pass,
    sample,
    score_pass,
    scores_alone,
)


def test_the_pass_of_scores_computes_all_of_them() -> None:
    stream = sample("uniform", 3, 2_000, 4, 100, 1)
    scratch = np.full(700, np.nan)
    total = scores_alone(stream.objects, 10, 1_800, stream.points, np.ones((4, 3)), scratch)
    ends = [709, 1_409, 1_799]
    apart = stream.objects[:, None, ends] - stream.points.T[:, :, None]
    assert total == pytest.approx((apart**2).sum())
    assert score_pass(stream, 10, 1_800, 2) > 0
    many = sample("uniform", 3, 500, 450, 100, 1)
    ends = [201, 393, 459]  # of pieces of 192, for 400 queries at a time
    squares = ((many.objects[:, ends] - many.points[-1][:, None]) ** 2).sum()
    assert numpy_pass(many, 10, 460, 450) == pytest.approx(squares)


@pytest.mark.parametrize("data", ["uniform", "clustered", "tight", "correlated"])
def test_streams_are_in_the_unit_cube_and_queries_are_objects_of_them(data: str) -> None:
    stream = sample(data, 4, 3_000, 20, 500, 3)
    assert stream.objects.shape == (4, 3_000)
    assert np.all((stream.objects >= 0) & (stream.objects <= 1))
    objects = {tuple(column) for column in stream.objects.T.tolist()}
    assert all(tuple(point) in objects for point in stream.points.tolist())
    again = sample(data, 4, 3_000, 20, 500, 3)
    assert np.array_equal(stream.objects, again.objects)
    assert not np.array_equal(stream.objects, sample(data, 4, 3_000, 20, 500, 4).objects)


@pytest.mark.parametrize(("data", "low", "high"), [("uniform", -0.1, 0.1), ("correlated", 0.8, 1)])
def test_only_sensors_repeat_themselves(data: str, low: float, high: float) -> None:
    column = sample(data, 2, 20_000, 5, 4_000, 5).objects[0]
    assert low < np.corrcoef(column[:-50], column[50:])[0, 1] < high


def test_in_a_falling_stream_every_object_is_farther() -> None:
    stream = sample("falling", 2, 1_000, 5, 100, 1)
    apart = stream.objects[:, :, None] - stream.points.T[:, None, :]
    assert np.all(np.diff((apart**2).sum(axis=0), axis=0) > 0)
