"""``topwater experiment``: what the commands write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from typer.testing import CliRunner

from topwater.cli import app
from topwater_lab.experiments import acqua

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
