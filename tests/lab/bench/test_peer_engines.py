"""The engines that the candidate lists are measured against do the same job."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.candidates import build, sweep
from topwater_lab.bench.core_grid import Point, Stream
from topwater_lab.bench.peer_engines import ENGINES, held_tops, slides_for
from topwater_lab.bench.peer_job import Form, Job, each_window

GRID = (Point(800, 40, 5), Point(300, 10, 30), Point(60, 1, 7), Point(50, 50, 50))


@pytest.mark.parametrize("name", list(ENGINES))
@pytest.mark.parametrize("point", GRID, ids=str)
def test_every_form_of_an_engine_answers_as_recomputing_does(name: str, point: Point) -> None:
    stream = Stream(point.window + 9 * point.step, seed=3)
    last = point.window - point.step
    held = held_tops(point, stream)
    fresh = stream.arrivals(last, len(stream), point.step)
    recompute = build("recompute", point.windows, point.k)
    right, sizes, _ = sweep(recompute, stream.arrivals(0, len(stream), point.step), 0, 9)
    assert sizes.tolist() == [point.k] * 10
    engine = ENGINES[name]()
    engine.load(Job(point, held, fresh))
    for form in engine.forms:
        score, key = engine.answers(engine.query(form.name))
        np.testing.assert_array_equal(score, right.score, err_msg=form.name)
        np.testing.assert_array_equal(key, right.key, err_msg=form.name)


def test_windows_of_a_query_stay_within_the_rows_allowed() -> None:
    point, stream = Point(100, 10, 5), Stream(1_000, seed=0)
    form = Form("any", each_window)
    slides = slides_for(form, point, stream, 1_000)
    assert 0 < slides <= 90
    assert each_window(point, slides) <= 1_000
    assert slides_for(form, point, stream, 10) == 0
