"""The core benchmark through the same code on a tiny grid. Nothing here depends on the time."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from topwater.candidates import build, sweep
from topwater.errors import QueryError
from topwater_lab.bench import bench_commands
from topwater_lab.bench import core_speed as core
from topwater_lab.bench.core_grid import Point, Stream, paper_grid, quick_grid
from topwater_lab.bench.core_targets import check_targets
from topwater_lab.bench.harness import NEVER, Spent, peak_memory, short, timed
from topwater_lab.bench.peer_engines import ENGINES, held_tops, slides_for
from topwater_lab.bench.peer_job import Form, Job, each_window

TINY = core.Effort(
    grid=(Point(800, 40, 5), Point(300, 10, 30), Point(60, 1, 7), Point(50, 50, 50)),
    spare_objects=2_000,
    fill_seconds=5,
    steady_seconds=0.01,
    total_seconds=0.02,
    repeats=2,
    engine_rows=20_000,
    memory_objects=20_000,
)


FRUGAL = dataclasses.replace(TINY, memory_objects=0)
"""Without the process that measures memory."""


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return core.bench_core(TINY)


def test_every_contender_is_in_the_report_at_every_point(report: dict[str, Any]) -> None:
    found = {(r["list"], r["window"], r["step"], r["k"]) for r in report["rows"]}
    points = [(p.window, p.step, p.k) for p in TINY.grid]
    assert found == {(name, *point) for name in core.contenders() for point in points}
    assert len(report["rows"]) == len(found)


def test_rows_have_numbers_or_a_reason(report: dict[str, Any]) -> None:
    for row in report["rows"]:
        numbers = [row[name] for name in ("objects_per_s", "ratio_to_max", "candidates")]
        if row["skipped"] is None:
            assert all(number > 0 for number in numbers), row
        else:
            assert numbers == [None, None, None], row


def test_report_is_strict_json(report: dict[str, Any]) -> None:
    again = json.loads(json.dumps(report, allow_nan=False))
    assert again == report
    assert list(report) == ["bench", "rows", "targets", "memory"]
    assert report["bench"] == "core"


def test_minimal_lists_keep_the_same_number(report: dict[str, Any]) -> None:
    for row in report["rows"]:
        if row["list"] in ("panes", "mintopk", "pretopk") and row["skipped"] is None:
            assert row["k"] <= row["mean_candidates"] <= row["candidates"] <= row["window"]


def test_memory_says_where_it_stood(report: dict[str, Any]) -> None:
    memory = report["memory"]
    assert memory["objects"] == 10 * memory["window"] == 20_000
    assert 0 < memory["first_chunk_bytes"] <= memory["full_window_bytes"] <= memory["end_bytes"]
    assert memory["growth_bytes"] == memory["end_bytes"] - memory["full_window_bytes"]


def test_memory_is_measured_where_a_window_takes_many_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core, "_BATCH", 500)
    memory = core.memory_use(20_000, seed=1)
    assert memory["candidates"] >= memory["k"]


def test_unknown_contender_is_refused() -> None:
    with pytest.raises(QueryError, match="'nope' is unknown"):
        core.bench_core(FRUGAL, ["nope"])


@pytest.mark.parametrize("name", list(ENGINES))
@pytest.mark.parametrize("point", TINY.grid, ids=str)
def test_every_form_of_an_engine_answers_as_recomputing_does(name: str, point: Point) -> None:
    stream = Stream(point.window + 9 * point.step, seed=3)
    last = point.window - point.step
    held = held_tops(point, stream)
    fresh = stream.arrivals(last, len(stream), point.step)
    recompute = build("recompute", point.windows, point.k)
    right, sizes, _ = sweep(recompute, stream.arrivals(0, len(stream), point.step), 0, 9)
    assert sizes.tolist() == [point.k] * 10
    engine = ENGINES[name]()
    engine.load(Job(point, held, fresh))
    for form in engine.forms:
        score, key = engine.answers(engine.query(form.name))
        np.testing.assert_array_equal(score, right.score, err_msg=form.name)
        np.testing.assert_array_equal(key, right.key, err_msg=form.name)


def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ENGINES["polars"]

    class Lying(honest):  # type: ignore[valid-type, misc]
        def answers(self, result: Any) -> Any:
            score, key = super().answers(result)
            return score, key + 1

    monkeypatch.setitem(ENGINES, "polars", Lying)
    rows = core.bench_core(FRUGAL, ["polars"])["rows"]
    assert {row["same_answers"] for row in rows} == {False}


def test_an_engine_that_is_not_there_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise ImportError

    monkeypatch.setitem(ENGINES, "duckdb", absent)
    rows = core.bench_core(FRUGAL, ["duckdb"])["rows"]
    assert all("not installed" in row["skipped"] for row in rows)


def test_windows_of_a_query_stay_within_the_rows_allowed() -> None:
    point, stream = Point(100, 10, 5), Stream(1_000, seed=0)
    form = Form("any", each_window)
    slides = slides_for(form, point, stream, 1_000)
    assert 0 < slides <= 90
    assert each_window(point, slides) <= 1_000
    assert slides_for(form, point, stream, 10) == 0


def test_a_window_that_can_not_be_filled_in_time_is_skipped() -> None:
    hasty = core.Effort((Point(1_000, 1, 3),), 100, -1, 0.01, 0.02, 1, 1_000, 0)
    (row,) = core.bench_core(hasty, ["mintopk"])["rows"]
    assert row["skipped"] == "the window was not full after -1 s"


def test_forecast_grows_with_the_window_and_knows_only_whole_windows() -> None:
    small, large = Point(100, 10, 5), Point(1_000, 100, 8)
    forecast = core.Forecast()
    run = core.Run(Spent(4.0, 2.0), 4, np.array([100]), None)
    assert forecast.slide("sma", large) == 0
    forecast.learn("sma", small, run)
    assert forecast.slide("sma", large) == pytest.approx(5.0)
    assert forecast.slide("sma", Point(1_000, 100, 4)) == 0
    forecast.learn("panes", small, core.Run(Spent(4.0, 2.0), 4, np.array([99]), None))
    assert forecast.slide("panes", large) == 0


def test_expected_candidates_are_harmonic() -> None:
    harmonic = math.fsum(1 / j for j in range(1, 101))
    assert Point(100_000, 1_000, 10).expected_candidates == pytest.approx(10 * harmonic)
    # A pane smaller than k is kept whole until k/(j + 1) falls below its size.
    assert Point(40, 10, 20).expected_candidates == pytest.approx(10 + 10 + 20 / 3 + 5)


def test_candidates_of_a_random_stream_are_as_many_as_expected() -> None:
    point = Point(1_000, 20, 40)
    stream = Stream(60_000, seed=5)
    held = build("panes", point.windows, point.k)
    until = (len(stream) - point.window) // point.step
    _, _, kept = sweep(held, stream.arrivals(0, len(stream), point.step), 0, until)
    assert kept.mean() == pytest.approx(point.expected_candidates, rel=0.02)


def test_grids() -> None:
    grid = paper_grid()
    assert len(grid) == len(set(grid)) == 64
    assert {p.window for p in grid} == {10**4, 10**5, 10**6, 10**7}
    assert all(p.window % p.step == 0 and p.step >= 1 and p.k <= p.window for p in grid)
    assert set(quick_grid()) <= set(grid)


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


def test_clock_and_memory() -> None:
    result, spent = timed(lambda: sum(range(1_000)))
    assert result == 499_500
    assert spent.wall > 0
    assert NEVER.least(Spent(2, 1)).least(Spent(1, 2)) == Spent(1, 1)
    assert short(2_500) == "2.5 K"


GROWS = """
import numpy as np
from topwater_lab.bench.harness import peak_memory
before = peak_memory()
block = np.ones(8_000_000)
print((peak_memory() - before) / block.nbytes)
"""


def test_the_peak_of_memory_grows_with_what_is_held() -> None:
    """In a process of its own: this one may have held much more before."""
    command = [sys.executable, "-c", GROWS]
    told = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert 0.5 < float(told.stdout) < 1.5
    assert peak_memory() > 0


def test_command_prints_json_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "QUICK", FRUGAL)
    args = ["core", "--quick", "--json", "--lists", "panes, sma", "--seed", "3"]
    result = CliRunner().invoke(bench_commands.app, args)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {row["list"] for row in told["rows"]} == {"panes", "sma"}


def test_command_prints_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "QUICK", TINY)
    result = CliRunner().invoke(
        bench_commands.app, ["core", "--quick", "--quiet", "--lists", "panes"]
    )
    assert result.exit_code == 0, result.output
    for words in ("objects per second", "targets of panes", "the minimum is", "memory:"):
        assert words in result.stdout


def test_command_refuses_an_unknown_list() -> None:
    result = CliRunner().invoke(bench_commands.app, ["core", "--lists", "nope"])
    assert result.exit_code == 2
    assert "use one of: panes, mintopk" in result.stderr
