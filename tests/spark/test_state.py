"""What a checkpoint remembers, read back."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import topwater.spark
from tests.support.observed import SHARDS, START, query
from topwater import StateError, TopKQuery, tumbling
from topwater.cli import app
from topwater.spark import read_state
from topwater.spark.state import located, query_lines

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.observed import Ran


@pytest.mark.spark
def test_the_state_says_what_is_kept(spark: SparkSession, ran: Ran) -> None:
    states = read_state(spark, ran.checkpoint)
    assert [(each.shard, each.shards) for each in states] == [(n, SHARDS) for n in (0, 1, 2)]
    # The last is the ranking of all, which looks at no event.
    assert [each.holds.newest for each in states] == [START + 26_000, START + 26_000, None]
    assert sum(each.holds.counts.events for each in states) == 1
    # What Spark says was written in the last micro-batch is the state, and little more.
    size = sum(each.holds.size for each in states)
    assert size <= ran.progress[-1].state_bytes < size + 500
    kept = [each.holds.rankings[0] for each in states]
    assert all(each.holds.query == query() for each in states)
    assert [each.next_window.end for each in kept if each.next_window] == [START + 30_000] * 3
    assert {each.holds for each in kept} == {"partials"}
    assert sum(each.rows for each in kept) == 2
    told = sum(progress.fetched - progress.failed for progress in ran.progress)
    assert [each.fetched for each in kept] == [0, 0, told]
    assert min(each.oldest_fetch for each in kept if each.oldest_fetch) == START + 10_000


@pytest.mark.spark
def test_the_command_line_shows_it(spark: SparkSession, ran: Ran) -> None:
    shown = CliRunner().invoke(app, ["state", ran.checkpoint, "--json"])
    assert shown.exit_code == 0
    shards = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [each["shard"] for each in shards] == [0, 1, 2]
    assert TopKQuery.from_dict(shards[0]["query"]) == query()
    text = CliRunner().invoke(app, ["state", ran.checkpoint]).stdout
    assert text.startswith("query\n  the ")
    assert "{" not in text
    assert "shard    0 of 2, " in text
    assert "ranking  of all 2 shards, " in text
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
    assert "error: /no/such is not there\n  fix: give the checkpoint" in result.stderr


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


def test_a_checkpoint_is_looked_for_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object, **__: object) -> None:
        pytest.fail("there is no need for Spark")

    monkeypatch.setattr(topwater.spark, "session", start)
    for place, told in ((tmp_path / "no", "is not there"), (tmp_path, "has no checkpoint in it")):
        done = CliRunner().invoke(app, ["state", str(place)])
        assert done.exit_code == 1
        assert done.stderr.startswith(f"error: {place} {told}\n  fix: give the checkpoint")
    (tmp_path / "_checkpoint" / "commits").mkdir(parents=True)
    done = CliRunner().invoke(app, ["state", str(tmp_path)])
    assert done.stderr.startswith("error: no micro-batch was finished")


def test_the_checkpoint_of_a_job_is_in_the_folder_of_its_answers(tmp_path: Path) -> None:
    commits = tmp_path / "_checkpoint" / "commits"
    commits.mkdir(parents=True)
    (commits / "0").touch()
    assert located(tmp_path) == located(tmp_path / "_checkpoint") == str(tmp_path / "_checkpoint")
    assert located("s3a://bucket/checkpoint") == "s3a://bucket/checkpoint"


def test_a_query_in_short_lines() -> None:
    asked = TopKQuery(
        key="who", time="at", window=tumbling("1 min"), take={"n": "count"}, score="n + f", k=3,
        refresh="f", group_by="room", lateness="5 s",
    )  # fmt: skip
    assert query_lines(asked) == [
        "the 3 best by n + f, over the last 1 min, every 1 min, with f of each who: 7 look-ups a "
        "window for each room, chosen by worth",
        "key who, time at, groups room",
        "takes n = count",
        "events may come 5 s out of order",
    ]
