"""ACQUA's grid, and how its records become a table."""

from __future__ import annotations

import pyarrow as pa

from topwater_lab.experiments.acqua import BUDGETS, PRINTED, TABLES, jobs, summary


def test_every_policy_of_the_tables_is_run_with_every_budget() -> None:
    found = jobs("folder")
    assert [{each.budget for each in job.contenders} for job in found] == [{3}, {5}, {10}]
    for job in found:
        assert (job.data, len(job.contenders)) == ("folder", 8 * 5)
        assert {each.seed for each in job.contenders} == set(range(5))
        assert {each.policy for each in job.contenders} == {*TABLES[1], *TABLES[2]} == {*PRINTED}
    assert [len(job.contenders) for job in jobs("", quick=True)] == [8, 8, 8]


def test_the_summary_has_means_next_to_what_is_printed() -> None:
    rows = [
        {"policy": policy, "budget": budget, "accuracy": accuracy}
        for policy in PRINTED
        for budget in BUDGETS
        for accuracy in (budget / 10, 0.0)
    ]
    cells = summary(pa.Table.from_pylist(rows))["cells"]
    assert len(cells) == 8 * 3
    assert cells[3:5] == [
        {"policy": "gnr-rnd", "budget": 3, "accuracy": 0.15, "printed": 0.34},
        {"policy": "gnr-rnd", "budget": 5, "accuracy": 0.25, "printed": 0.36},
    ]
