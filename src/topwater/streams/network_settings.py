"""The settings of streams that come over the network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, ClassVar

from topwater.errors import QueryError
from topwater.streams.schema import columns
from topwater.streams.stream_settings import RDF, StreamSettings
from topwater.validation import (
    Address,
    address_of,
    checked_call,
    choice_of,
    flag_of,
    path_of,
    secret_of,
    text_of,
    texts_of,
    whole_of,
)

_MOST_TOPIC_BYTES = 65_535


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Received(StreamSettings):
    """A stream of payloads that come over the network.

    Parameters
    ----------
    arrived_column
        The name of a column to add: when the event came in.
    time
        For RDF: ``"payload"`` if the text begins with ``TIME<TAB>``, or, as JSON-LD, has a
        ``"time"``; ``"arrived"`` if it is all RDF, and was when it came in.
    """

    arrived_column: str = ""
    time: str = "payload"

    def check(self) -> None:
        """Columns that are added are not there already."""
        choice_of(self.time, ("payload", "arrived"), "time")
        known = {name.lower() for name in (columns(self.schema) if self.schema else ())}
        added = [name for name in ("topic_column", "arrived_column") if getattr(self, name, "")]
        for name in added:
            column = text_of(getattr(self, name), name)
            if self.rdf:
                raise QueryError(
                    "RDF streams have no other columns", field=name, fix="leave it out"
                )
            if column.lower() in known:
                raise QueryError(
                    f"the schema has a column {column} already", field=name, fix="choose another"
                )
            known.add(column.lower())


@checked_call(of="kafka")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KafkaStream(_Received):
    """Topics of Kafka, read with Spark's own connector.

    Parameters
    ----------
    servers
        Where the brokers are: ``"host:9092,other:9092"``.
    topics
        The topics.
    pattern
        In place of them, what their names are like, as Java writes patterns: ``"bids-.*"``. A topic
        that is made later is read as well.
    start
        Where to begin without a checkpoint: ``"earliest"`` or ``"latest"``.
    max_per_trigger
        How many events make up a micro-batch at most.
    options
        More options of the connector, as ``{"kafka.security.protocol" = "SASL_SSL"}``. A
        ``${NAME}`` is replaced by the environment variable NAME inside Kafka's client only.
    connector
        The version of the connector; by default that of PySpark.
    topic_column
        The name of a column to add: the topic.
    """

    kind: ClassVar[str] = "kafka"
    bounded: ClassVar[bool] = True

    servers: str
    topics: tuple[str, ...] = ()
    pattern: str = ""
    start: str = "latest"
    max_per_trigger: int | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    connector: str = ""
    topic_column: str = ""

    @property
    def packages(self) -> tuple[str, ...]:
        """The connector, which PySpark does not bring along."""
        found = self.connector or version("pyspark")
        return (f"org.apache.spark:spark-sql-kafka-0-10_2.13:{found}",)

    def check(self) -> None:
        """Addresses and topics can be read."""
        _Received.check(self)
        for each in text_of(self.servers, "servers").split(","):
            address_of(f"kafka://{each.strip()}", {"kafka": 0}, "servers")
        self._check_topics()
        choice_of(self.start, ("earliest", "latest"), "start")
        if self.max_per_trigger is not None:
            whole_of(self.max_per_trigger, "max_per_trigger", 1)
        for name, value in self.options.items():
            text_of(value, f"options.{name}")
        if self.connector and not re.fullmatch(r"[0-9A-Za-z.-]+", self.connector):
            raise QueryError(f"{self.connector!r} is not a version", field="connector", fix="4.2.0")

    def _check_topics(self) -> None:
        """They are named, or what their names are like is."""
        fix = 'write topics = ["bids"], or pattern = "bids-.*"'
        if self.pattern:
            text_of(self.pattern, "pattern", fix)
            if self.topics:
                raise QueryError("stands beside topics", field="pattern", fix="keep one of them")
            return
        if self.topics == ():
            raise QueryError("is missing", field="topics", fix=fix)
        for topic in texts_of(self.topics, "topics", fix):
            if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic):
                raise QueryError(
                    f"{topic!r} is not a topic",
                    field="topics",
                    fix="use letters, digits, . _ and -; or give a pattern",
                )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Spooled(_Received):
    """A stream that is kept on disk from when it arrives until Spark is done with it.

    Parameters
    ----------
    spool
        The folder where messages are kept, on the machine of the driver. It is the identity of
        the stream: keep it together with the checkpoint.
    spool_limit
        How many bytes may wait there before no more is taken in.
    max_bytes
        A longer payload is not kept, and counts as a bad one.
    """

    places: ClassVar[tuple[str, ...]] = ("spool",)

    spool: str
    spool_limit: int = 1 << 30
    max_bytes: int = 1 << 20

    def check(self) -> None:
        """Sizes are sizes."""
        _Received.check(self)
        text_of(self.spool, "spool", 'write spool = "state/spool"')
        whole_of(self.max_bytes, "max_bytes", 1, 256 << 20)
        whole_of(self.spool_limit, "spool_limit", 1)


@checked_call(of="mqtt")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MqttStream(_Spooled):
    """Topics of an MQTT broker.

    Parameters
    ----------
    url
        The broker: ``mqtt://HOST:PORT``, or ``mqtts://HOST:PORT`` with TLS.
    topics
        What to subscribe to: ``["bids/+/eu", "sensors/#"]``, or ``$share/GROUP/TOPIC`` if
        several jobs share the work.
    qos
        1: nothing is lost while the connection or this job is down. 0: it may be.
    protocol
        The version of MQTT: ``"5"`` or ``"3.1.1"``.
    user, password
        The password is ``"${NAME}"``, the environment variable NAME.
    ca, certificate, key
        Files for TLS: whom to trust, by default as the system does; and who we are.
    client_id
        By default made once, and kept in the spool.
    session_hours
        How long the broker is to keep messages while nobody is connected.
    keepalive
        Seconds after which a silent connection is tested.
    retained
        Whether to take the messages that the broker has kept for new subscribers.
    topic_column
        The name of a column to add: the topic.
    """

    kind: ClassVar[str] = "mqtt"
    places: ClassVar[tuple[str, ...]] = ("spool", "ca", "certificate", "key")

    url: str
    topics: tuple[str, ...]
    qos: int = 1
    protocol: str = "5"
    user: str | None = None
    password: str | None = None
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    client_id: str = ""
    session_hours: int = 24 * 7
    keepalive: int = 30
    retained: bool = True
    topic_column: str = ""

    @property
    def broker(self) -> Address:
        """Where it listens."""
        return address_of(self.url, {"mqtt": 1883, "mqtts": 8883})

    def check(self) -> None:
        """The address, the topics and the files can be used."""
        _Spooled.check(self)
        if self.broker.scheme != "mqtts" and (self.ca or self.certificate):
            raise QueryError("has no TLS", field="url", fix="write mqtts://HOST:8883")
        topic_filters(self.topics)
        if self.user is not None:
            text_of(self.user, "user")
        whole_of(self.qos, "qos", 0, 1)
        choice_of(self.protocol, ("5", "3.1.1"), "protocol")
        if self.password is not None and secret_of(self.password, "password") and not self.user:
            raise QueryError("is missing", field="user", fix="give the user that has the password")
        for name in ("ca", "certificate", "key"):
            if getattr(self, name) is not None:
                path_of(getattr(self, name), name)
        if self.key and not self.certificate:
            raise QueryError("is missing", field="certificate", fix="give the key's certificate")
        whole_of(self.session_hours, "session_hours", 1, 24 * 365 * 100)
        whole_of(self.keepalive, "keepalive", 1, 65_535)
        flag_of(self.retained, "retained")


@checked_call(of="socket")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SocketStream(_Spooled):
    """Lines of text from a server.

    Parameters
    ----------
    url
        The server: ``tcp://HOST:PORT``.
    """

    kind: ClassVar[str] = "socket"
    formats: ClassVar[tuple[str, ...]] = ("json", "csv", *RDF)

    url: str

    @property
    def server(self) -> Address:
        """Where it listens."""
        return address_of(self.url, {"tcp": 0})

    def check(self) -> None:
        """The address can be read."""
        _Spooled.check(self)
        self.server  # noqa: B018


def topic_filters(value: Any, field: str = "topics") -> tuple[str, ...]:
    """Topics of MQTT, in which ``+`` stands for a level, and ``#`` for all that follow."""
    found = texts_of(value, field, 'write topics = ["bids/#"]')
    for each in found:
        levels = each.split("/")
        group, rest = "".join(levels[1:2]), "/".join(levels[2:])
        if levels[0] == "$share" and (not group or not rest or set(group) & set("+#")):
            raise QueryError(
                f"{each!r} names no group", field=field, fix="write $share/GROUP/TOPIC"
            )
        misplaced = any("#" in level for level in levels[:-1]) or any(
            len(level) > 1 and set(level) & set("+#") for level in levels
        )
        if misplaced or "\0" in each or len(each.encode()) > _MOST_TOPIC_BYTES:
            raise QueryError(
                f"{each!r} is not a topic",
                field=field,
                fix="+ stands for a whole level, and # for the last ones: bids/+/eu/#",
            )
    return found
