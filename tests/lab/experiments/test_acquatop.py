"""The experiments end to end, on a few windows of a generated recording."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from topwater_lab.experiments import acquatop, parallel_runs
from topwater_lab.experiments.acquatop import DEFAULT, Cell, Results
from topwater_lab.experiments.claims import judged
from topwater_lab.experiments.experiment_report import SHOWN, acquatop_page

runner = CliRunner()


@pytest.fixture(scope="module")
def records() -> pa.Table:
    jobs = acquatop.jobs("", "paper", quick=True, data_sets=2, evaluations=8)
    return parallel_runs.run_jobs(jobs, workers=1, quiet=True)


@pytest.fixture(scope="module")
def results(records: pa.Table) -> Results:
    return Results.of(records, "paper")


def test_the_grid_is_the_published_one() -> None:
    assert len(acquatop.cells()) == 9 + 4 + 2 * 5 + 2 * 4
    assert acquatop.cells(quick=True) == [Cell(budget=b) for b in (3, 7, 15)]
    assert len(acquatop.jobs("", "true")) == 31 * 5


def test_records_hold_every_window_of_every_run(records: pa.Table) -> None:
    assert records.schema == parallel_runs.SCHEMA
    assert len(records) == 3 * 2 * 15 * 8
    assert set(records["policy"].to_pylist()) == set(SHOWN)


def test_the_summary_has_medians_of_sums(records: pa.Table, results: Results) -> None:
    summary = results.summary()
    assert set(summary) == {"cells", "closure", "closure_carry_over"}
    assert len(summary["cells"]) == 3 * 15
    cell = next(c for c in summary["cells"] if c["policy"] == "at-tsm" and c["budget"] == 7)
    rows = [row for row in records.to_pylist() if row["policy"] == "at-tsm" and row["budget"] == 7]
    by_seed = [sum(row["ndcg"] for row in rows if row["seed"] == seed) for seed in (0, 1)]
    assert cell["ndcg"] == pytest.approx(sum(by_seed) / 2)
    assert cell["aim"] is None
    assert {c["aim"] for c in summary["cells"] if c["policy"] == "worth"} == {
        "relevance",
        "accuracy",
    }
    json.dumps(summary, allow_nan=False)


def test_closure_is_the_share_of_the_gap(results: Results) -> None:
    for cell in results.cells:
        share = results.closure(cell, "ndcg")
        best = results.best_published(cell, "ndcg")[1]
        bound = results.score(cell, "clairvoyant", "ndcg")
        if share is None:
            assert bound - best < 0.5
        else:
            assert best + share * (bound - best) == pytest.approx(
                results.score(cell, "worth", "ndcg")
            )


def test_carrying_over_is_told_apart_and_its_mean_budget_is_checked(
    records: pa.Table, results: Results
) -> None:
    """As much on average, and more in some window."""
    rows = [row for row in records.to_pylist() if row["policy"] == "worth+carry"]
    for budget in (3, 7, 15):
        fetches = [row["fetches"] for row in rows if row["budget"] == budget]
        assert sum(fetches) <= budget * len(fetches)
    assert any(row["fetches"] > row["budget"] for row in rows)
    assert "worth+carry" not in {results.best_published(c, "ndcg")[0] for c in results.cells}
    (claim,) = (each for each in judged(results, []) if "spends" in each.text)
    assert claim.holds


def test_a_mean_above_the_budget_is_denied(records: pa.Table) -> None:
    carried = [policy == "worth+carry" for policy in records["policy"].to_pylist()]
    more = [n + 20 * c for n, c in zip(records["fetches"].to_pylist(), carried, strict=True)]
    at = records.schema.get_field_index("fetches")
    wasteful = Results.of(records.set_column(at, "fetches", pa.array(more)), "paper")
    (claim,) = (each for each in judged(wasteful, []) if "spends" in each.text)
    assert not claim.holds


def test_the_page_is_complete_in_itself(records: pa.Table, results: Results) -> None:
    lines = acquatop.sweeps(quick=True)
    page = acquatop_page(records, results, lines, "A test.")
    assert page.count("<svg") == 2 + 2 + 2
    assert not re.search(r'(?:src|href)="', page)
    for title in ("Figure 11", "Figure 12", "Table 6", "Table 7", "Claims", "worth", "costs"):
        assert title in page
    for told in ("median ms", "99 % below ms", "worth, carried over", "The mean budget is equal"):
        assert told in page
    assert len(list(judged(results, lines))) >= 5


def test_jobs_in_processes_give_the_same_records(records: pa.Table) -> None:
    jobs = acquatop.jobs("", "paper", quick=True, data_sets=2, evaluations=8)[:2]
    again = parallel_runs.run_jobs(jobs, workers=2, quiet=True)
    timeless = [name for name in parallel_runs.SCHEMA.names if name != "seconds"]
    first = records.slice(0, len(again)).select(timeless)
    assert again.select(timeless).to_pandas().equals(first.to_pandas())


def test_the_default_is_a_cell() -> None:
    assert DEFAULT in acquatop.cells()
