"""The pages of the experiments, from made-up results."""

from __future__ import annotations

from tests.support.published_results import as_published, results_of
from topwater.show.pages import page
from topwater_lab.experiments.acqua import BUDGETS, PRINTED, TABLES
from topwater_lab.experiments.acquatop import sweeps
from topwater_lab.experiments.experiment_report import _table_6, _table_7, acqua_page


def test_table_7_names_the_best_of_each_point_and_what_the_paper_found() -> None:
    told = page("t", "a", [_table_7(results_of(as_published), sweeps())])
    assert "30: wsj-lru" in told
    assert "at-bsm for K &lt; 7, wsj-lru for K &gt; 10" in told
    assert told.count("<tr>") == 1 + 2 * 6


def test_table_6_has_a_cell_for_each_experiment_and_measure() -> None:
    (table,) = _table_6(results_of(as_published), sweeps()).tables
    assert len(table.head) == 1 + 4 * 2
    assert {len(row) for row in table.rows} == {len(table.head)}
    assert len(table.rows) == 4
    assert "(11.68 … -3.58)" in str(table.rows[0][1]), "what the paper prints"


def test_acquas_tables_stand_next_to_what_the_paper_prints() -> None:
    accuracy = [
        {"policy": policy, "budget": budget, "accuracy": 0.5}
        for policies in TABLES.values()
        for policy in policies
        for budget in BUDGETS
    ]
    text = acqua_page({"cells": accuracy}, "A test.")
    assert text.count("<table>") == len(TABLES)
    policy = TABLES[min(TABLES)][0]
    assert f"0.500 ({PRINTED[policy][0]:.2f})" in text
    assert "A test. topwater " in text
