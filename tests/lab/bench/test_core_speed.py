"""The core benchmark through the same code on a tiny grid. Nothing here depends on the time."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from topwater.errors import QueryError
from topwater_lab.bench import bench_commands
from topwater_lab.bench import core_speed as core
from topwater_lab.bench.core_grid import Point
from topwater_lab.bench.harness import Spent
from topwater_lab.bench.peer_engines import ENGINES

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
