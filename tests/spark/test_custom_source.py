"""Sockets, Kafka without a broker, and a data source of the user's own."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.observed import eventually
from tests.support.ports import free_port
from topwater.errors import EnvironmentProblem, QueryError, SourceError
from topwater.spark import session, stream
from topwater.spark.kafka import options
from topwater.streams import KafkaStream, stream_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

KAFKA = {"kind": "kafka", "servers": "127.0.0.1:9", "topics": ["bids"], "schema": "n bigint"}
SOURCE = """
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

STEP = 3

class Numbers(DataSource):
    @classmethod
    def name(cls):
        return "numbers"

    def schema(self):
        return "value string"

    def simpleStreamReader(self, schema):
        return Reader(int(self.options["upto"]))

class Reader(SimpleDataSourceStreamReader):
    def __init__(self, upto):
        self.upto = upto

    def initialOffset(self):
        return {"n": 0}

    def read(self, start):
        end = min(start["n"] + STEP, self.upto)
        return self.readBetweenOffsets(start, {"n": end}), {"n": end}

    def readBetweenOffsets(self, start, end):
        return iter([('{"n": %d}' % n,) for n in range(start["n"], end["n"])])
"""


class Server:
    """A real server that sends lines to whoever connects, and can be cut off."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client = self.socket.accept()[0]
            except OSError:
                return
            self.clients.append(client)

    def send(self, text: bytes) -> None:
        self.clients[-1].sendall(text)

    def cut_off(self) -> None:
        self.clients[-1].close()

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for client in self.clients:
            client.close()


class Found:
    """The rows of each micro-batch. One that runs again takes the place of itself."""

    def __init__(self) -> None:
        self.batches: dict[int, list[Any]] = {}

    def __call__(self, batch: DataFrame, number: int) -> None:
        self.batches[number] = [value for (value,) in batch.collect()]

    @property
    def values(self) -> list[Any]:
        return [value for number in sorted(self.batches) for value in self.batches[number]]


def started(rows: DataFrame, checkpoint: str, found: Found) -> StreamingQuery:
    return rows.writeStream.option("checkpointLocation", checkpoint).foreachBatch(found).start()


def until(holds: Callable[[], bool], running: StreamingQuery) -> None:
    """Wait for what a query does, unless it fails."""
    eventually(lambda: holds() or not running.isActive, seconds=300)
    if (error := running.exception()) is not None:
        raise error


def test_lines_of_a_server(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    server = Server()
    told = {"kind": "socket", "url": f"tcp://127.0.0.1:{server.port}", "schema": "n bigint"}
    told |= {"spool": str(tmp_path / "spool"), "max_bytes": 1_000}  # type: ignore[dict-item]
    found = Found()
    running = started(stream(spark, told), checkpoint, found)
    try:
        until(lambda: len(server.clients) == 2, running)  # one that checks, and one that stays
        server.send(b'{"n": 1}\n{"n": 2}\r\n\nnonsense\n\xff\n{"n":')
        server.send(b" 3}\n" + b"x" * 200_000 + b"\n" + b'{"n": 4}')
        server.cut_off()  # the last line has no end, and is one all the same
        until(lambda: len(server.clients) == 3, running)
        server.send(b'{"n": 5}\n')
        until(lambda: len(found.values) == 8, running)
        running.stop()
        running = started(stream(spark, told), checkpoint, found)
        until(lambda: len(server.clients) == 5, running)
        server.send(b'{"n": 6}\n')
        until(lambda: len(found.values) == 9, running)
    finally:
        running.stop()
        server.close()
    assert found.values == [1, 2, None, None, 3, None, 4, 5, 6]


def test_a_server_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    told = {"kind": "socket", "url": f"tcp://127.0.0.1:{free_port()}", "schema": "n bigint"}
    with pytest.raises(SourceError, match=r"^url: no connection to 127.0.0.1:\d+ \(.*\)\n  fix: "):
        stream(spark, {**told, "spool": str(tmp_path / "spool")})


@pytest.mark.parametrize("more", [{}, {"format": "json", "schema": "n bigint"}])
def test_a_data_source_in_a_file(
    spark: SparkSession, tmp_path: Path, checkpoint: str, more: dict[str, str]
) -> None:
    (tmp_path / "numbers.py").write_text(SOURCE)
    told = {"kind": "python", "source": "numbers.py:Numbers", "options": {"upto": "8"}, **more}
    found = Found()
    running = started(stream(spark, stream_settings(told, tmp_path)), checkpoint, found)
    until(lambda: len(found.values) == 8, running)
    running.stop()
    assert found.values == [n if more else json.dumps({"n": n}) for n in range(8)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class Numbers: pass", "has no data source Numbers"),
        ("class Number: pass", r"has no data source Numbers\n  fix: did you mean Number\?"),
        ("", "has no data source Numbers"),
        ("1 / 0", "can't be loaded: ZeroDivisionError: division by zero"),
        ("def", "can't be loaded: SyntaxError"),
    ],
)
def test_a_file_without_a_data_source(
    spark: SparkSession, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "numbers.py").write_text(text)
    told = stream_settings({"kind": "python", "source": "numbers.py:Numbers"}, tmp_path)
    with pytest.raises(QueryError, match=rf"^source: .*{said}"):
        stream(spark, told)


def test_kafka_is_a_package(spark: SparkSession) -> None:
    settings = stream_settings(KAFKA)
    with pytest.raises(EnvironmentProblem, match="no connector for Kafka") as error:
        stream(spark, settings)
    assert settings.packages[0] in error.value.fix
    with pytest.raises(EnvironmentProblem, match="started without org"):
        session(packages=settings.packages)


def test_what_the_connector_is_told() -> None:
    login = 'module required username="me" password="${KAFKA_PASSWORD}";'
    more = {"max_per_trigger": 5, "options": {"kafka.sasl.jaas.config": login}}
    settings = stream_settings({**KAFKA, **more})
    assert isinstance(settings, KafkaStream)
    assert options(settings, once=False) == {
        "kafka.bootstrap.servers": "127.0.0.1:9",
        "subscribe": "bids",
        "startingOffsets": "latest",
        "maxOffsetsPerTrigger": "5",
        "kafka.sasl.jaas.config": login.replace("${", "${env:"),
        "kafka.config.providers": "env",
        "kafka.config.providers.env.class": (
            "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
        ),
    }
    assert options(settings, once=True)["startingOffsets"] == "earliest"
