"""Messages of an MQTT broker.

A message is acknowledged when it is safe in the spool, and not before: whatever ends, the
connection, this process or the broker, it is then either in the spool or sent again. That it is
not acknowledged later, when Spark is done with it, keeps it flowing: a broker sends only so many
messages ahead of their acknowledgements, and some allow no more than 20.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from typing import TYPE_CHECKING, Any

from topwater.errors import EnvironmentProblem, SourceError
from topwater.remote.service import filled
from topwater.streams.network_settings import MqttStream
from topwater.streams.spool import Message, Spool, messages
from topwater.streams.spool_feed import Feed

try:
    from paho.mqtt import client as paho
    from paho.mqtt.enums import CallbackAPIVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties
    from paho.mqtt.subscribeoptions import SubscribeOptions
except ImportError:
    raise EnvironmentProblem(
        "MQTT needs the package paho-mqtt", fix='pip install "topwater[mqtt]"'
    ) from None

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

_PATIENCE = 5.0
"""Seconds in which a broker must answer."""
_QUIET = 0.2
"""Seconds without a message after which no more is waiting for us."""
_AT_ONCE = 1_000
"""How many messages a broker may send ahead of their acknowledgements."""
_TOGETHER = 500
"""How many messages are made safe together at most."""


class MqttFeed(Feed):
    """A subscriber whose session outlives its connections.

    Parameters
    ----------
    settings
        The broker and the topics.
    spool
        Where messages go. It also knows the client's name, and what it has subscribed to.
    """

    def __init__(self, settings: MqttStream, spool: Spool) -> None:
        super().__init__(spool, settings.spool_limit, settings.max_bytes)
        self._settings = settings
        self._unacknowledged: list[int] = []
        self.unsafe = 0
        self._seen = {
            message.mid: _digest(message)
            for number in range(spool.first, spool.sealed)
            for message in messages(spool.part(number))
        }

    def check(self) -> None:
        """Connect and subscribe once: from then on the broker keeps messages for us."""
        broker = self._settings.broker
        try:
            connection = _Connection(self)
            self._take_waiting(connection)
            connection.close()
        except _Silent as error:
            other = "3.1.1" if self._settings.protocol == "5" else "5"
            raise SourceError(
                f"{broker} does not answer in MQTT {self._settings.protocol} ({error})",
                field="protocol",
                fix=f'check that it is an MQTT broker, or write protocol = "{other}"',
            ) from None
        except OSError as error:
            raise SourceError(
                f"no connection to {broker} ({error.strerror or error})",
                field="url",
                fix="check the host and port, and that the broker runs",
            ) from None
        finally:
            self.spool.sync()

    def _take_waiting(self, connection: _Connection) -> None:
        """Take in what waits for us: not all brokers send it a second time.

        That a step brought no message does not mean that none is on its way: it may have sent
        acknowledgements only.
        """
        end = time.monotonic() + _PATIENCE
        quiet = time.monotonic() + _QUIET
        while not self.full and time.monotonic() < min(quiet, end):
            if connection.step(_QUIET / 4):
                quiet = time.monotonic() + _QUIET

    def serve(self) -> None:
        """Take messages in until there is no more room, or we are stopped."""
        connection = _Connection(self)
        try:
            while not self.stopping.is_set() and not self.full:
                connection.step(0.1)
        finally:
            connection.close()

    @property
    def client_id(self) -> str:
        """The name that the broker knows us by."""
        if self._settings.client_id:
            return self._settings.client_id
        if self.spool.recall("client_id") is None:
            self.spool.keep(client_id=f"topwater-{uuid.uuid4().hex[:12]}")
        return str(self.spool.recall("client_id"))

    def took(self, given: MQTTMessage) -> None:
        """A message came."""
        self.unsafe += 1
        now = time.time_ns() // 1_000_000
        message = Message(_topic(given), bytes(given.payload), now, given.mid)
        if given.qos:
            self._unacknowledged.append(given.mid)
            digest = _digest(message)
            # Sent again because our acknowledgement was lost, or this process was ended.
            if given.dup and self._seen.get(given.mid) == digest:
                self.counts["duplicates"] += 1
                return
            self._seen[given.mid] = digest
        if given.retain and not self._settings.retained:
            self.counts["retained"] += 1
            return
        self.keep(message)

    def acknowledge(self, client: Client) -> None:
        """Make all messages safe, and acknowledge them to the broker."""
        self.spool.sync()
        self.unsafe = 0
        for mid in self._unacknowledged:
            client.ack(mid, 1)
        self._unacknowledged.clear()

    def connected(self, *, session: bool) -> None:
        """A connection begins, with the session of the one before, or without."""
        if not session:
            self._seen.clear()  # the broker numbers its messages anew


class _Silent(ConnectionError):
    """Somebody is there, but does not answer."""


class _Connection:
    """One connection, subscribed."""

    def __init__(self, feed: MqttFeed) -> None:
        self._feed = feed
        self._settings = feed._settings
        self._v5 = self._settings.protocol == "5"
        self._answer: Any = None
        self._received = False
        self._client = self._made()
        broker = self._settings.broker
        self._client.connect(broker.host, broker.port, self._settings.keepalive, **self._lasting())
        try:
            session = self._answered("connect")
            self._feed.connected(session=session)
            self._subscribe(session)
        except BaseException:
            self.close()
            raise

    def step(self, patience: float) -> bool:
        """Take in what has come, or wait for it a while; whether something was."""
        self._received = False
        waiting = self._feed.unsafe
        result = self._client.loop(0.0 if waiting else patience)
        if not self._received or waiting >= _TOGETHER:
            # All that came in one go is made safe by one write to the disk.
            self._feed.acknowledge(self._client)
        if result != paho.MQTT_ERR_SUCCESS:
            raise ConnectionError(paho.error_string(result))
        return waiting > 0 or self._received

    def close(self) -> None:
        """Go, without ending the session."""
        self._feed.acknowledge(self._client)
        self._client.disconnect()
        self._client.loop(0.0)

    def _made(self) -> Client:
        settings = self._settings
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._feed.client_id,
            protocol=paho.MQTTv5 if self._v5 else paho.MQTTv311,
            clean_session=None if self._v5 else False,
            manual_ack=True,
        )
        client.connect_timeout = _PATIENCE
        if settings.user is not None:
            password = None if settings.password is None else filled(settings.password)
            client.username_pw_set(settings.user, password)
        if settings.broker.scheme == "mqtts":
            client.tls_set(settings.ca, settings.certificate, settings.key)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        return client

    def _lasting(self) -> dict[str, Any]:
        """What makes a session outlive its connection; in 3.1.1 time does not matter."""
        if not self._v5:
            return {}
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = self._settings.session_hours * 3600
        properties.ReceiveMaximum = _AT_ONCE
        return {"clean_start": False, "properties": properties}

    def _subscribe(self, session: bool) -> None:
        """Say what we want, unless the broker knows: it would send what it retained again."""
        settings = self._settings
        wanted = {"topics": list(settings.topics), "qos": settings.qos}
        before = self._feed.spool.recall("subscribed") or {"topics": []}
        if session and before == wanted:
            return
        if gone := sorted(set(before["topics"]) - set(settings.topics)):
            self._client.unsubscribe(gone)
        self._client.subscribe([(topic, self._how()) for topic in settings.topics])
        self._answered("subscribe")
        self._feed.spool.keep(subscribed=wanted)

    def _how(self) -> Any:
        if not self._v5:
            return self._settings.qos
        handling = 1 if self._settings.retained else 2  # once, or never
        return SubscribeOptions(self._settings.qos, retainHandling=handling)

    def _answered(self, what: str) -> Any:
        """What the broker says to our request."""
        self._answer = None
        end = time.monotonic() + _PATIENCE
        while self._answer is None:
            if time.monotonic() > end:
                raise _Silent(f"silent for {_PATIENCE:.0f} seconds")
            try:
                self.step(0.1)
            except ConnectionError:  # a broker that refuses hangs up
                if self._answer is None:
                    raise _Silent("it hung up") from None
        codes, told = self._answer
        if refused := [str(code) for code in codes if code.is_failure]:
            login = what == "connect"
            raise SourceError(
                f"{self._settings.broker} refuses us ({refused[0]})",
                field="user" if login else "topics",
                fix="check user and password" if login else "ask who may subscribe to them",
            )
        return told

    def _on_connect(self, _: Any, __: Any, flags: Any, code: Any, ___: Any) -> None:
        self._answer = [code], flags.session_present

    def _on_subscribe(self, _: Any, __: Any, ___: Any, codes: Any, ____: Any) -> None:
        self._answer = codes, None

    def _on_message(self, _: Any, __: Any, message: MQTTMessage) -> None:
        self._received = True
        self._feed.took(message)


def _digest(message: Message) -> bytes:
    told = hashlib.blake2b(message.topic.encode(), digest_size=16)
    told.update(b"\0" + (message.payload or b""))
    return told.digest()


def _topic(message: MQTTMessage) -> str:
    try:
        return message.topic
    except UnicodeDecodeError:
        return ""
