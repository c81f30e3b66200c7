"""The grid of the core benchmark, and how many candidates to expect there."""

from __future__ import annotations

import math

import pytest

from topwater.candidates import build, sweep
from topwater_lab.bench.core_grid import Point, Stream, paper_grid, quick_grid


def test_expected_candidates_are_harmonic() -> None:
    harmonic = math.fsum(1 / j for j in range(1, 101))
    assert Point(100_000, 1_000, 10).expected_candidates == pytest.approx(10 * harmonic)
    # A pane smaller than k is kept whole until k/(j + 1) falls below its size.
    assert Point(40, 10, 20).expected_candidates == pytest.approx(10 + 10 + 20 / 3 + 5)


def test_candidates_of_a_random_stream_are_as_many_as_expected() -> None:
    point = Point(1_000, 20, 40)
    stream = Stream(60_000, seed=5)
    held = build("panes", point.windows, point.k)
    until = (len(stream) - point.window) // point.step
    _, _, kept = sweep(held, stream.arrivals(0, len(stream), point.step), 0, until)
    assert kept.mean() == pytest.approx(point.expected_candidates, rel=0.02)


def test_grids() -> None:
    grid = paper_grid()
    assert len(grid) == len(set(grid)) == 64
    assert {p.window for p in grid} == {10**4, 10**5, 10**6, 10**7}
    assert all(p.window % p.step == 0 and p.step >= 1 and p.k <= p.window for p in grid)
    assert set(quick_grid()) <= set(grid)
