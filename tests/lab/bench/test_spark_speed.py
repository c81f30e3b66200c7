"""The Spark benchmark through the same code, with few rows. Nothing here depends on the time."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from topwater_lab.bench import bench_commands, spark_speed
from topwater_lab.bench.spark_data import Layout, Size
from topwater_lab.bench.spark_peers import NATIVE, OWN_SOURCE
from topwater_lab.bench.spark_tables import show

GROUP = "second_session"  # a minute, which the warm session has no time for
TINY = spark_speed.Effort(
    Size(2, 1_000),
    (spark_speed.Point(Layout(10), (OWN_SOURCE,), NATIVE[1:2]),),
    repeats=1,
    trickle=4,
    partitions=(1,),
    counted=(50,),
)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_command_compares_answers_and_prints_json_or_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark_speed, "quick", lambda: TINY)
    result = CliRunner().invoke(bench_commands.app, ["spark", "--quick", "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    (row,) = report["rows"]
    assert (row["case"], row["same_answers"], row["windows_compared"]) == ("own-source", True, 81)
    numbers = ("rows_per_s", "ratio_to_noop", "ratio_to_native", "batch_ms_p50", "whole_run_s")
    assert all(row[name] > 0 for name in numbers)
    assert row["written_bytes_p50"] >= row["state_bytes"] / 2 > 0
    (latency,) = report["latency"]
    assert latency["answer_ms_p50"] > 0
    (counted,) = report["counts"]
    assert (counted["keys"], counted["same_answers"]) == (50, True)
    figures = ("batch_ms_p50", "stage_ms_p50", "ratio_to_native", "stage_ratio_to_noop")
    assert all(counted[name] > 0 for name in figures)
    written = io.StringIO()
    show(report, Console(file=written, width=160))
    for words in (
        "own-source",
        "native form",
        "keys counted",
        "shuffle partitions",
        "first and last third",
    ):
        assert words in written.getvalue()
