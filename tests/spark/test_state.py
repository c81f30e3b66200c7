"""What a checkpoint remembers, read back."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tests.support.observed import SHARDS, START, query, source
from topwater import StateError, TopKMonitor, TopKQuery, sliding, tables
from topwater.cli import app
from topwater.monitor.grouped import GroupedMonitor
from topwater.monitor.snapshot import describe
from topwater.spark import read_state

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.observed import Ran


@pytest.mark.spark
def test_the_state_says_what_is_kept(spark: SparkSession, ran: Ran) -> None:
    states = read_state(spark, ran.checkpoint)
    assert [(each.shard, each.shards) for each in states] == [(0, SHARDS), (1, SHARDS)]
    assert {each.holds.newest for each in states} == {START + 26_000}
    assert sum(each.holds.counts.events for each in states) == 1
    # What Spark says was written in the last micro-batch is the state, and little more.
    size = sum(each.holds.size for each in states)
    assert size <= ran.progress[-1].state_bytes < size + 500
    kept = [each.holds.rankings[0] for each in states]
    assert all(each.holds.query == query() for each in states)
    assert [each.next_window.end for each in kept if each.next_window] == [START + 30_000] * 2
    assert {each.holds for each in kept} == {"partials"}
    assert sum(each.rows for each in kept) == 2
    told = sum(progress.fetched - progress.failed for progress in ran.progress)
    assert sum(each.fetched for each in kept) == told
    assert min(each.oldest_fetch for each in kept if each.oldest_fetch) == START + 10_000


@pytest.mark.spark
def test_the_command_line_shows_it(spark: SparkSession, ran: Ran) -> None:
    shown = CliRunner().invoke(app, ["state", ran.checkpoint, "--json"])
    assert shown.exit_code == 0
    shards = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [each["shard"] for each in shards] == [0, 1]
    assert TopKQuery.from_dict(shards[0]["query"]) == query()
    text = CliRunner().invoke(app, ["state", ran.checkpoint]).stdout
    assert "shard    0 of 2, " in text
    assert "newest 1970-01-01T00:17:06.000+00:00\n" in text
    assert "next window (1970-01-01T00:17:00.000+00:00, 1970-01-01T00:17:10.000+00:00]\n" in text
    assert "  untold events 1\n" in text


@pytest.mark.spark
def test_folders_without_a_state_are_named(
    spark: SparkSession, ran: Ran, tmp_path: Path, checkpoint: str
) -> None:
    with pytest.raises(StateError, match="there is no checkpoint in /no/such"):
        read_state(spark, "/no/such")
    with pytest.raises(StateError, match="no micro-batch was finished"):
        read_state(spark, ran.events)
    counted = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    running = (
        counted.groupBy("value")
        .count()
        .writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", checkpoint)
        .trigger(once=True)
        .start()
    )
    running.awaitTermination()
    with pytest.raises(StateError, match="there is no Topwater state in"):
        read_state(spark, checkpoint)
    result = CliRunner().invoke(app, ["state", "/no/such"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: there is no checkpoint in /no/such\n  fix: give the folder" in result.stderr


@pytest.mark.spark
def test_damaged_files_are_told(spark: SparkSession, ran: Ran, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ran.checkpoint, copy)
    for file in (copy / "state").rglob("*"):
        if file.suffix in (".changelog", ".zip"):
            file.write_bytes(b"nonsense")
    for file in copy.rglob(".*.crc"):
        file.unlink()
    with pytest.raises(StateError, match="can't be read"):
        read_state(spark, str(copy))


SETTINGS: dict[str, Any] = {"key": "who", "time": "at", "window": sliding(4, 2), "k": 1}
BATCH: dict[str, Any] = {
    "who": ["a", "b", "a"],
    "at": [1, 4, 3],
    "value": [7.0, 5.0, 1.0],
    "team": ["red", "blue", None],
}


def test_each_form_of_contents_is_described() -> None:
    items = TopKMonitor.build(TopKQuery(**SETTINGS, score="value"))
    assert describe(items.snapshot()).rankings[0].next_window is None
    items.ingest(BATCH)
    kept = describe(items.snapshot()).rankings[0]
    assert (kept.holds, kept.rows, kept.keys, kept.oldest_fetch) == ("items", 2, 0, None)
    listed = TopKQuery(
        **SETTINGS,
        take={"v": "last(value)"},
        score="v + remote",
        refresh={"remote": "remote", "budget": 1, "spare": 1},
        list="panes+n",
    )
    monitor = TopKMonitor.build(listed, source=source())
    monitor.ingest(BATCH)
    monitor.close_until(5)
    kept = describe(monitor.snapshot()).rankings[0]
    assert (kept.holds, kept.keys, kept.fetched, kept.oldest_fetch) == ("candidates", 2, 1, 4)


def test_groups_are_described_one_by_one() -> None:
    monitor = GroupedMonitor.build(TopKQuery(**SETTINGS, score="value", group_by="team"))
    monitor.ingest(BATCH)
    found = describe(monitor.snapshot())
    assert [(kept.group, kept.rows) for kept in found.rankings] == [("blue", 1), ("red", 1)]
    assert (found.counts.events, found.counts.bad_key, found.newest) == (3, 1, 4)
    assert found.query.group_by == "team"
    assert json.loads(json.dumps(found.to_dict()))["rankings"][0]["group"] == "blue"


def test_what_is_no_snapshot_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StateError, match="no Topwater state"):
        describe(b"nonsense")
    with pytest.raises(StateError, match="a form that this program does not know"):
        describe(tables.pack(pa.table({"a": np.zeros(1)}), {}))
    monkeypatch.setattr(tables, "VERSION", 1)
    old = TopKMonitor.build(TopKQuery(**SETTINGS, score="value")).snapshot()
    monkeypatch.undo()
    with pytest.raises(StateError, match="the state has version 1"):
        describe(old)
