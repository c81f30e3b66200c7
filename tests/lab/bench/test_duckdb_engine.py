"""The job in SQL: each form by hand, and what the text says."""

from __future__ import annotations

import pytest

from tests.support.peer_job import RIGHT, job_by_hand
from topwater_lab.bench.duckdb_engine import DuckDB


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    return DuckDB()


@pytest.mark.parametrize("form", [form.name for form in DuckDB.forms])
def test_each_form_gives_the_best_of_each_window(engine: DuckDB, form: str) -> None:
    engine.load(job_by_hand())
    score, key = engine.answers(engine.query(form))
    assert (score.tolist(), key.tolist()) == RIGHT


@pytest.mark.parametrize("form", [form.name for form in DuckDB.forms])
def test_both_of_a_window_come_best_first(engine: DuckDB, form: str) -> None:
    engine.load(job_by_hand(k=2))
    score, key = engine.answers(engine.query(form))
    assert score.tolist() == [0.95, 0.9, 0.9, 0.3, 0.6, 0.4]
    assert key.tolist() == [10, 2, 2, 3, 6, 5]


def test_panes_are_cut_only_where_they_hold_more_than_k(engine: DuckDB) -> None:
    engine.load(job_by_hand(k=2))
    assert "GROUP BY pane" not in engine.sql("threshold+limits")
    engine.load(job_by_hand(k=1))
    assert "GROUP BY pane" in engine.sql("threshold+limits")
    assert engine.sql("threshold+limits").count("LIMIT 1") == 3


def test_there_is_no_query_without_a_job() -> None:
    with pytest.raises(ValueError, match="nothing is loaded"):
        DuckDB().query("pairs+spread")
