"""What many keys may cost: every target is missed by a little too much."""

from __future__ import annotations

from typing import Any

import pytest

from topwater_lab.bench.scale_targets import check_targets

LOCAL: dict[str, Any] = {
    "case": "local",
    "keys": 680_000,
    "text": False,
    "groups": 0,
    "shards": 1,
    "close_ns_per_key": 250.0,
    "close_ms": 170.0,
    "state_bytes": 40_000_000,
    "written_bytes": 2_000,
    "came_bytes": 1_000,
    "ratio_to_small": 100.0,
    "same_after_restart": True,
}
SPARK: dict[str, Any] = {
    "case": "spark",
    "keys": 1_000_000,
    "drawn": 1_000,
    "text": False,
    "groups": 0,
    "shards": 1,
    "ratio_to_small": 1.5,
    "written_to_came": 2.0,
    "written_beyond": 8 * 2**20,
    "restart_s": 10.0,
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
def test_targets_in_process(changes: dict[str, Any], missed: set[int]) -> None:
    targets = check_targets([LOCAL | changes])
    assert {at for at, target in enumerate(targets) if target.reached is False} == missed


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, set()),
        ({"ratio_to_small": 1.51}, {7}),
        ({"ratio_to_small": 1.51, "drawn": 1_000_000}, set()),
        ({"written_to_came": 2.1}, {8}),
        ({"written_beyond": 8 * 2**20 + 1}, {9}),
        ({"restart_s": 10.1}, {10}),
        ({"keys": 0, "groups": 10_000, "ratio_to_small": 1.6}, {11}),
    ],
)
def test_targets_on_spark(changes: dict[str, Any], missed: set[int]) -> None:
    targets = check_targets([SPARK | changes])
    assert {at for at, target in enumerate(targets) if target.reached is False} == missed


@pytest.mark.parametrize(("growth", "reached"), [(1.1, True), (1.11, False)])
def test_what_may_grow_while_keys_come_and_go(growth: float, reached: bool) -> None:
    [*others, target] = check_targets([LOCAL | {"case": "churn", "growth": growth}])
    assert target.reached is reached
    assert all(each.reached is None for each in others)


def test_a_point_is_named_by_what_tells_it_from_others() -> None:
    rows = [LOCAL | {"text": True, "close_ns_per_key": 1e4}, SPARK | {"shards": 4}]
    targets = check_targets(rows)
    assert targets[1].at == "680,000 text keys"
    assert targets[10].at == "1,000,000 keys, events of 1,000, 4 shards"
