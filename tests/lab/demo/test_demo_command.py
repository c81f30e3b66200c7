"""``topwater demo``: what it refuses, and how it ends."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from topwater.cli import app
from topwater_lab.demo import demo_run
from topwater_lab.demo.contenders import Contender, Field
from topwater_lab.demo.findings import Report
from topwater_lab.demo.scene import Scene

runner = CliRunner()

NOBODY = Contender("nobody", ())
REPORT = Report(Scene(), (), NOBODY, Field((), (), NOBODY, NOBODY), differing=1)


def test_a_wrong_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_run, "run", lambda *_: REPORT)
    result = runner.invoke(app, ["demo", "--json"])
    assert result.exit_code == 1
    assert "1 windows differ from the same query in process" in result.stderr


def test_an_unknown_policy_is_refused_before_spark_starts() -> None:
    result = runner.invoke(app, ["demo", "--policy", "best"])
    assert result.exit_code == 2
    assert "'best' is unknown" in result.stderr
    assert "worth" in result.stderr
