"""The benchmark of many keys through the command, and its targets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from topwater_lab.bench import bench_commands, scale_growth
from topwater_lab.bench.scale_growth import Effort, check_targets

TINY = Effort((50, 400), (50,), (3,), windows=1)
FIELDS = {
    *("case", "keys", "groups", "shards", "close_ms", "close_ns_per_key", "state_bytes"),
    *("written_bytes", "came_bytes", "batch_ms_p50", "ratio_to_small", "restart_s", "rss_bytes"),
}


def test_the_command_prints_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_growth, "QUICK", TINY)
    result = CliRunner().invoke(bench_commands.app, ["scale", "--quick", "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["bench"] == "scale"
    assert [(row["keys"], row["text"], row["groups"]) for row in report["rows"]] == [
        (50, False, 0),
        (400, False, 0),
        (50, True, 0),
        (0, False, 3),
    ]
    assert all(set(row) >= FIELDS for row in report["rows"])
    assert report["rows"][0]["ratio_to_small"] == 1
    assert report["targets"][-1]["reached"]


GOOD: dict[str, Any] = {
    "keys": 680_000,
    "text": False,
    "groups": 0,
    "close_ns_per_key": 250.0,
    "close_ms": 170.0,
    "state_bytes": 40_000_000,
    "written_bytes": 2_000,
    "came_bytes": 1_000,
    "ratio_to_small": 100.0,
    "same_after_restart": True,
}


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, set()),
        ({"close_ns_per_key": 251.0}, {0}),
        ({"close_ns_per_key": 501.0, "text": True}, {1}),
        ({"keys": 1_000, "close_ms": 11.0}, {2}),
        ({"state_bytes": 40_000_001}, {3}),
        ({"written_bytes": 2_001}, {4}),
        ({"keys": 0, "groups": 10_000, "ratio_to_small": 1.6}, {5}),
        ({"same_after_restart": False}, {6}),
    ],
)
def test_targets_are_missed_by_a_little_too(changes: dict[str, Any], missed: set[int]) -> None:
    targets = check_targets([GOOD | changes])
    assert {at for at, target in enumerate(targets) if target.reached is False} == missed
