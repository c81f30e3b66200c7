"""How often ``pa`` errs, where its bound holds, and where not."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from topwater.standing import skybands
from topwater_lab.bench import bench_commands
from topwater_lab.bench import standing_errors as errors
from topwater_lab.bench.standing_tables import show_errors


def test_the_command_counts_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [errors.Case("uniform", 2, 2, window=200, objects=1_000, queries=4)]
    monkeypatch.setattr(errors, "quick", lambda: small)
    runner = CliRunner()
    result = runner.invoke(
        bench_commands.app, ["standing", "--errors", "--quick", "--json", "--quiet"]
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {row["algorithm"] for row in told["rows"]} == set(errors.candidates())
    assert told["rows"][0]["missed_bound"] == pytest.approx(1e-3 * 1_000 / 200)
    written = io.StringIO()
    show_errors(told, Console(file=written, width=160))
    assert "kept" in written.getvalue()


def test_pa_keeps_its_bound_in_random_order() -> None:
    """Lemma 4.6, with room: the bounds are .05 and .075 results per query."""
    rows = errors.count_errors(errors.Case("uniform", 9, 3, objects=200_000))
    for row in rows:
        assert row.missed <= row.missed_bound / 2
        assert row.wrong <= row.wrong_bound / 2
        assert row.results > 50


def test_errors_in_random_order_are_seen_if_too_few_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else that none was found would mean nothing: with its own limit ``pa`` hardly ever errs."""
    case = errors.Case("uniform", 9, 2, window=4_000, objects=40_000, queries=40)
    assert {row.missed for row in errors.count_errors(case)} == {0.0}
    monkeypatch.setattr(skybands, "limit", lambda _k, _n, _sigma: 0)
    (pa, auto) = errors.count_errors(case)
    assert pa.missed > 10 * pa.missed_bound
    assert pa.wrong > 10 * pa.wrong_bound
    assert (auto.missed, auto.wrong) == (0, 0)


@pytest.mark.parametrize("data", ["falling", "wave", "correlated"])
def test_pa_breaks_its_bound_in_other_orders(data: str) -> None:
    rows = errors.count_errors(errors.Case(data, 9, 1, window=1_000, objects=5_000, queries=10))
    found = {row.algorithm: row for row in rows}
    assert found["pa"].missed > 100 * found["pa"].missed_bound
    assert (found["auto"].missed, found["auto"].wrong) == (0, 0)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_pa_keeps_its_bound_over_200_runs_of_the_default_scenario() -> None:
    for row in errors.count_errors(errors.full()[0]):
        assert row.runs == 200
        assert row.missed + 3 * row.missed_error <= row.missed_bound
        assert row.wrong + 3 * row.wrong_error <= row.wrong_bound
