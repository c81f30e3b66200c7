"""The Spark benchmark through the same code, with few rows. Nothing here depends on the time."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from topwater.errors import QueryError
from topwater_lab.bench import bench_commands, spark_speed
from topwater_lab.bench.spark_data import BATCH_MILLIS, ORIGIN, Data, Layout, Size
from topwater_lab.bench.spark_latency import steadiness
from topwater_lab.bench.spark_peers import NATIVE, OWN_SOURCE
from topwater_lab.bench.spark_runs import Ran, Runner
from topwater_lab.bench.spark_tables import show
from topwater_lab.bench.spark_targets import check_targets

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TINY = spark_speed.Effort(
    Size(2, 8_000),
    (spark_speed.Point(Layout(10), (OWN_SOURCE,), NATIVE[1:2]),),
    repeats=1,
    trickle=4,
    partitions=(1,),
)
STATE = {
    "batches": 30,
    "written_bytes_first": 100.0,
    "written_bytes_last": 110.0,
    "memory_bytes_first": 100.0,
    "memory_bytes_last": 100.0,
}


@pytest.mark.soak  # a dozen streams one after the other: a minute and a half
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
    written = io.StringIO()
    show(report, Console(file=written, width=160))
    for words in ("own-source", "native form", "shuffle partitions", "first and last third"):
        assert words in written.getvalue()


def test_few_rows_are_refused() -> None:
    result = CliRunner().invoke(bench_commands.app, ["spark", "--rows", "100"])
    assert result.exit_code == 2
    assert "must be 20,000 or more" in result.stderr
    with pytest.raises(QueryError):
        Size.of(19_999)


def test_every_micro_batch_has_its_share_and_no_event_is_on_a_border(tmp_path: Path) -> None:
    data = Data(tmp_path, Size(3, 4_000))
    assert len(list(data.write())) == 12
    folder = data.folder(Layout(10), batches=2)
    assert folder == data.folder(Layout(10), batches=2)
    paths = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    names = [path.name.split("-")[0] for path in paths]
    assert names == ["history"] * 4 + ["data"] * 8 + ["tail.parquet"]
    times = [t for path in paths for t in millis(path)]
    assert times == sorted(times)
    assert all(time % 1_000 for time in times)
    assert times[0] == ORIGIN - 10_000 + 1
    assert times[-1] == ORIGIN + 2 * BATCH_MILLIS + 1_001
    assert sum(time > ORIGIN for time in times) == 8_001


def millis(path: Path) -> list[int]:
    column = pq.read_table(path).column("time").cast("int64")
    return [micros // 1_000 for micros in column.to_pylist()]


def test_sizes_keep_two_million_rows_per_micro_batch() -> None:
    assert Size.of(30_000_000) == Size(15, 2_000_000)
    assert Size.of(2_000_000).rows == 2_000_000


def test_the_state_of_a_long_run_is_compared_by_thirds() -> None:
    ran = Ran(1.0, [], written=[0] * 10 + [6] * 5 + [9] * 5 + [3] * 5, memory=[1] * 25)
    found = steadiness(ran)
    assert (found.written_bytes_first, found.written_bytes_last) == (6.0, 3.0)


def measured(case: str, at: int, **more: Any) -> dict[str, Any]:
    usual = {"batch_ms_p50": 100.0, "ratio_to_native": 1.0, "ratio_to_naive": None}
    return {"case": case, "window_over_step": at, "same_answers": True} | usual | more


def test_targets() -> None:
    rows = [
        measured("generic", 10, ratio_to_naive=6.0),
        measured("generic", 600, ratio_to_native=2.4),
        measured("generic", 1_000, batch_ms_p50=151.0),
        measured("own-source", 10, ratio_to_native=2.3, same_answers=False),
    ]
    found = {target.target: target.reached for target in check_targets(rows, STATE)}
    assert found == {
        "generic >= 1 x native at window/step 10": True,
        "generic >= 2.5 x native at window/step 600": False,
        "generic >= 6 x naive at window/step 10": True,
        "feedback >= 1.8 x native at panes of ten micro-batches": None,
        "own-source >= 2.3 x native at window/step 10": True,
        "own-source >= 8 x native at window/step 600": None,
        "generic: cost per event within 1.5 x from window/step 10 to 1,000": False,
        "own-source: cost per event within 1.5 x from window/step 10 to 1,000": None,
        "same answers as native and naive": False,
        "state within 1.5 x over 30 micro-batches": True,
    }
    grown = check_targets([], STATE | {"memory_bytes_last": 151.0})[-1]
    assert (grown.reached, grown.missed) == (False, ["the last third: 1.51"])


@pytest.mark.spark
def test_a_run_leaves_the_session_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    runner = Runner(spark, tmp_path)
    names = [*NATIVE[-1].settings]
    told = [spark.conf.get(name) for name in names]
    with runner.settings(NATIVE[-1].settings):
        assert [spark.conf.get(name) for name in names] == list(NATIVE[-1].settings.values())
    assert [spark.conf.get(name) for name in names] == told
