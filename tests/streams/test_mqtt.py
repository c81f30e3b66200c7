"""The MQTT client against real brokers, without Spark."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from paho.mqtt.client import MQTTMessage
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from tests.support.brokers import MOSQUITTO, Broker, Mosquitto, publish, running
from tests.support.ports import free_port
from topwater.errors import QueryError, SourceError, StateError
from topwater.streams import MqttStream, mqtt
from topwater.streams.mqtt import MqttFeed
from topwater.streams.spool import Message, Spool, messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OPENSSL = shutil.which("openssl")
LASTING = [
    pytest.param(
        (Mosquitto, version),
        id=f"mosquitto-{version}",
        marks=pytest.mark.skipif(not MOSQUITTO, reason="mosquitto is not installed"),
    )
    for version in ("5", "3.1.1")
]
"""Brokers that keep a message until it is acknowledged, whatever happens in between."""
KINDS = [pytest.param((Broker, "3.1.1"), id="amqtt"), *LASTING]


@pytest.fixture(params=KINDS)
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Broker, str]]:
    made, protocol = request.param
    with running(made(tmp_path / "broker")) as found:
        yield found, protocol


def settings(broker: Broker, protocol: str, spool: Path, **more: Any) -> MqttStream:
    told: dict[str, Any] = {"url": broker.url, "topics": ("bids/#",), "protocol": protocol}
    told |= {"spool": str(spool), "schema": "a int", "user": "me", **more}
    return MqttStream(**told)


@contextlib.contextmanager
def feeding(told: MqttStream) -> Iterator[MqttFeed]:
    feed = MqttFeed(told, Spool(told.spool))
    feed.check()
    feed.start()
    try:
        yield feed
    finally:
        feed.stop()


def stored(folder: Path) -> list[Message]:
    with Spool(folder) as spool:
        parts = range(spool.first, spool.sealed)
        return [message for number in parts for message in messages(spool.part(number))]


def eventually(right: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not right() and time.monotonic() < end:
        time.sleep(0.02)
    assert right()


def received_until(told: MqttStream, already: int, act: Callable[[], None], more: int) -> None:
    """A client that stays until so many messages are stored."""
    have = len(stored(Path(told.spool)))
    with feeding(told) as feed:
        act()
        eventually(lambda: have + feed.counts["received"] >= already + more)


def numbered(count: int, start: int = 0) -> list[tuple[str, bytes]]:
    return [(f"bids/{n % 3}", str(n).encode()) for n in range(start, start + count)]


def test_what_was_published_is_stored_in_order(broker: tuple[Broker, str], tmp_path: Path) -> None:
    odd = [("bids/x", b""), ("bids/x", b"\xff\xfe"), ("bids/x", b"x" * 5_000), ("other", b"no")]
    with feeding(settings(*broker, tmp_path / "s", max_bytes=1_000)) as feed:
        publish(broker[0], [*numbered(300), *odd])
        eventually(lambda: feed.counts["received"] == 303)
    found = stored(tmp_path / "s")
    assert [(each.topic, each.payload) for each in found[:300]] == numbered(300)
    assert [each.payload for each in found[300:]] == [b"", b"\xff\xfe", None]
    assert feed.counts == {"received": 303, "too_long": 1}


def test_nothing_is_lost_while_the_client_is_away(
    broker: tuple[Broker, str], tmp_path: Path
) -> None:
    told = settings(*broker, tmp_path / "s")
    for start in (0, 100, 200):
        received_until(told, start, partial(publish, broker[0], numbered(50, start)), 50)
        publish(broker[0], numbered(50, start + 50))
    received_until(told, 300, lambda: None, 0)
    assert sorted(int(each.payload or b"") for each in stored(tmp_path / "s")) == [*range(300)]


def test_the_first_connection_takes_in_all_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only what is there before a step that brought nothing."""
    steps = [True, False, False, True, False, True]

    class Connection:
        def __init__(self, _: MqttFeed) -> None:
            pass

        def step(self, _: float) -> bool:
            return steps.pop(0) if steps else False

        def close(self) -> None:
            assert not steps

    monkeypatch.setattr(mqtt, "_Connection", Connection)
    with Spool(tmp_path / "s") as spool:
        MqttFeed(settings(Broker(tmp_path), "5", tmp_path / "s"), spool).check()


