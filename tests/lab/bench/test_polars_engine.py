"""The job in expressions: each form by hand."""

from __future__ import annotations

import pytest

from tests.support.peer_job import RIGHT, job_by_hand
from topwater_lab.bench.polars_engine import Polars

FORMS = [form.name for form in Polars.forms]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_best_of_each_window(form: str) -> None:
    engine = Polars()
    engine.load(job_by_hand())
    score, key = engine.answers(engine.query(form))
    assert (score.tolist(), key.tolist()) == RIGHT


@pytest.mark.parametrize("form", FORMS)
def test_both_of_a_window_come_best_first(form: str) -> None:
    engine = Polars()
    engine.load(job_by_hand(k=2))
    score, key = engine.answers(engine.query(form))
    assert score.tolist() == [0.95, 0.9, 0.9, 0.3, 0.6, 0.4]
    assert key.tolist() == [10, 2, 2, 3, 6, 5]


@pytest.mark.parametrize("form", FORMS)
def test_there_is_no_query_without_a_job(form: str) -> None:
    with pytest.raises(ValueError, match="nothing is loaded"):
        Polars().query(form)
