"""Other shards at a restart: the answers, and what a change that is stopped leaves behind."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.observed import SHARDS, query, read, source
from tests.support.rescaled import Shards, compared, run
from tests.support.scenarios import QUERIES, Scenario, read_stream, scenario, written
from topwater import Budget, QueryError, StateError, TopKQuery
from topwater.spark import (
    answers_from,
    folders,
    read_state,
    rescale,
    rescaled_checkpoint,
    start,
    topk,
)
from topwater.spark.checkpoint_journals import Stored, StoredQuery
from topwater.validation.checkpoints import last_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.observed import Ran
    from topwater import Answer

NOW = {"availableNow": True}


def answered(
    spark: SparkSession,
    each: Scenario,
    plan: Sequence[int],
    folder: Path,
    *,
    killed: bool,
    later: TopKQuery | None = None,
) -> list[Answer]:
    """By a query that is stopped after every file, and goes on with so many shards.

    With other settings ``later``, after the second file.
    """
    for number, (file, shards) in enumerate(zip(each.files, plan, strict=True)):
        events = read_stream(spark, written(folder / "in", [file], number), each.keys)
        query = each.query if later is None or number < 2 else later
        rows = topk(events, query, each.source, shards=shards)
        sink, checkpoint = folder / "sink", folder / "state"
        start(rows, path=sink, checkpoint=checkpoint, trigger=NOW).awaitTermination()
        if killed and number % 2:
            forget_last_commit(checkpoint)
    return answers_from(spark.read.parquet(str(sink)).toArrow(), each.query)


def forget_last_commit(checkpoint: Path) -> None:
    """As if the query had been killed when all was written but that the micro-batch is done."""
    commits = checkpoint / "commits"
    number = last_number(each.name for each in commits.iterdir())
    (commits / str(number)).unlink()
    (commits / f".{number}.crc").unlink(missing_ok=True)


def check_the_same(
    spark: SparkSession, name: str, plan: Sequence[int], folder: Path, keys: str, *, killed: bool
) -> None:
    each = scenario(name, 5, files=len(plan), keys=keys, unit=0.1)
    got = answered(spark, each, plan, folder, killed=killed)
    expected, _ = run(each, [*plan])
    assert len(expected) >= 8
    assert in_order(got) == in_order(expected)


def in_order(answers: list[Answer]) -> list[Answer]:
    return sorted(compared(answers), key=lambda answer: (answer.window.end, answer.group or ""))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "plan", "keys"),
    [
        ("last-and-sum", (4, 4, 3), "string"),
        ("groups-worth", (1, 4), "bigint"),
        ("worth", (1, 4, 1), "bigint"),
    ],
)
def test_a_restart_with_other_shards_goes_on(
    spark: SparkSession, tmp_path: Path, name: str, plan: Sequence[int], keys: str
) -> None:
    check_the_same(spark, name, plan, tmp_path, keys, killed=name == "last-and-sum")


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.parametrize("name", [name for name in QUERIES if not name.endswith("joins")])
@pytest.mark.parametrize("keys", ["bigint", "string"])
def test_any_query_goes_on_with_any_shards(
    spark: SparkSession, tmp_path: Path, name: str, keys: str
) -> None:
    check_the_same(spark, name, (1, 4, 4, 16, 16, 3, 4, 1), tmp_path, keys, killed=True)


def copied(ran: Ran, folder: Path) -> str:
    shutil.copytree(ran.checkpoint, folder / "state")
    return str(folder / "state")


def told(spark: SparkSession, checkpoint: str) -> tuple[int, int, int, int]:
    """How many shards a checkpoint has, and what they remember together."""
    states = read_state(spark, checkpoint)
    kept = [each.holds.rankings[0] for each in states]
    counted = sum(each.holds.counts.events for each in states)
    fetched = sum(each.fetched for each in kept)
    return states[0].shards, sum(each.rows for each in kept), fetched, counted


class Stopped(BaseException):
    """Somebody pulled the plug."""


def stop(*_: object) -> None:
    raise Stopped


def stop_before(ending: str) -> Callable[[SparkSession, str, str], None]:
    """A move that does not happen, if it is to a folder whose name ends so."""
    move = folders.move

    def moved(spark: SparkSession, old: str, new: str) -> None:
        if new.endswith(ending):
            raise Stopped
        move(spark, old, new)

    return moved


@pytest.mark.spark
@pytest.mark.parametrize("where", ["written", "kept", "renamed"])
def test_a_change_that_is_stopped_leaves_a_checkpoint(
    spark: SparkSession, ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Before the state is written; after both were exchanged; and between two renames."""
    checkpoint = copied(ran, tmp_path)
    before = told(spark, checkpoint)
    assert before == (SHARDS, 2, 2, 1)
    with monkeypatch.context() as patch:
        if where == "written":
            patch.setattr(rescaled_checkpoint, "write_state", stop)
        if where == "kept":
            patch.setattr(folders, "move", stop_before(f".with-{SHARDS}-shards"))
        if where == "renamed":
            patch.setattr(folders, "exchange", lambda *_: False)
            patch.setattr(folders, "move", stop_before("/state"))
        with pytest.raises(Stopped):
            rescale(spark, checkpoint, 3)
    if where != "renamed":
        shards, *rest = told(spark, checkpoint)
        # Where there is no exchange in one step, the old one is still in its place.
        assert shards in ([SHARDS] if where == "written" else [3, SHARDS])
        assert rest == [*before[1:]]
        return
    assert not (tmp_path / "state").exists()
    rows = topk(read(spark, ran.events), query(), source(), shards=3)
    start(rows, to="noop", checkpoint=checkpoint, trigger=NOW).awaitTermination()
    assert told(spark, checkpoint) == (3, *before[1:])


