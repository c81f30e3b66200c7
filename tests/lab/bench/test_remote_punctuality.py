"""The benchmark of remote sources through the same code, with few windows."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from topwater_lab.bench import bench_commands, remote_punctuality
from topwater_lab.bench.remote_tables import show

TINY = remote_punctuality.Effort(
    windows_each=6, deadline_ms=400, pace_ms=100, faults=0.5, seconds=1.0, processes=2
)
FIELDS = {
    "windows",
    "on_time",
    "overshoot_ms_p50",
    "overshoot_ms_p99",
    "rate_used",
    "rate_exceeded",
}


def test_the_command_measures_against_a_real_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_punctuality, "QUICK", TINY)
    result = CliRunner().invoke(bench_commands.app, ["remote", "--quick", "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert set(report) >= FIELDS
    assert report["windows"] == 12
    assert 0 < report["on_time"] <= 1
    # Both are the service's own counts: it was asked, and some of it went wrong.
    assert report["requests"] > 0
    assert sum(report["faults"].values()) > 0
    assert sum(report["problems"].values()) == report["keys_failed"]
    assert 0.1 < report["rate_used"] <= 1.05
    assert len(report["targets"]) == 3
    written = io.StringIO()
    show(report, Console(file=written, width=160))
    for words in ("windows", "fault", "problem", "refused"):
        assert words in written.getvalue()


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, []),
        ({"on_time": 0.999}, [0]),
        ({"rate_used": 0.94}, [1]),
        ({"rate_exceeded": 1}, [2]),
    ],
)
def test_targets_are_missed_by_a_little_too(changes: dict[str, Any], missed: list[int]) -> None:
    good = {"windows": 1_000, "on_time": 1.0, "rate_used": 0.95, "rate_exceeded": 0}
    targets = remote_punctuality.check_targets({**good, **changes})
    assert [at for at, target in enumerate(targets) if not target.reached] == missed
    assert all(target.missed for target in targets if not target.reached)
