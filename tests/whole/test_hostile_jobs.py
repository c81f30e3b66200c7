"""Jobs under attack: hostile text, secrets in unusual places, hours that come twice."""

from __future__ import annotations

import io
import json
import os
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from topwater.cli import app
from topwater.jobs import read_job
from topwater.jobs.display import line_of, windows_of
from topwater.jobs.explanation import source_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOB: dict[str, Any] = {
    "query": {
        "key": "user",
        "time": "at",
        "window": "1 min",
        "take": {"n": "count"},
        "score": "n * followers",
        "refresh": "followers",
        "k": 3,
    },
    "stream": {"kind": "files", "path": ".", "schema": "user string, at timestamp"},
    "source": {
        "url": "http://127.0.0.1:9/{key}",
        "value": "n",
        "headers": {"Authorization": "Bearer hush-hush"},
    },
    "sink": {"format": "jdbc", "checkpoint": "c", "options": {"password": "hush-hush"}},
}
HOSTILE = "a\x1b]0;title\x07\x1b[2J\x9b31m\n9. b \u202egnp"


@pytest.fixture
def in_rome() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Rome"
    time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


@pytest.mark.usefixtures("in_rome")
def test_windows_of_the_hour_that_comes_twice_stay_apart() -> None:
    """Spark gives local times: at the end of summer, two windows have the same."""
    first = 1_792_888_200  # half past two in Rome, for the first time
    rows = [
        {"window_end": datetime.fromtimestamp(at), "rank": 1, "key": key}
        for at, key in ((first + 3_600, "later"), (first + 1_800, "between"), (first, "earlier"))
    ]
    assert [window[0]["key"] for window in windows_of(rows)] == ["earlier", "between", "later"]


def test_a_key_can_not_write_to_the_terminal(tmp_path: Path) -> None:
    answer = {
        "window_end": "2026-01-01T00:00:00.000+00:00",
        "group": HOSTILE,
        "rows": [{"rank": 1, "key": HOSTILE, "score": 1.0}],
        "exact": True,
    }
    shown = io.StringIO()
    console = Console(file=shown, highlight=False)
    console.print(line_of(answer, read_job(_written(tmp_path))), soft_wrap=True)
    text = shown.getvalue()
    assert text.count("\n") == 1
    assert text.strip("\n").isprintable()
    assert r"a\x1b]0;title\x07\x1b[2J\x9b31m\n9. b \u202egnp" in text


def test_an_error_can_not_write_to_the_terminal(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["explain", str(tmp_path / f"{HOSTILE}.toml")])
    assert result.exit_code == 2
    assert result.output.replace("\n", "").isprintable()


def test_what_a_job_says_of_itself_has_no_secrets(tmp_path: Path) -> None:
    job = read_job(_written(tmp_path))
    told = [repr(job), repr(job.written), str(job.sink), repr(job.sink)]
    for more in ([], ["--json"]):
        result = CliRunner().invoke(app, ["explain", str(job.written.path), *more])
        assert result.exit_code == 0, result.output
        told.append(result.output)
    assert not [each for each in told if "hush" in each]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:hu?sh@host/db", "postgresql://host/db"),
        ("postgresql://me:hu@sh@host/db?sslmode=require", "postgresql://host/db"),
        ("http://me:hush@host/x?mail=ab", "http://host"),
        ("http://me:hush@host/x?mail=a@b", "http://…"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert source_text({"url": url}) == shown


def _written(folder: Path, **more: Any) -> Path:
    path = folder / "job.yaml"
    path.write_text(json.dumps({**JOB, **more}))  # JSON is YAML
    return path
