"""A query over MQTT, with a real broker: nothing is lost, nothing is told twice."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.brokers import MOSQUITTO, Broker, Mosquitto, publish, running
from tests.support.observed import eventually
from tests.support.ports import free_port
from topwater import Answer, Counts, TopKQuery, run, tumbling
from topwater.errors import QueryError, SourceError
from topwater.spark import Rdf, answers_from, start, stream, topk
from topwater.streams import StreamSettings, stream_settings
from topwater.streams.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


START = 1_000_000
WINDOWS = 10
SCHEMA = "user string, at bigint, points double"
QUERY = TopKQuery(
    key="user",
    time="at",
    window=tumbling("10s", start=START),
    take={"points": "sum(points)"},
    score="points",
    k=4,
    lateness="5s",
)


def events(count: int = 2_000) -> list[dict[str, Any]]:
    """Events of ten windows, in order, and one that ends the last."""
    rng = np.random.default_rng(5)
    at = START + np.sort(rng.integers(1, WINDOWS * 10_000, count - 1))
    users = rng.choice([*"abcdefgh"], count - 1)
    points = rng.integers(1, 50, count - 1)
    rows = [
        {"user": str(user), "at": int(when), "points": float(won)}
        for user, when, won in zip(users, at, points, strict=True)
    ]
    return [*rows, {"user": "end", "at": START + WINDOWS * 10_000 + 5_001, "points": 1.0}]


BAD = [b"", b"\xff", b"[1]", b"{", b'{"user": "x", "at": "never", "points": 1}']


def payloads(rows: list[dict[str, Any]]) -> list[tuple[str, bytes]]:
    """Every hundredth is followed by something that can't be read."""
    found = []
    for number, row in enumerate(rows):
        found.append((f"games/{row['user']}/points", json.dumps(row).encode()))
        if number % 100 == 0:
            found.append(("games/x/points", BAD[number // 100 % len(BAD)]))
    return found


def in_process(rows: list[dict[str, Any]]) -> list[Answer]:
    batch = {name: [row[name] for row in rows] for name in ("user", "at", "points")}
    return list(run(QUERY, [batch]))[:WINDOWS]


def settings(broker: Broker, folder: Path, **more: Any) -> StreamSettings:
    told: dict[str, Any] = {"kind": "mqtt", "url": broker.url, "topics": ["games/+/points"]}
    told |= {"schema": SCHEMA, "protocol": "3.1.1", "user": "me", "spool": "spool"}
    return stream_settings({**told, **more}, folder)


class Sink:
    """The answers of each micro-batch. One that runs again takes the place of itself."""

    def __init__(self) -> None:
        self.tables: dict[int, pa.Table] = {}

    def __call__(self, batch: DataFrame, number: int) -> None:
        self.tables[number] = batch.toArrow()

    @property
    def answers(self) -> list[Answer]:
        found = [*self.tables.values()]
        return answers_from(pa.concat_tables(found), QUERY) if found else []


def begun(spark: SparkSession, told: StreamSettings, folder: Path, sink: Sink) -> StreamingQuery:
    answers = topk(stream(spark, told), QUERY, give="both")
    return start(answers, to=sink, checkpoint=folder / "checkpoint")


def compare(found: list[Answer], rows: list[dict[str, Any]]) -> None:
    assert [(each.window, each.rows) for each in found] == [
        (each.window, each.rows) for each in in_process(rows)
    ]
    counts = sum((each.counts for each in found), Counts())
    assert counts.late == 0
    assert counts.bad == len(payloads(rows)) - len(rows)


def until(holds: Callable[[], bool], running: StreamingQuery) -> None:
    """Wait for what a query does, unless it fails; a first micro-batch may take long."""
    eventually(lambda: holds() or not running.isActive, seconds=300)
    if (error := running.exception()) is not None:
        raise error


@pytest.mark.parametrize(
    "made",
    [
        Broker,
        pytest.param(
            Mosquitto,
            marks=pytest.mark.skipif(not MOSQUITTO, reason="mosquitto is not installed"),
        ),
    ],
)
def test_a_query_that_is_stopped_and_goes_on(
    spark: SparkSession, tmp_path: Path, made: type[Broker]
) -> None:
    """2,000 messages: some come while it runs, some while it does not."""
    rows, sink = events(), Sink()
    sent = payloads(rows)
    with running(made(tmp_path / "broker")) as broker:
        told = settings(broker, tmp_path)
        running_query = begun(spark, told, tmp_path, sink)
        publish(broker, sent[:800])
        until(lambda: len(sink.answers) >= 2, running_query)
        committed = tmp_path / "checkpoint" / "commits" / str(max(sink.tables))
        until(committed.exists, running_query)  # the first micro-batch is empty, without state
        running_query.stop()
        if made is Broker:
            # It forgets what it has sent to a client that goes before it acknowledges.
            with Spool(tmp_path / "spool", patience=60):
                time.sleep(1)
        # It also forgets what was not acknowledged within five seconds, so this is not much.
        away = 900 if made is Broker else 1_400
        publish(broker, sent[800:away])
        running_query = begun(spark, told, tmp_path, sink)
        publish(broker, sent[away:])
        until(lambda: len(sink.answers) >= WINDOWS, running_query)
        running_query.stop()
    compare(sink.answers, rows)


@pytest.mark.skipif(not MOSQUITTO, reason="mosquitto is not installed")
@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_a_broker_that_is_restarted(spark: SparkSession, tmp_path: Path, protocol: str) -> None:
    rows, sink = events(), Sink()
    sent = payloads(rows)
    with running(Mosquitto(tmp_path / "broker")) as broker:
        running_query = begun(spark, settings(broker, tmp_path, protocol=protocol), tmp_path, sink)
        sender = threading.Thread(
            target=publish, args=(broker, sent), kwargs={"pause": 0.001, "qos": 2}
        )
        sender.start()
        until(lambda: len(sink.answers) >= 2, running_query)
        broker.stop()
        broker.start()
        sender.join(150)
        until(lambda: len(sink.answers) >= WINDOWS, running_query)
        running_query.stop()
    compare(sink.answers, rows)


def test_more_columns(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    """The topic and the time of arrival, for payloads that have no time of their own."""
    with running(Broker(tmp_path / "broker")) as broker:
        more = {"schema": "points double", "topic_column": "topic", "arrived_column": "arrived"}
        rows = stream(spark, settings(broker, tmp_path, **more))
        assert rows.columns == ["points", "topic", "arrived"]
        found: list[Any] = []
        running_query = (
            rows.selectExpr("points", "topic", "arrived > current_timestamp() - interval 1 hour")
            .writeStream.foreachBatch(lambda batch, _: found.extend(map(tuple, batch.collect())))
            .option("checkpointLocation", checkpoint)
            .start()
        )
        publish(broker, [("games/ann/points", b'{"points": 3}'), ("games/bob/points", b"no")])
        until(lambda: len(found) == 2, running_query)
        running_query.stop()
    assert sorted(found, key=str) == [
        (3.0, "games/ann/points", True),
        (None, "games/bob/points", True),
    ]


def test_rdf_in_payloads(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    triple = '<urn:a> <urn:b> "c" .'
    with running(Broker(tmp_path / "broker")) as broker:
        more = {"schema": "", "format": "ntriples"}
        rows = stream(spark, settings(broker, tmp_path, **more))
        assert Rdf(rows).events.columns == ["time", "value"]
        found: list[Any] = []
        running_query = (
            rows.selectExpr("unix_millis(time)", "value")
            .writeStream.foreachBatch(lambda batch, _: found.extend(map(tuple, batch.collect())))
            .option("checkpointLocation", checkpoint)
            .start()
        )
        texts = [f"1970-01-01T00:00:01Z\t{triple}\n{triple}", f"2000\t{triple}", "nonsense"]
        publish(broker, [("games/a/points", text.encode()) for text in texts])
        until(lambda: len(found) == 3, running_query)
        running_query.stop()
    assert sorted(found, key=str) == sorted(
        [(1_000, f"{triple}\n{triple}"), (2_000, triple), (None, None)], key=str
    )


def test_a_broker_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    nowhere = Broker(tmp_path, free_port())
    with pytest.raises(SourceError, match=r"^url: no connection to 127.0.0.1:\d+ \(.*\)\n  fix: "):
        stream(spark, settings(nowhere, tmp_path))


def test_a_stream_without_an_end(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"^kind: mqtt has no end"):
        stream(spark, settings(Broker(tmp_path, free_port()), tmp_path), once=True)


def test_a_checkpoint_of_another_spool(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink()
    with running(Broker(tmp_path / "broker")) as broker:
        running_query = begun(spark, settings(broker, tmp_path), tmp_path, sink)
        publish(broker, payloads(events(200)))
        until(lambda: len(sink.answers) >= 1, running_query)
        running_query.stop()
        other = begun(spark, settings(broker, tmp_path, spool="other"), tmp_path, sink)
        with pytest.raises(Exception, match="does not belong to the spool"):
            other.awaitTermination()