@pytest.mark.spark
def test_nothing_is_done_where_nothing_is_to_be_done(
    spark: SparkSession, ran: Ran, tmp_path: Path
) -> None:
    checkpoint = copied(ran, tmp_path)
    assert rescale(spark, checkpoint, SHARDS) is None
    assert [each.name for each in tmp_path.iterdir()] == ["state"]
    with pytest.raises(QueryError, match="257 shards are more"):
        rescale(spark, checkpoint, 257)
    with pytest.raises(StateError, match="there is no checkpoint"):
        rescale(spark, tmp_path / "nowhere", 2)
    commits = tmp_path / "state" / "commits"
    commit = commits / str(last_number(each.name for each in commits.iterdir()))
    (commit.parent / f".{commit.name}.crc").unlink()
    commit.write_text('v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}')
    with pytest.raises(StateError, match="second format of checkpoints"):
        rescale(spark, checkpoint, 3)


def test_one_of_several_rankings_is_named() -> None:
    one, two, nameless = (Stored({}, 1, "", name, (0,)) for name in ("one", "two", ""))

    def place(name: str, *rankings: Stored) -> int:
        return rescaled_checkpoint._place_of(StoredQuery([*rankings], [0], 1), name, "here")

    assert [place("", nameless), place("", one), place("one", one)] == [0, 0, 0]
    assert [place("one", one, two), place("two", one, two), place("one", nameless, one)] == [
        0,
        1,
        1,
    ]
    for name, rankings in (("", (one, two)), ("three", (one, two)), ("two", (one,))):
        with pytest.raises(StateError, match="here has the rankings: one"):
            place(name, *rankings)


@pytest.mark.soak
@pytest.mark.spark
def test_a_killed_command_leaves_a_checkpoint(
    spark: SparkSession, ran: Ran, tmp_path: Path
) -> None:
    checkpoint = copied(ran, tmp_path)
    before = told(spark, checkpoint)
    rng = np.random.default_rng(3)
    numbers = itertools.cycle([3, 1, 16, 4])
    command = [sys.executable, "-m", "topwater", "state", "rescale", checkpoint, "--shards"]
    done = 0
    for shards in itertools.islice(numbers, 24):
        process = subprocess.Popen([*command, str(shards)], start_new_session=True)  # noqa: S603
        try:
            done += process.wait(timeout=float(rng.uniform(3, 25))) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        rescaled_checkpoint.finish(spark, checkpoint)
        assert told(spark, checkpoint)[1:] == before[1:]
    assert 0 < done < 24


@pytest.mark.spark
def test_a_restart_with_other_settings_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """A greater budget, another k, and then other shards too: nothing is forgotten."""
    each = scenario("worth", 5, files=4, unit=0.1)
    assert each.query.single is not None
    refresh = replace(each.query.single, budget=Budget(5), aim="accuracy")
    later = replace(each.query, k=2, refresh=refresh)
    got = answered(spark, each, (1, 1, 1, 4), tmp_path, killed=True, later=later)
    running, expected = Shards(each, 1), []
    for number, batch in enumerate(each.files):
        if number >= 2:
            running = running.rescaled((1, 4)[number - 2], later)
        expected += running.take(batch)
    assert in_order(got) == in_order(expected)
    (first,) = (answer for answer in got if answer.tuned)
    assert first.tuned[:2] == ("k: 3 → 2", "refresh.budget.fetches: 3 → 5")
    assert (tmp_path / "state.as-it-was").is_dir()
