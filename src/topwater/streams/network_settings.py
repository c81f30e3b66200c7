"""The settings of streams that come over the network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import ClassVar

from topwater.errors import QueryError
from topwater.streams import setting_checks
from topwater.streams.stream_settings import RDF, StreamSettings


@dataclass(frozen=True, slots=True, kw_only=True)
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
        setting_checks.one_of(self.time, "time", ("payload", "arrived"))
        known = {
            name.lower() for name in (setting_checks.columns(self.schema) if self.schema else ())
        }
        added = [name for name in ("topic_column", "arrived_column") if getattr(self, name, "")]
        for name in added:
            column = setting_checks.text(getattr(self, name), name)
            if self.rdf:
                raise QueryError("RDF has no more columns", field=name, fix="leave it out")
            if column.lower() in known:
                raise QueryError(
                    f"the schema has a column {column} already", field=name, fix="choose another"
                )
            known.add(column.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaStream(_Received):
    """Topics of Kafka, read with Spark's own connector.

    Parameters
    ----------
    servers
        Where the brokers are: ``"host:9092,other:9092"``.
    topics
        The topics.
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
    topics: tuple[str, ...]
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
        for each in setting_checks.text(self.servers, "servers").split(","):
            setting_checks.address(f"kafka://{each.strip()}", {"kafka": 0}, "servers")
        for topic in setting_checks.texts(self.topics, "topics", 'write topics = ["bids"]'):
            if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic):
                raise QueryError(
                    f"{topic!r} is no topic", field="topics", fix="use letters, digits, . _ and -"
                )
        setting_checks.one_of(self.start, "start", ("earliest", "latest"))
        if self.max_per_trigger is not None:
            setting_checks.whole(self.max_per_trigger, "max_per_trigger", 1)
        for name, value in self.options.items():
            setting_checks.text(value, f"options.{name}")
        if self.connector and not re.fullmatch(r"[0-9A-Za-z.-]+", self.connector):
            raise QueryError(f"{self.connector!r} is no version", field="connector", fix="4.2.0")


@dataclass(frozen=True, slots=True, kw_only=True)
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
        setting_checks.text(self.spool, "spool", 'write spool = "state/spool"')
        setting_checks.whole(self.max_bytes, "max_bytes", 1, 256 << 20)
        setting_checks.whole(self.spool_limit, "spool_limit", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    def broker(self) -> setting_checks.Address:
        """Where it listens."""
        return setting_checks.address(self.url, {"mqtt": 1883, "mqtts": 8883})

    def check(self) -> None:
        """The address, the topics and the files can be used."""
        _Spooled.check(self)
        if self.broker.scheme != "mqtts" and (self.ca or self.certificate):
            raise QueryError("has no TLS", field="url", fix="write mqtts://HOST:8883")
        setting_checks.topic_filters(self.topics)
        setting_checks.whole(self.qos, "qos", 0, 1)
        setting_checks.one_of(self.protocol, "protocol", ("5", "3.1.1"))
        setting_checks.secret(self.password, "password")
        if self.password and not self.user:
            raise QueryError("is missing", field="user", fix="give the user that has the password")
        for name in ("ca", "certificate", "key"):
            if getattr(self, name) is not None:
                setting_checks.there(setting_checks.text(getattr(self, name), name), name)
        if self.key and not self.certificate:
            raise QueryError("is missing", field="certificate", fix="give the key's certificate")
        setting_checks.whole(self.session_hours, "session_hours", 1, 24 * 365 * 100)
        setting_checks.whole(self.keepalive, "keepalive", 1, 65_535)
        setting_checks.flag(self.retained, "retained")


@dataclass(frozen=True, slots=True, kw_only=True)
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
    def server(self) -> setting_checks.Address:
        """Where it listens."""
        return setting_checks.address(self.url, {"tcp": 0})

    def check(self) -> None:
        """The address can be read."""
        _Spooled.check(self)
        self.server  # noqa: B018
