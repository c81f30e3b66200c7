"""What an editor knows of a program that uses Topwater: checked by a type checker, never run.

``assert_type`` fails where a public signature says less than it could, or says Any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

import numpy as np
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import topwater
from topwater import (
    Answer,
    Answers,
    Budget,
    Fetched,
    Freshness,
    LookUp,
    RefreshSettings,
    Row,
    Source,
    Standing,
    StandingQuery,
    TopKMonitor,
    TopKQuery,
    WeightedSum,
    Window,
    answers_from,
    describe,
    read_job,
    read_state,
    remote,
    run,
    session,
    sliding,
    start,
    topk,
)
from topwater.jobs import Job
from topwater.model import FloatArray, Key, KeyArray
from topwater.monitor.snapshot import Description
from topwater.views import Chart


def uses(batches: list[dict[str, list[int]]]) -> None:
    """Everything that a first program touches."""
    source = remote.http("https://api.example/{key}", value="followers", rate=10, at_start="stop")
    assert_type(source.asked.keys, int)
    query = TopKQuery(key="user", time="at", window=sliding("1 min", "10 s"), score="n", k=3)
    assert_type(topwater.explain(query), str)
    assert_type(query.k, int)
    assert_type(run(query, batches), Iterator[Answer])
    answers = Answers(run(query, batches))
    assert_type(answers[0], Answer)
    assert_type(answers[1:], Answers)
    assert_type(answers.plot("accuracy"), Chart)
    for answer in answers:
        assert_type(answer.keys, list[Key])
        assert_type(answer.rows, tuple[Row, ...])
        assert_type(answer.freshness, Freshness | None)
        assert_type(answer.looked_up, tuple[LookUp, ...])
        assert_type(answer.plot().save("chart.svg").name, str)
        assert_type(answer.window, Window)
        assert_type(answer.window.end - answer.window.start, int)
        assert_type(answer.rows[0].confidence, float | None)
    monitor = TopKMonitor.build(query)
    assert_type(monitor.close_until(10), list[Answer])
    assert_type(monitor.snapshot(), bytes)
    assert_type(describe(monitor.snapshot()), Description)


def passes_tables(query: TopKQuery, rows: list[dict[str, int]]) -> None:
    """What has columns is a batch, and so are rows."""
    assert_type(run(query, [pl.DataFrame(rows)]), Iterator[Answer])
    assert_type(run(query, [rows, {"user": [1], "at": [1], "n": [1]}]), Iterator[Answer])
    TopKMonitor.build(query).ingest(pl.DataFrame(rows))


class Halves:
    """A source of one's own."""

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """Half of each key, if there is time."""
        known = np.full(len(keys), deadline is None or deadline > 0)
        values: FloatArray = keys.astype(np.float64) / 2
        return Fetched(values, known)


def refreshes() -> Source:
    """A budget, and a source."""
    settings = RefreshSettings("followers", budget=Budget(fetches=3))
    assert_type(settings.budget, Budget)
    return Halves()


def uses_spark(events: DataFrame, query: TopKQuery) -> None:
    """The same on Spark, from the top of the package."""
    assert_type(session(), SparkSession)
    rows = topk(events, query)
    assert_type(rows, DataFrame)
    assert_type(topwater.topk(events, query, source=refreshes()), DataFrame)
    assert_type(start(rows, path="out", checkpoint="checkpoint"), StreamingQuery)
    assert_type(answers_from(rows.toArrow(), query), list[Answer])
    assert_type(read_state(session(), "checkpoint")[0].shard, int)
    assert_type(read_job("job.toml"), Job)
    standing = Standing(["x", "y"])
    standing.register(StandingQuery("near", k=3, window=100, score=WeightedSum({"x": 1.0})))
