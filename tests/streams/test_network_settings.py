"""Streams over the network: addresses, topics, secrets, and columns that are added."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.streams.network_settings import KafkaStream, MqttStream, SocketStream

SCHEMA = "user string, at timestamp"


def kafka(**more: Any) -> KafkaStream:
    return KafkaStream(**{"servers": "a:1", "topics": ("t",), "schema": SCHEMA, **more})


def mqtt(**more: Any) -> MqttStream:
    plain = {"url": "mqtt://a", "topics": ("t/#",), "schema": SCHEMA, "spool": "spool"}
    return MqttStream(**{**plain, **more})


def lines(**more: Any) -> SocketStream:
    return SocketStream(**{"url": "tcp://a:1", "schema": SCHEMA, "spool": "spool", **more})


def test_where_a_broker_listens() -> None:
    for url, found in (
        ("mqtt://a", ("a", 1883)),
        ("mqtts://a", ("a", 8883)),
        ("mqtt://a:7", ("a", 7)),
    ):
        broker = mqtt(url=url).broker
        assert (broker.host, broker.port) == found
    server = lines().server
    assert (server.host, server.port) == ("a", 1)


def test_the_connector_is_that_of_pyspark_unless_another_is_named() -> None:
    start = "org.apache.spark:spark-sql-kafka-0-10_2.13:"
    assert kafka().packages == (f"{start}{version('pyspark')}",)
    assert kafka(connector="4.2.0").packages == (f"{start}4.2.0",)
    assert mqtt().packages == lines().packages == ()


def test_options_are_not_shown() -> None:
    assert "hush" not in repr(kafka(options={"kafka.sasl.jaas.config": "hush"}))


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"servers": "a"}, "servers"),
        ({"servers": "a:1,b"}, "servers"),
        ({"topics": ()}, "topics"),
        ({"topics": ("a b",)}, "topics"),
        ({"start": "now"}, "start"),
        ({"max_per_trigger": 0}, "max_per_trigger"),
        ({"options": {"a": 1}}, "options.a"),
        ({"connector": "4.2:0"}, "connector"),
        ({"topic_column": "USER"}, "topic_column"),
        ({"arrived_column": "t", "topic_column": "T"}, "arrived_column"),
        ({"schema": "", "format": "ntriples", "topic_column": "t"}, "topic_column"),
        ({"time": "never"}, "time"),
    ],
)
def test_kafka_that_can_not_be_read(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        kafka(**settings)
    assert caught.value.field == field
    assert caught.value.fix


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"url": "a:1883"}, "url"),
        ({"url": "mqtt://me:hunter2@a"}, "url"),
        ({"topics": ("a/#/b",)}, "topics"),
        ({"topics": ("$share/a",)}, "topics"),
        ({"qos": 2}, "qos"),
        ({"protocol": "4"}, "protocol"),
        ({"user": "me", "password": "hunter2"}, "password"),
        ({"password": "${TW_BROKER}"}, "user"),
        ({"ca": "ca.pem"}, "url"),
        ({"url": "mqtts://a", "ca": "absent.pem"}, "ca"),
        ({"url": "mqtts://a", "key": __file__}, "certificate"),
        ({"session_hours": 0}, "session_hours"),
        ({"keepalive": 65_536}, "keepalive"),
        ({"retained": "yes"}, "retained"),
        ({"spool": ""}, "spool"),
        ({"max_bytes": 1 << 29}, "max_bytes"),
        ({"spool_limit": 0}, "spool_limit"),
    ],
)
def test_brokers_that_can_not_be_reached(
    settings: dict[str, Any], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TW_BROKER", "hush")
    with pytest.raises(QueryError) as caught:
        mqtt(**settings)
    assert caught.value.field == field
    assert "hunter2" not in str(caught.value)


def test_a_password_is_only_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TW_BROKER", "hush")
    made = mqtt(user="me", password="${TW_BROKER}", spool=str(tmp_path))  # noqa: S106
    assert made.password == "${TW_BROKER}"  # noqa: S105
    assert "hush" not in repr(made)


def test_lines_are_rows_or_rdf() -> None:
    assert lines(schema="", format="ntriples").rdf
    assert lines(format="csv").format == "csv"
    with pytest.raises(QueryError) as caught:
        lines(url="tcp://a")
    assert caught.value.field == "url"


@pytest.mark.parametrize("name", ["topic_column", "arrived_column", "client_id", "user"])
@pytest.mark.parametrize("empty", [{}, [], 0, False])
def test_what_is_empty_and_not_text_is_refused_too(name: str, empty: Any) -> None:
    given: dict[str, Any] = {"url": "mqtt://h", "topics": ("a",), "spool": "s", "schema": "a int"}
    with pytest.raises(QueryError, match=rf"^{name}: must be text"):
        MqttStream(**{**given, name: empty})
