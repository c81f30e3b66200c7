"""The benchmark of many keys through the command."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from topwater_lab.bench import bench_commands, scale_growth
from topwater_lab.bench.scale_churn import ChurnPoint
from topwater_lab.bench.scale_growth import Effort, OnSpark
from topwater_lab.bench.scale_stream import SparkPoint, StreamSize

TINY = Effort((50, 400), (50,), (3,), windows=1, churn=(ChurnPoint(8, 5, 2, 2_000),))
ON_SPARK = OnSpark(StreamSize(200, 6), (20, 40), (3, 5), (2,), 40)
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
        (40, False, 0),
    ]
    assert report["rows"][-1]["case"] == "churn"
    assert all(set(row) >= FIELDS for row in report["rows"])
    assert report["rows"][0]["ratio_to_small"] == 1
    assert all(target["reached"] is not False for target in report["targets"][5:-1])


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.usefixtures("spark")
def test_all_that_is_measured_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_growth, "QUICK", Effort((50,), (), (), 1, ON_SPARK))
    result = CliRunner().invoke(bench_commands.app, ["scale", "--quick", "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    local, *rows = json.loads(result.stdout)["rows"]
    assert local["case"] == "local"
    assert [(row["case"], row["keys"], row["groups"], row["shards"]) for row in rows] == [
        ("native", 20, 0, 1),
        ("native", 40, 0, 1),
        ("spark", 20, 0, 1),
        ("spark", 0, 3, 1),
        ("spark", 0, 5, 1),
        ("spark", 40, 0, 1),
        ("spark", 40, 0, 1),
        ("spark", 40, 0, 2),
    ]
    assert all(set(row) >= {*FIELDS, "cache_hits"} for row in rows)
    compared = [row["keys"] for row in rows if row["ratio_to_native"] is not None]
    assert compared == [20, 40, 40]


def test_what_others_are_compared_with_is_measured_twice() -> None:
    runs = ON_SPARK.runs()
    first = ("spark", SparkPoint(20, 20))
    assert (runs[2], runs[-2]) == (first, first)
    assert ("spark", SparkPoint(40, 20)) in runs
    assert len({*runs}) == len(runs) - 1
