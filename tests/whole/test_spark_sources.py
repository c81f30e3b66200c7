"""A query on Spark that looks values up in a real service, from its workers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.scenarios import run_to_the_end, written
from topwater import Answer, SourceError, TopKQuery, remote, run, tumbling
from topwater.spark import answers_from, topk
from topwater_lab.experiments import generated_evening
from topwater_lab.services import started
from topwater_lab.services.followers import Followers

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

START = 1_000_000
USERS = np.arange(1_000, 1_150)
PLACES: dict[str, Any] = {"value": "users[*].followers", "key": "users[*].id"}
REFUSED = "http://127.0.0.1:9/{key}"


def query(fetches: int) -> TopKQuery:
    return TopKQuery(
        key="user",
        time="at",
        window=tumbling("10s", start=START),
        take={"mentions": "count"},
        score="mentions * 1000 + followers",
        k=5,
        refresh={"remote": "followers", "budget": fetches},
    )


def mentions(seed: int = 3) -> list[pa.Table]:
    """Three windows, one after the other, and an event that ends the last."""
    rng = np.random.default_rng(seed)
    at = START + np.sort(rng.integers(1, 30_000, 900))
    users = rng.choice(USERS, 900)
    whole = pa.table({"at": np.append(at, START + 30_001), "user": np.append(users, 1_000)})
    return [whole.slice(start, 301) for start in range(0, 901, 301)]


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    files = written(folder / "in", mentions())
    reader = spark.readStream.schema("at bigint, user bigint").option("maxFilesPerTrigger", 1)
    return reader.parquet(files)


def test_workers_ask_a_real_service(spark: SparkSession, tmp_path: Path) -> None:
    with started(users=200, seed=4, speed=0) as service:
        source = remote.http(service.followers, per_request=40, at_start="stop", **PLACES)
        rows = topk(stream(spark, tmp_path), query(400), source, shards=2, give="both")
        table = run_to_the_end(rows, str(tmp_path / "checkpoint"), str(tmp_path / "sink"))
        asked = [each["keys"] for each in service.log() if each.get("keys")]
    got = answers_from(table, query(400))
    right = exactly(mentions())[:3]  # the last window is still open on Spark
    assert [(each.window, each.rows) for each in got] == [
        (each.window, each.rows) for each in right
    ]
    assert all(answer.exact and answer.problems == () for answer in got)
    assert max(len(keys) for keys in asked) == 40


def exactly(batches: list[pa.Table]) -> list[Answer]:
    """The same with every follower count in memory, and no limit."""
    evening = generated_evening.START  # where a service with speed=0 stands still
    counts = Followers(200, 4).at(USERS, evening)
    known = remote.memory(dict(zip(USERS.tolist(), counts.tolist(), strict=True)))
    return list(run(query(400), batches, source=known))


def test_a_service_that_is_not_there_stops_the_query_if_it_is_to(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events = stream(spark, tmp_path)
    with pytest.raises(SourceError, match=r"^url: .*127.0.0.1:9"):
        topk(events, query(5), remote.http(REFUSED, value="x", at_start="stop"))
    with caplog.at_level(logging.WARNING, "topwater"):
        topk(events, query(5), remote.http(REFUSED, value="x"))
    assert "127.0.0.1:9" in caplog.text


def test_a_service_that_is_not_there_is_told_in_every_answer(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = stream(spark, tmp_path)
    source = remote.http(REFUSED, value="x", at_start="ignore", retries=0, breaker=False)
    rows = topk(events, query(5), source, give="both")
    table = run_to_the_end(rows, str(tmp_path / "checkpoint"), str(tmp_path / "sink"))
    answers = answers_from(table, query(5))
    assert len(answers) == 3
    for answer in answers:
        assert answer.freshness is not None
        assert (answer.freshness.fetched, answer.freshness.failed) == (5, 5)
        assert answer.problems == (("refused", 5),)
        assert not answer.exact
        assert len(answer.rows) == 0 or all(row.age is None for row in answer.rows)
