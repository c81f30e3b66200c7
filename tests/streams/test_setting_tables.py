"""Every setting of a stream, wrong: what is said, before Spark starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.streams import MqttStream, PythonStream, ReplayStream, stream_settings
from topwater.streams.network_settings import topic_filters

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "user string, at timestamp"
FILES = {"kind": "files", "path": ".", "schema": SCHEMA}
MQTT = {
    "kind": "mqtt",
    "url": "mqtt://localhost",
    "topics": ["a/#"],
    "schema": SCHEMA,
    "spool": "spool",
}
KAFKA = {"kind": "kafka", "servers": "localhost:9092", "topics": "bids", "schema": SCHEMA}
SOCKET = {"kind": "socket", "url": "tcp://localhost:9", "schema": SCHEMA, "spool": "spool"}
REPLAY = {"kind": "replay", "path": ".", "schema": SCHEMA, "time": "at"}
PYTHON = {"kind": "python", "source": "json.decoder:JSONDecoder"}


@pytest.mark.parametrize("right", [FILES, MQTT, KAFKA, SOCKET, REPLAY, PYTHON])
def test_right_ones(right: dict[str, Any]) -> None:
    assert stream_settings(right).kind == right["kind"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "kind: is missing"),
        ({"kind": "fax"}, "kind: 'fax' is unknown"),
        ({"kind": ["files"]}, r"kind: \['files'\] is unknown"),
        ({**FILES, "paht": "x"}, "paht: no such setting of files"),
        ({"kind": "files"}, "path: is missing"),
        ({"kind": "files", "path": "."}, "schema: is missing"),
        ({**FILES, "path": "nowhere"}, "path: .*nowhere is not there"),
        ({**FILES, "path": 3}, "path: must be text, not 3"),
        ({**FILES, "format": "xml"}, "format: 'xml' is unknown"),
        ({**FILES, "format": "ntriples"}, "schema: ntriples has the columns time and value"),
        ({**FILES, "schema": "user strin"}, "schema: the column user has the unknown type strin"),
        ({**FILES, "schema": "user"}, "schema: 'user' is not a column"),
        ({**FILES, "schema": "a int, A int"}, "schema: the column A is there twice"),
        ({**FILES, "schema": "a array<int"}, "schema: a bracket or quote is not closed"),
        ({**FILES, "schema": 5}, "schema: must be text"),
        ({**FILES, "max_files_per_trigger": 0}, "max_files_per_trigger: must be a whole number"),
        ({**FILES, "header": "yes"}, "header: must be true or false"),
        ({**MQTT, "url": "localhost:1883"}, "url: .* is of an unknown kind"),
        ({**MQTT, "url": "mqtt://me:pass@localhost"}, "url: has a user in it"),
        ({**MQTT, "url": "mqtt://localhost:99999"}, "url: is not an address"),
        ({**MQTT, "topics": []}, "topics: must be a list"),
        ({**MQTT, "topics": ["a/#/b"]}, "topics: 'a/#/b' is not a topic"),
        ({**MQTT, "topics": ["a+"]}, r"topics: 'a\+' is not a topic"),
        ({**MQTT, "topics": ["$share/a"]}, "topics: .* names no group"),
        ({**MQTT, "qos": 2}, "qos: must be a whole number from 0 to 1, not 2"),
        ({**MQTT, "protocol": "4"}, "protocol: '4' is unknown"),
        ({**MQTT, "password": "hunter2", "user": "me"}, "password: must be the name of an env"),
        ({**MQTT, "password": "${TOPWATER_NO}", "user": "me"}, "password: .*TOPWATER_NO is not"),
        ({**MQTT, "ca": "nowhere.pem"}, "url: has no TLS"),
        ({**MQTT, "url": "mqtts://a", "ca": "nowhere.pem"}, "ca: .*nowhere.pem is not there"),
        ({**MQTT, "topic_column": "user"}, "topic_column: the schema has a column user already"),
        ({**MQTT, "arrived_column": "t", "topic_column": "t"}, "arrived_column: the schema has"),
        ({**MQTT, "format": "csv"}, "format: 'csv' is unknown"),
        ({**KAFKA, "servers": "localhost"}, "servers: .* has no port"),
        ({**KAFKA, "topics": ["a b"]}, "topics: 'a b' is not a topic"),
        ({**KAFKA, "start": "now"}, "start: 'now' is unknown"),
        ({**SOCKET, "url": "tcp://localhost"}, "url: .* has no port"),
        ({**REPLAY, "speed": -1}, "speed: must be a number of at least 0, not -1"),
        ({**REPLAY, "speed": "fast"}, "speed: must be a number of at least 0, not 'fast'"),
        ({**REPLAY, "speed": float("nan")}, "speed: must be a number of at least 0, not nan"),
        ({**REPLAY, "speed": True}, "speed: must be a number of at least 0, not True"),
        ({**REPLAY, "time": "when"}, "time: 'when' is not a column"),
        ({**PYTHON, "source": "nowhere.py:A"}, "source: .*nowhere.py is not there"),
        ({**PYTHON, "source": "no_such_module:A"}, "source: there is no module no_such_module"),
        ({**PYTHON, "source": "json"}, "source: 'json' names no class"),
    ],
)
def test_wrong_ones(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(QueryError, match=rf"^stream\.{said}") as error:
        stream_settings(settings)
    assert error.value.fix
    assert "hunter2" not in str(error.value)
    assert "me:pass" not in str(error.value)


def test_what_is_no_table() -> None:
    with pytest.raises(QueryError, match=r"^streams\.:S: must be a table"):
        stream_settings(["files"], where="streams.:S")  # type: ignore[arg-type]


def test_paths_start_where_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "mine.py").touch()
    replay = stream_settings({**REPLAY, "path": "in"}, tmp_path)
    assert isinstance(replay, ReplayStream)
    assert replay.path == str(tmp_path / "in")
    mqtt = stream_settings(MQTT, tmp_path)
    assert isinstance(mqtt, MqttStream)
    assert mqtt.spool == str(tmp_path / "spool")
    python = stream_settings({"kind": "python", "source": "mine.py:Mine"}, tmp_path)
    assert isinstance(python, PythonStream)
    assert python.place == (str(tmp_path / "mine.py"), "Mine")


def test_a_secret_is_only_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_PASSWORD", "hunter2")
    settings = stream_settings({**MQTT, "user": "me", "password": "${BROKER_PASSWORD}"})
    assert "hunter2" not in repr(settings)


def test_only_kafka_needs_a_package() -> None:
    (package,) = stream_settings({**KAFKA, "connector": "4.2.0"}).packages
    assert package == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    assert stream_settings(MQTT).packages == ()


@given(st.lists(st.sampled_from(["a", "+", "#", "", "$share", "a#"]), min_size=1, max_size=5))
def test_topics_are_those_of_the_standard(levels: list[str]) -> None:
    topic = "/".join(levels)
    shared = levels[0] == "$share"
    rest = levels[2:] if shared else levels
    right = "/".join(rest) != "" and "#" not in rest[:-1] and "a#" not in levels
    if shared:
        right = right and levels[1] not in ("+", "#", "")
    try:
        topic_filters([topic])
        accepted = True
    except QueryError:
        accepted = False
    assert accepted == right
