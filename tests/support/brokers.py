"""Real MQTT brokers, each a process of its own on a free port."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOSQUITTO = os.environ.get("TOPWATER_MOSQUITTO") or shutil.which("mosquitto")


@dataclass
class Broker:
    """A broker that can be ended and started again, on the same port.

    The one in Python is there wherever the tests are. It speaks MQTT 3.1.1, keeps the messages
    of a session while its client is away, and forgets all of them when it ends.
    """

    folder: Path
    port: int = field(default_factory=free_port)
    more: dict[str, str] = field(default_factory=dict)
    """``certificate`` and ``key`` for TLS; ``passwords``: a file with users."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    @property
    def command(self) -> list[str]:
        program = Path(__file__).with_name("amqtt_broker.py")
        return [sys.executable, str(program), str(self.port), json.dumps(self.more)]

    def start(self) -> None:
        log = (self.folder / "broker.log").open("ab")
        self.process = subprocess.Popen(self.command, stdout=log, stderr=log)  # noqa: S603
        log.close()
        wait_for_port(self.port, self.process)

    def stop(self) -> None:
        """As an operator would."""
        if self.process is not None:
            self.process.terminate()
            self._wait()

    def kill(self) -> None:
        """As a power cut would."""
        if self.process is not None:
            self.process.kill()
            self._wait()

    def _wait(self) -> None:
        assert self.process is not None
        self.process.wait(timeout=10)
        self.process = None


@dataclass
class Mosquitto(Broker):
    """The broker that most people run: MQTT 5, and sessions that outlive it."""

    @property
    def command(self) -> list[str]:
        config = self.folder / "mosquitto.conf"
        config.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nuser root\n"
            f"persistence true\npersistence_location {self.folder}/\nautosave_interval 1\n"
            "max_queued_messages 100000\nmax_inflight_messages 500\n"
        )
        return [str(MOSQUITTO), "-c", str(config)]


def wait_for_port(port: int, process: subprocess.Popen[bytes], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, "the broker ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nobody listens on {port}")


@contextlib.contextmanager
def running(broker: Broker) -> Iterator[Broker]:
    broker.folder.mkdir(parents=True, exist_ok=True)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


def publish(
    broker: Broker,
    messages: Iterable[tuple[str, bytes]],
    *,
    qos: int = 1,
    retain: bool = False,
    pause: float = 0.0,
) -> None:
    """Publish, and wait until the broker has all of it.

    With QoS 2 it has each message once, even if it is restarted.
    """
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id="publisher")
    client.username_pw_set("publisher")
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    try:
        sent = []
        for topic, payload in messages:
            sent.append(client.publish(topic, payload, qos=qos, retain=retain))
            time.sleep(pause)
        end = time.monotonic() + 120
        while not all(each._published for each in sent):  # also after a new connection
            assert time.monotonic() < end, "the broker did not take all"
            time.sleep(0.01)
    finally:
        client.disconnect()
        client.loop_stop()