def test_a_client_that_leaves_at_once_is_sent_the_rest_later(
    broker: tuple[Broker, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "_QUIET", 0.0)
    told = settings(*broker, tmp_path / "s")
    for start in range(0, 500, 100):
        with Spool(told.spool) as spool:
            MqttFeed(told, spool).check()
        publish(broker[0], numbered(50, start))
        with Spool(told.spool) as spool:
            MqttFeed(told, spool).check()
        publish(broker[0], numbered(50, start + 50))
    received_until(told, 500, lambda: None, 0)
    assert [int(each.payload or b"") for each in stored(tmp_path / "s")] == [*range(500)]


@pytest.mark.parametrize("broker", LASTING, indirect=True)
def test_a_spool_that_is_full_makes_the_broker_wait(
    broker: tuple[Broker, str], tmp_path: Path
) -> None:
    with feeding(settings(*broker, tmp_path / "s", spool_limit=20_000)) as feed:
        publish(broker[0], [("bids/a", b"%06d" % n + b"x" * 94) for n in range(1_000)])
        eventually(lambda: feed.counts["pauses"] > 0)
        found: list[bytes] = []

        def emptied() -> bool:
            assert feed.spool.size < 20_000 + 2_000
            end = feed.spool.seal()
            for number in range(feed.spool.first, end):
                found.extend(m.payload or b"" for m in messages(feed.spool.part(number)))
            feed.spool.remove(end)
            return len(found) >= 1_000

        eventually(emptied)
    assert sorted({int(each[:6]) for each in found}) == [*range(1_000)]
    assert len(found) == 1_000


def test_retained_messages_may_be_left_out(broker: tuple[Broker, str], tmp_path: Path) -> None:
    publish(broker[0], [("bids/old", b"old")], retain=True)
    with feeding(settings(*broker, tmp_path / "s", retained=False)) as feed:
        publish(broker[0], [("bids/new", b"new")])
        eventually(lambda: feed.counts["received"] == 1)
    assert [each.payload for each in stored(tmp_path / "s")] == [b"new"]
    with feeding(settings(*broker, tmp_path / "t")) as feed:
        eventually(lambda: feed.counts["received"] >= 1)
    assert {each.payload for each in stored(tmp_path / "t")} == {b"old"}


def test_a_broker_that_ends_is_found_again(broker: tuple[Broker, str], tmp_path: Path) -> None:
    with feeding(settings(*broker, tmp_path / "s")) as feed:
        publish(broker[0], numbered(50))
        eventually(lambda: feed.counts["received"] == 50)
        broker[0].stop()
        time.sleep(0.3)
        broker[0].start()
        eventually(lambda: feed.counts["reconnects"] > 0)
        end = time.monotonic() + 20
        while feed.counts["received"] < 51 and time.monotonic() < end:
            # A broker without a memory has forgotten what we subscribed to, until we are back.
            publish(broker[0], [("bids/again", b"again")])
            time.sleep(0.2)
    found = [each.payload for each in stored(tmp_path / "s")]
    assert found[:50] == [payload for _, payload in numbered(50)]
    assert b"again" in found


def test_topics_that_change_are_subscribed_anew(broker: tuple[Broker, str], tmp_path: Path) -> None:
    with feeding(settings(*broker, tmp_path / "s")):
        pass
    with feeding(settings(*broker, tmp_path / "s", topics=("asks/#",))) as feed:
        publish(broker[0], [("bids/a", b"bid"), ("asks/a", b"ask")])
        eventually(lambda: feed.counts["received"] == 1)
    assert [each.payload for each in stored(tmp_path / "s")] == [b"ask"]


def test_what_can_not_work_is_said_at_once(tmp_path: Path) -> None:
    nowhere = Broker(tmp_path, free_port())
    told = settings(nowhere, "5", tmp_path / "s")
    with Spool(told.spool) as spool:
        with pytest.raises(SourceError, match=rf"^url: no connection to 127.0.0.1:{nowhere.port}"):
            MqttFeed(told, spool).check()
        with pytest.raises(QueryError, match=r"^spool: .* is in use by another query"):
            Spool(told.spool, patience=0.1)


def test_a_broker_that_wants_a_user(tmp_path: Path) -> None:
    with running(Broker(tmp_path / "broker")) as broker, Spool(tmp_path / "s") as spool:
        told = settings(broker, "3.1.1", tmp_path / "s", user=None)
        with pytest.raises(SourceError, match=r"^user: .* refuses us"):
            MqttFeed(told, spool).check()


def test_a_broker_that_does_not_speak_mqtt_5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "_PATIENCE", 1.0)
    with running(Broker(tmp_path / "broker")) as broker, Spool(tmp_path / "s") as spool:
        with pytest.raises(SourceError) as error:
            MqttFeed(settings(broker, "5", tmp_path / "s"), spool).check()
        assert "3.1.1" in str(error.value)


