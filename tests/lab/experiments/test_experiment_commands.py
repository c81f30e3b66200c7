"""``topwater experiment``: what the commands write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from topwater.cli import app
from topwater_lab.experiments import acqua, world_errors, world_runs
from topwater_lab.experiments.worlds import DESIGN_SEEDS, REPORTING_SEEDS

runner = CliRunner()


def test_acqua_from_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "acqua"
    told = runner.invoke(
        app,
        ["experiment", "acqua", "--quick", "--quiet", "--json", "--out", str(out)],
        env={"TOPWATER_DATA": ""},
    )
    assert told.exit_code == 0, told.output
    cells = {(c["policy"], c["budget"]): c["accuracy"] for c in json.loads(told.output)["cells"]}
    assert len(cells) == 8 * 3
    for budget in acqua.BUDGETS:
        assert cells["wst", budget] < cells["gnr-rnd", budget] < cells["wsj-rnd", budget]
        assert cells["wsj-rnd", budget] < cells["bst", budget] <= cells["wbm*", budget] + 0.02
    assert "Table 2" in (out / "report.html").read_text()
    assert len(pq.read_table(out / "records.parquet")) == 8 * 3 * acqua.EVALUATIONS


def test_wrong_settings_are_told_in_two_lines(tmp_path: Path) -> None:
    told = runner.invoke(app, ["experiment", "acquatop", "--counts", "some"])
    assert (told.exit_code, "paper or true" in told.output) == (2, True)
    told = runner.invoke(app, ["experiment", "acqua", "--data", str(tmp_path), "--quiet"])
    assert (told.exit_code, "name the folder" in told.output) == (2, True)


def test_worlds_from_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def few(given: range, *, quick: bool) -> list[world_runs.Contest]:
        assert quick
        seeds.append(given[0])
        return [world_runs.Contest("levels", 40, given[0], 24, (5,))]

    monkeypatch.setattr(world_runs, "contests", few)
    told = runner.invoke(app, ["experiment", "worlds", "--quick", "--json", "--quiet"])
    assert told.exit_code == 0, told.output
    report = json.loads(told.output)
    assert (report["experiment"], len(report["cells"])) == ("worlds", len(world_runs.POLICIES) + 1)
    cells = [world_runs.Cell(**cell) for cell in report["cells"]]
    monkeypatch.setattr(world_runs, "cells", lambda *_, **__: cells)
    told = runner.invoke(app, ["experiment", "worlds", "--quick", "--quiet", "--design"])
    assert "below the best simple policy" in told.output
    assert seeds == [REPORTING_SEEDS[0], DESIGN_SEEDS[0]]


def test_errors_from_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool, str]] = []

    def few(given: range, *, set_point: bool, quick: bool, only: str) -> list[world_errors.Trial]:
        assert quick
        asked.append((given[0], set_point, only))
        return [world_errors.Trial("levels", 40, 5, "accuracy", given[0], 22)]

    monkeypatch.setattr(world_errors, "trials", few)
    errors = ["experiment", "worlds", "--errors", "--quick", "--quiet"]
    told = runner.invoke(app, [*errors, "--json", "--only", "levels"])
    assert told.exit_code == 0, told.output
    report = json.loads(told.output)
    assert (report["track"], [each["seed"] for each in report["outcomes"]]) == ("errors", [1_000])
    told = runner.invoke(app, [*errors, "--setpoint", "--design"])
    assert "said more by" in told.output
    assert asked == [(REPORTING_SEEDS[0], False, "levels"), (DESIGN_SEEDS[0], True, "")]
