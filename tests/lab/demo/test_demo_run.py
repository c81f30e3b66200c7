"""The demo: its contenders, what it tells, and what it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from topwater.errors import EnvironmentProblem
from topwater_lab.demo.contenders import (
    TABLE,
)
from topwater_lab.demo.demo_run import Stopwatch, Wishes, run
from topwater_lab.demo.display import JsonLines
from topwater_lab.demo.scene import Scene


def test_a_folder_that_can_not_be_written_is_said_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="can't be written"):
        run(Scene(windows=1), JsonLines(), Wishes(out=tmp_path / "file" / "demo"))


def test_steps_are_timed_and_added_up() -> None:
    watch = Stopwatch()
    for _ in range(2):
        with watch.step("a"):
            pass
    assert list(watch.seconds) == ["a"]


@pytest.mark.spark
def test_the_demo_prints_one_json_object_per_window_and_nothing_else(tmp_path: Path) -> None:
    """The real thing, in a process of its own."""
    command = [sys.executable, "-m", "topwater", "demo"]
    done = subprocess.run(  # noqa: S603
        [*command, "--windows", "3", "--port", "0", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        timeout=280,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    *windows, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [window["window_end"] for window in windows] == [
        f"2026-01-01T00:0{minute}:40.000+00:00" for minute in (1, 2, 3)
    ]
    assert all([row["rank"] for row in window["top"]] == [1, 2, 3, 4, 5] for window in windows)
    assert all(window["freshness"]["fetched"] == 7 for window in windows)
    assert all(len(window["looked_up"]) == 7 for window in windows)
    assert all(set(window["rivals"]) >= {TABLE} for window in windows)
    report = last["report"]
    assert (report["differing"], report["looked_up"]["lost"]) == (0, 0)
    assert (report["looked_up"]["keys"], report["service"]["requests"]) == (21, 21)
    assert {"service", "Spark", "stream"} <= set(report["seconds"])
    assert report["written"] == str(tmp_path / "out" / "demo" / "report.html")
    assert "Who matters most" in Path(report["written"]).read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing else is left behind"
