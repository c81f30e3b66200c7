"""The benchmark of standing queries through the same code, on small windows; and where pa errs."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from topwater.standing.algorithms import algorithms
from topwater_lab.bench import bench_commands
from topwater_lab.bench import standing_speed as standing
from topwater_lab.bench.standing_runs import (
    Effort,
    Point,
    contenders,
)
from topwater_lab.bench.standing_tables import show
from topwater_lab.rivals import RIVALS

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
ASKED_FOR = (
    *("algorithm", "data", "k", "d", "queries", "indexed"),
    *("seconds", "ratio_to_scores", "references", "objects"),
)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return standing.bench_standing(TINY)


def test_every_algorithm_is_in_the_report_at_every_point(report: dict[str, Any]) -> None:
    assert {row["algorithm"] for row in report["rows"]} == {*algorithms, *RIVALS}
    assert len(report["rows"]) == len(TINY.grid) * len(contenders(TINY))
    for row in report["rows"]:
        assert set(ASKED_FOR) <= set(row)
        assert row["skipped"] is None, row
        assert row["objects_measured"] == TINY.objects
        assert row["references"] >= row["k"]
        assert row["objects"] * row["queries"] >= row["k"]
        assert min(row[name] for name in ("seconds", "ratio_to_scores", "ratio_to_numpy")) > 0


def test_every_exact_algorithm_reports_the_same(report: dict[str, Any]) -> None:
    for row in report["rows"]:
        if row["algorithm"] != "pa":
            assert row["exact"] is True, row
    (told,) = [target for target in report["targets"] if "report the same" in target["target"]]
    assert told["reached"]


def test_filters_are_measured_with_a_small_and_the_largest_buffer(report: dict[str, Any]) -> None:
    found = {(row["algorithm"], row["buffer"]) for row in report["rows"]}
    assert {("rapf", 60), ("rapf", 200), ("sasf", 60), ("pa", None)} <= found


def test_growth_has_the_two_fastest_with_each_number_of_queries(report: dict[str, Any]) -> None:
    found = [(row["algorithm"], row["queries"]) for row in report["growth"]]
    assert found == [("pa", 3), ("rapf", 3), ("pa", 6), ("rapf", 6)]


def test_report_is_strict_json(report: dict[str, Any]) -> None:
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_the_command_prints_json_or_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    small = dataclasses.replace(TINY, grid=TINY.grid[:1], growth=(3,))
    monkeypatch.setattr(standing, "QUICK", small)
    runner = CliRunner()
    result = runner.invoke(bench_commands.app, ["standing", "--quick", "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["bench"], len(told["rows"])) == ("standing", len(contenders(small)))
    written = io.StringIO()
    show(told, Console(file=written, width=160))
    for words in ("uniform, 2 dimensions", "rapf 200", "growth"):
        assert words in written.getvalue()


def test_a_part_of_the_grid_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "QUICK", TINY)
    command = ["standing", "--quick", "--json", "--quiet"]
    chosen = ["--data", "uniform, clustered", "--k", "1", "--algorithms", "pa"]
    result = CliRunner().invoke(bench_commands.app, [*command, *chosen])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {(row["data"], row["k"]) for row in told["rows"]} == {("clustered", 1)}
    assert [row["algorithm"] for row in told["rows"]] == ["rapf", "pa", "pa", "pa"]
    assert told["growth"] == []  # that is of uniform data with k 9
