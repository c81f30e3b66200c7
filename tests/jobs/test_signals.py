"""Signals while Java is talked to."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

import pytest
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.protocol import Py4JError

from topwater.jobs.signals import StopFlag, Terminated, stop_flag
from topwater.spark.session import _own_interrupt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

SIGNALS = [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]


class Java(threading.Thread):
    """Answers each command with "yes" to Py4J, but sends us a signal first."""

    def __init__(self, number: int) -> None:
        super().__init__(daemon=True)
        self._number = number
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]

    def run(self) -> None:
        while True:
            accepted, _ = self._server.accept()
            threading.Thread(target=self._serve, args=(accepted,), daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        with accepted, accepted.makefile("rb") as lines:
            for line in lines:
                if line == b"e\n":  # the end of a command
                    os.kill(os.getpid(), self._number)
                    time.sleep(0.05)  # so that it is handled while we wait for the answer
                    accepted.sendall(b"!ybtrue\n")


@pytest.fixture
def java(request: pytest.FixtureRequest) -> Iterator[ClientServer]:
    served = Java(request.param)
    served.start()
    gateway = ClientServer(
        java_parameters=JavaParameters(port=served.port, auto_field=False),
        python_parameters=PythonParameters(port=0, eager_load=False),
    )
    yield gateway
    gateway.shutdown()


def call(java: ClientServer) -> str:
    return str(java._gateway_client.send_command("c\no0\nisActive\ne\n"))


@pytest.mark.parametrize(("java", "raised"), SIGNALS, indirect=["java"])
def test_a_call_that_is_under_way_comes_to_its_end(
    java: ClientServer, raised: type[BaseException]
) -> None:
    with stop_flag() as stop:
        stop.hurry = lambda: True  # each of the calls brings one more signal
        assert [call(java) for _ in range(3)] == ["ybtrue"] * 3
        with pytest.raises(raised):
            stop.raise_if_set()


@pytest.mark.parametrize(("java", "raised"), SIGNALS, indirect=["java"])
def test_a_call_that_is_broken_off_is_a_calm_end(
    java: ClientServer, raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(raised) as error, stop_flag(raises=True):
        call(java)
    assert error.type is raised
    assert not caplog.records  # Py4J would log a traceback


@pytest.mark.parametrize(("number", "raised"), SIGNALS)
def test_what_fails_after_a_signal_is_the_end(
    number: int, raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def fail_as_py4j_does() -> None:
        signal.raise_signal(number)
        place = "/site-packages/py4j/java_gateway.py"
        told = "KeyboardInterrupt while sending command."
        logging.getLogger().handle(
            logging.LogRecord("root", logging.ERROR, place, 1, told, (), None)
        )
        logging.error("what the program says itself")
        raise Py4JError("Gateway must be connected to send cancel cmd.")

    with pytest.raises(raised) as error, stop_flag():
        fail_as_py4j_does()
    assert error.type is raised
    assert caplog.messages == ["what the program says itself"]


def test_what_fails_before_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        logging.error("told")
        raise Py4JError("Java is gone")

    with pytest.raises(Py4JError), stop_flag():
        fail()
    assert [each.message for each in caplog.records] == ["told"]


def test_a_second_signal_hurries_and_a_third_raises() -> None:
    hurried: list[bool] = []

    def hurry() -> bool:
        hurried.append(True)
        return len(hurried) == 1

    with stop_flag() as stop:
        stop.hurry = hurry
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)
        assert hurried == [True]
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)


def test_a_result_is_awaited_until_somebody_wants_an_end() -> None:
    stop = StopFlag()
    done: Future[int] = Future()
    threading.Timer(0.2, done.set_result, [7]).start()
    assert stop.result(done) == 7
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(KeyboardInterrupt):
        stop.result(Future())


def test_a_session_leaves_a_programs_own_handler_in_place() -> None:
    def as_spark_does(*_: object) -> None:
        pytest.fail("PySpark raises wherever we are")

    with stop_flag() as stop:
        with _own_interrupt():
            signal.signal(signal.SIGINT, as_spark_does)
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with _own_interrupt():
            signal.signal(signal.SIGINT, as_spark_does)
        assert signal.getsignal(signal.SIGINT) is as_spark_does  # who has none gets Spark's
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.spark
def test_hundreds_of_signals_break_no_call_to_java(spark: SparkSession) -> None:
    over = threading.Event()

    def bombard() -> None:
        while not over.wait(0.001):
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=bombard)
    with stop_flag() as stop:
        stop.hurry = lambda: True
        sender.start()
        try:
            assert [spark.range(n).count() for n in range(5)] == [*range(5)]
            assert all(spark.streams.active == [] for _ in range(200))
        finally:
            over.set()
            sender.join()
        assert stop.is_set()


MAIN = """
import atexit, os, signal, sys, types
def send(number, times=1):
    for _ in range(times):
        os.kill(os.getpid(), number)
cli = sys.modules["topwater.cli"] = types.ModuleType("topwater.cli")
cli.app = lambda prog_name: {app}
from topwater.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("app", "code", "words"),
    [
        ("send(signal.SIGINT)", 130, "stopped\n"),
        ("send(signal.SIGTERM)", 143, "stopped\n"),
        ("atexit.register(send, signal.SIGTERM)", 0, ""),
        ("(atexit.register(send, signal.SIGTERM), sys.exit(2))", 2, ""),
        ("atexit.register(send, signal.SIGTERM, 2)", 143, ""),
    ],
)
def test_a_process_that_begins_or_ends_is_calm(app: str, code: int, words: str) -> None:
    command = [sys.executable, "-c", MAIN.format(app=app)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert (ended.returncode, ended.stderr) == (code, words)
