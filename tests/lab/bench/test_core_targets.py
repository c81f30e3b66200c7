"""What the candidate lists must reach, judged by rows with known numbers."""

from __future__ import annotations

from typing import Any

import pytest

from topwater_lab.bench.core_grid import Point
from topwater_lab.bench.core_targets import check_targets
from topwater_lab.bench.peer_engines import ENGINES


def _row(name: str, window: int, step: int, k: int, **numbers: Any) -> dict[str, Any]:
    row = {
        "list": name,
        "window": window,
        "step": step,
        "k": k,
        "expected_candidates": Point(window, step, k).expected_candidates,
        "objects_per_s": 100.0,
        "wall_objects_per_s": 100.0,
        "ratio_to_max": 0.5,
        "candidates": 3 * k,
        "mean_candidates": 2.9 * k,
        "cpu_ns_per_object": 10.0,
        "same_answers": True,
        "skipped": None,
    }
    return row | numbers


def _verdicts(*rows: dict[str, Any]) -> dict[str, bool | None]:
    return {target.target: target.reached for target in check_targets(rows)}


def test_speed_is_judged_by_step_over_k() -> None:
    at = "ratio to max >= 0.15 where step/k >= 1,000"
    assert _verdicts()[at] is None
    assert _verdicts(_row("panes", 100_000, 10_000, 10, ratio_to_max=0.15))[at] is True
    assert _verdicts(_row("panes", 100_000, 10_000, 10, ratio_to_max=0.149))[at] is False
    assert _verdicts(_row("panes", 100_000, 10_000, 11, ratio_to_max=0.1))[at] is None
    assert _verdicts(_row("sma", 100_000, 10_000, 10, ratio_to_max=0.1))[at] is None


def test_step_1000_k_10_has_a_target_of_its_own() -> None:
    at = "ratio to max >= 0.1 at step 1,000, k 10"
    assert _verdicts(_row("panes", 10_000, 1_000, 10, ratio_to_max=0.099))[at] is False
    assert _verdicts(_row("panes", 10_000, 1_000, 100, ratio_to_max=0.01))[at] is None


def test_cost_must_be_flat_over_windows_of_the_same_step_and_k() -> None:
    at = "CPU per object within 1.5x over all windows of the same step and k"
    small = _row("panes", 10_000, 1_000, 10, cpu_ns_per_object=10.0)
    assert _verdicts(small)[at] is None
    near = _row("panes", 10_000_000, 1_000, 10, cpu_ns_per_object=15.0)
    assert _verdicts(small, near)[at] is True
    far = _row("panes", 10_000_000, 1_000, 10, cpu_ns_per_object=15.1)
    assert _verdicts(small, far)[at] is False
    assert _verdicts(small, far)[at.replace("CPU", "passes of max")] is True
    other = _row("panes", 10_000_000, 1_000, 100, cpu_ns_per_object=99.0)
    assert _verdicts(small, other)[at] is None


def test_candidates_are_judged_only_where_the_minimum_allows_it() -> None:
    tenth = _row("panes", 10_000, 1_000, 10, candidates=36, mean_candidates=29.0)
    hundredth = _row("panes", 100_000, 1_000, 10, candidates=60, mean_candidates=52.0)
    targets = {target.target: target for target in check_targets([tenth, hundredth])}
    mean, peak = targets["candidates (mean) <= 3.5 k"], targets["candidates (peak) <= 3.5 k"]
    assert (mean.reached, mean.points) == (True, 1)
    assert (peak.reached, peak.points) == (False, 1)
    assert mean.worst == pytest.approx(2.9)
    assert peak.worst == pytest.approx(3.6)
    assert peak.missed == ["window 10,000 step 1,000 k 10: 3.6"]
    (impossible,) = mean.impossible
    assert impossible == "window 100,000 step 1,000 k 10: the minimum is 5.19 k on average"


def test_sma_is_compared_where_both_were_measured() -> None:
    at = "CPU per object <= 0.15 of sma's"
    ours = _row("panes", 10_000, 1_000, 10, cpu_ns_per_object=15.0)
    assert _verdicts(ours, _row("sma", 10_000, 1_000, 10, cpu_ns_per_object=100.0))[at] is True
    assert _verdicts(ours, _row("sma", 10_000, 1_000, 10, cpu_ns_per_object=99.0))[at] is False
    assert _verdicts(ours, _row("sma", 10_000, 1_000, 10, skipped="too slow"))[at] is None


@pytest.mark.parametrize("name", list(ENGINES))
def test_an_engine_is_beaten_by_both_clocks_or_not(name: str) -> None:
    at = f"faster than {name}"
    ours = _row("panes", 10_000, 1_000, 10)
    theirs = {"objects_per_s": 99.0, "wall_objects_per_s": 99.0}
    assert _verdicts(ours, _row(name, 10_000, 1_000, 10, **theirs))[at] is True
    for column in theirs:
        ahead = theirs | {column: 101.0}
        assert _verdicts(ours, _row(name, 10_000, 1_000, 10, **ahead))[at] is False
    wrong = _row(name, 10_000, 1_000, 10, same_answers=False)
    assert _verdicts(ours, wrong)[f"same answers as {name}"] is False
