"""A plan of budgets: from a job's files to a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tests.support.job_files import job
from topwater.cli import app
from topwater.jobs.budget_plan import BudgetPlan, PlannedAccuracy, PlannedBudget, Trial
from topwater.jobs.plan_report import sentences, table

TRIAL = Trial(0.9, 0.95, 0.88, 0.93, 10_080.0)
CACHE = Trial(0.91, 0.96, 0.9, 0.95, 40_000.0)
MADE = BudgetPlan((PlannedBudget(7, TRIAL, 120_000, CACHE),), 60, 30, 2, 43_200.0, 0.9)


def test_the_table_fits_a_terminal() -> None:
    console = Console(width=80, record=True, file=None, quiet=False)
    console.print(table(MADE))
    text = console.export_text()
    assert "7" in text
    assert "0.900" in text
    assert "2 min" in text
    assert "40,000" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_said() -> None:
    said = "\n".join(sentences(MADE))
    assert "60 windows, 30 keys" in said
    assert "does not have 2 of the keys" in said
    assert "A TTL of none" not in said
    assert "7 look-ups a window reach the accuracy of 0.9" in said
    assert "As few" not in said
    asked = replace(MADE, by_accuracy=PlannedAccuracy(0.9, 50, TRIAL))
    said = "\n".join(sentences(asked))
    assert "0.9 right by their own estimates, at most 50 a window, are 10,080 a day" in said
    assert "precision 0.900" in said


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_command(tmp_path: Path) -> None:
    remote = '\n[query.refresh]\nremote = "followers"\n[source]\nurl = "http://127.0.0.1:1/{key}"\n'
    job(tmp_path, remote + 'value = "n"\n', 'query.score="n + followers"')
    events, values = [], ["at,user,followers"]
    for minute in range(30):
        at = f"2026-01-01T00:{minute:02}:00Z"
        for user in "abcdef":
            events.append(f'{{"user": "{user}", "at": "{at}"}}')
            values.append(f"{at},{user},{ord(user) * (minute % 5)}")
    (tmp_path / "in" / "1.json").write_text("\n".join(events))
    (tmp_path / "values.csv").write_text("\n".join(values))
    arguments = ["plan", str(tmp_path / "job.toml"), "--set", 'query.score="n + followers"']
    arguments += [
        "--recording",
        str(tmp_path / "values.csv"),
        "--budgets",
        "1,6",
        "--accuracy",
        "0.9",
    ]
    told = CliRunner().invoke(app, [*arguments, "--json"])
    assert told.exit_code == 0, told.output
    plan = json.loads(told.stdout)
    few, all_of_them = plan["rows"]
    assert plan["by_accuracy"]["accuracy"] == 0.9
    assert 0 < plan["by_accuracy"]["look_ups_a_day"] < all_of_them["look_ups_a_day"]
    assert few["precision"] < all_of_them["precision"] == 1.0
    assert "trying: 6 look-ups a window" in told.stderr


@pytest.mark.parametrize("budgets", ["", "many", "3,0", "-1", "1.5"])
def test_budgets_that_are_none(tmp_path: Path, budgets: str) -> None:
    job(tmp_path)
    arguments = ["plan", str(tmp_path / "job.toml"), "--recording", "x", f"--budgets={budgets}"]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code != 0
    assert "--budgets" in told.output + told.stderr
