"""One algorithm over one stream: who is too slow, what is told, and which part is measured."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from topwater_lab.bench import standing_runs as runs
from topwater_lab.bench import standing_speed as standing
from topwater_lab.bench.standing_data import (
    Sample,
)
from topwater_lab.bench.standing_runs import (
    Contender,
    Effort,
    Point,
    ResultStream,
    Run,
    TooSlow,
    differences,
    run,
    stream_at,
)

TINY = Effort(
    grid=(Point("uniform", 2, 3, 8), Point("clustered", 4, 1, 8), Point("correlated", 3, 5, 8)),
    objects=1_500,
    fill_seconds=60.0,
    steady_seconds=30.0,
    fewer=2,
    growth=(3, 6),
    window=400,
    buffer=60,
)


def test_who_is_too_slow_has_no_numbers() -> None:
    slow = dataclasses.replace(TINY, window=5_000, fill_seconds=0.0)
    point = slow.grid[0]
    row, told = standing.measured(Contender("sa"), point, stream_at(point, slow, 7), slow)
    assert (told, row.seconds, row.exact) == (None, None, None)
    assert "the first windows would take" in (row.skipped or "")


def test_who_is_slow_is_measured_with_the_first_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    point, contender = TINY.grid[0], Contender("rapf", 60)
    stream = stream_at(point, TINY, 7)
    whole = run(contender, point, stream, TINY)

    def run_few(contender: Contender, point: Point, stream: Sample, effort: Effort) -> Run:
        if point.queries > effort.fewer:
            raise TooSlow("for the test")
        return run(contender, point, stream, effort)

    monkeypatch.setattr(runs, "run", run_few)
    row, told = standing.measured(contender, point, stream, TINY)
    assert told is not None
    assert (row.queries, row.objects) == (2, None)
    assert 0 < len(told.at) < len(whole.told.at)
    assert differences(told, whole.told.upto(whole.told.last, 2)) == (0, 0)


def test_differences_are_counted_in_both_directions() -> None:
    ours = ResultStream(np.array([0, 1, 1]), np.array([5, 5, 6]), np.array([5, 7, 7]), 9, 2)
    theirs = ResultStream(np.array([0, 0, 1]), np.array([4, 5, 6]), np.array([5, 5, 6]), 9, 2)
    assert differences(ours, theirs) == (1, 1)
    assert differences(ours.upto(5, 2), theirs.upto(5, 1)) == (1, 0)


def test_growth_is_measured_for_those_chosen_only() -> None:
    many = dataclasses.replace(TINY, grid=(Point("uniform", 2, 9, 8),), growth=(3,))
    assert runs.part_of(many, algorithms_="snn").growth == (3,)
    assert standing.bench_standing(runs.part_of(many, algorithms_="sa"))["growth"] == []
