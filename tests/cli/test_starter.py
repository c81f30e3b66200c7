"""`topwater init`: a project that runs as it stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from topwater.cli import app
from topwater.cli.starter import MINUTES, mentions
from topwater.jobs import read_job

if TYPE_CHECKING:
    from pathlib import Path


def made(folder: Path, *options: str) -> list[str]:
    result = CliRunner().invoke(app, ["init", str(folder), *options])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == f"next: cd {folder} && topwater run job.toml"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_is_written(tmp_path: Path) -> None:
    assert made(tmp_path / "a") == [".gitignore", "README.md", "events/mentions.jsonl", "job.toml"]
    assert made(tmp_path / "b", "--rspql") == [
        ".gitignore",
        "README.md",
        "events/mentions.nt",
        "job.toml",
        "query.rq",
    ]
    plain, rspql = (read_job(tmp_path / name / "job.toml") for name in "ab")
    assert plain.query.window == rspql.query.window
    assert (plain.query.k, rspql.query.k) == (3, 3)
    assert rspql.plan is not None
    for folder in "ab":
        (tmp_path / folder / "mine").touch()
        again = CliRunner().invoke(app, ["init", str(tmp_path / folder)])
        assert again.exit_code == 2
        assert "is there already, and is not empty" in again.stderr
    assert len(list(mentions())) == 40 * MINUTES


def test_it_goes_into_an_empty_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "job.toml" in made(tmp_path / "empty")


@pytest.mark.parametrize("place", ["/proc/nowhere", "s3a://key:secret@bucket/a"])
def test_a_folder_that_can_not_be_made(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["init", place])
    assert result.exit_code == 2
    assert "fix: name a folder" in result.stderr
    assert "secret" not in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", [[], ["--rspql"]])
def test_all_that_it_needs_is_there(tmp_path: Path, option: list[str]) -> None:
    """The example service is started and asked."""
    made(tmp_path / "mine", *option)
    job = str(tmp_path / "mine" / "job.toml")
    result = CliRunner().invoke(app, ["run", job, "--check"])
    assert result.exit_code == 0, result.stderr
    assert "all is there: " in result.stdout


@pytest.mark.spark
def test_it_runs_as_it_stands(tmp_path: Path) -> None:
    """The real program, as fast as it can."""
    made(tmp_path / "mine")
    command = [sys.executable, "-m", "topwater", "run", "job.toml", "--once", "--json"]
    done = subprocess.run(  # noqa: S603
        [*command, "--set", "stream.speed=max"],
        capture_output=True,
        text=True,
        cwd=tmp_path / "mine",
        env=os.environ,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    *windows, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert last["summary"]["windows"] == len(windows) == MINUTES - 1, "the last may not be over"
    assert last["summary"]["looked_up"] == 7 * len(windows)
    assert last["summary"]["failed"] == last["summary"]["bad"] == last["summary"]["late"] == 0
    rows = pq.read_table(tmp_path / "mine" / "answers").to_pylist()
    items = [row for row in rows if row["kind"] == "item"]
    keys = {(row["window_end"].minute, row["rank"]): row["user"] for row in items}
    assert len(keys) == len(items) == 3 * len(windows)
    for window in windows:
        minute = int(window["window_end"][14:16])
        assert [keys[minute, row["rank"]] for row in window["rows"]] == [
            row["key"] for row in window["rows"]
        ]