@pytest.mark.parametrize(
    ("broker", "ended"),
    [pytest.param((Broker, "3.1.1"), "the process", id="amqtt-the process")]
    + [
        pytest.param(*kind.values, ended, id=f"{kind.id}-{ended}", marks=kind.marks)
        for kind in LASTING
        for ended in ("the connection", "the process")
    ],
    indirect=["broker"],
)
def test_what_is_sent_again_is_stored_once(
    broker: tuple[Broker, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    """Acknowledgements that never arrive make a broker send again."""
    told = settings(*broker, tmp_path / "s")
    with feeding(told) as feed:
        monkeypatch.setattr(feed, "acknowledge", lambda _: feed.spool.sync())
        publish(broker[0], numbered(15))
        eventually(lambda: feed.counts["received"] == 15)
        if ended == "the connection":
            broker[0].stop()
            monkeypatch.undo()
            broker[0].start()
            eventually(lambda: feed.counts["duplicates"] == 15)
    if ended == "the process":
        with feeding(told) as again:
            eventually(lambda: again.counts["duplicates"] == 15)
            publish(broker[0], numbered(5, 15))
            eventually(lambda: again.counts["received"] == 5)
    count = 15 if ended == "the connection" else 20
    assert [each.payload for each in stored(tmp_path / "s")] == [b for _, b in numbered(count)]


def test_only_what_was_seen_is_a_duplicate(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        feed = MqttFeed(settings(Broker(tmp_path), "5", tmp_path), spool)
        for mid, dup, payload in [
            (1, False, b"a"),
            (1, True, b"a"),  # sent again
            (1, True, b"b"),  # a number that is used again
            (2, True, b"a"),  # sent before, but never received
            (1, False, b"b"),  # the same text as a new message
        ]:
            message = MQTTMessage(mid, b"bids")
            message.dup, message.qos, message.payload = dup, 1, payload
            feed.took(message)
        spool.seal()
        found = [each.payload for each in messages(spool.part(0))]
    assert found == [b"a", b"b", b"a", b"b"]
    assert feed.counts == {"received": 4, "duplicates": 1}


def test_what_could_not_be_written_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk reports an error once: the next call succeeds, though nothing became safe."""

    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    class Told:
        acknowledged: ClassVar[list[int]] = []

        def ack(self, mid: int, _: int) -> None:
            self.acknowledged.append(mid)

    feed = MqttFeed(settings(Broker(tmp_path), "5", tmp_path / "spool"), Spool(tmp_path / "spool"))
    given = MQTTMessage(mid=7, topic=b"bids/a")
    given.payload, given.qos = b"one", 1
    feed.took(given)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(StateError, match="Input/output error"):
            feed.acknowledge(Told())  # type: ignore[arg-type]
    with pytest.raises(StateError, match="Input/output error"):
        feed.acknowledge(Told())  # type: ignore[arg-type]
    assert Told.acknowledged == []
    feed.stop()


@pytest.mark.parametrize("broker", LASTING, indirect=True)
def test_a_broker_that_restarts_while_messages_come(
    broker: tuple[Broker, str], tmp_path: Path
) -> None:
    with feeding(settings(*broker, tmp_path / "s")) as feed:
        sender = threading.Thread(
            target=publish, args=(broker[0], numbered(1_000)), kwargs={"pause": 0.001}
        )
        sender.start()
        eventually(lambda: feed.counts["received"] > 200)
        broker[0].stop()
        broker[0].start()
        sender.join(30)
        found = [*range(1_000)]
        eventually(lambda: feed.counts["received"] >= len(found))
    assert sorted({int(each.payload or b"") for each in stored(tmp_path / "s")}) == found


def test_a_password_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path / "users"
    users.write_text(f"me:{PasswordHash((Argon2Hasher(),)).hash('hunter2')}\n")
    named = "${BROKER_PASSWORD}"
    monkeypatch.setenv("BROKER_PASSWORD", "hunter2")
    with (
        running(Broker(tmp_path / "broker", more={"passwords": str(users)})) as broker,
        Spool(tmp_path / "s") as spool,
    ):
        told = settings(broker, "3.1.1", tmp_path / "s", password=named)
        MqttFeed(told, spool).check()
        monkeypatch.setenv("BROKER_PASSWORD", "wrong")
        with pytest.raises(SourceError, match=r"^user: .* refuses us") as error:
            MqttFeed(told, spool).check()
        assert "wrong" not in str(error.value)


# The client's library forgets to close a socket whose handshake failed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not OPENSSL, reason="openssl is not installed")
def test_tls(tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = f"{OPENSSL} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    command += " -addext subjectAltName=IP:127.0.0.1"
    made = [*command.split(), "-keyout", key, "-out", certificate]
    subprocess.run(made, check=True, capture_output=True)  # noqa: S603
    more = {"key": key, "certificate": certificate}
    with running(Broker(tmp_path / "broker", more=more)) as broker:
        url = broker.url.replace("mqtt:", "mqtts:")
        told = settings(broker, "3.1.1", tmp_path / "s", url=url, ca=certificate)
        with Spool(told.spool) as spool:
            MqttFeed(told, spool).check()
            unknown = settings(broker, "3.1.1", tmp_path / "s", url=url)
            with pytest.raises(SourceError, match="certificate verify failed"):
                MqttFeed(unknown, spool).check()
