"""Ctrl-C and SIGTERM as a flag, so that what talks to Java ends between two calls.

Python handles a signal in the main thread, wherever that is. An exception raised in the middle of
a call to Java leaves half a command on the connection: Py4J logs a traceback, gives the connection
up, and may raise an error of its own instead ("Gateway must be connected to send cancel cmd").
So the handler only sets a flag, which code that waits for Java checks between calls.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_OF_JAVA = ("", "py4j.clientserver", "py4j.java_gateway")  # Py4J logs to these
_LOOK = 0.1  # seconds


class Terminated(KeyboardInterrupt):
    """SIGTERM: stopped from outside."""


class StopFlag(threading.Event):
    """Set when the user wants an end."""

    def __init__(self) -> None:
        super().__init__()
        self.signal = 0
        self.hurry: Callable[[], bool] = lambda: False
        """What a second signal does, so that no call lasts any longer; whether it did it."""

    def raise_if_set(self) -> None:
        """Raise what the signal means."""
        if self.is_set():
            raise Terminated if self.signal == signal.SIGTERM else KeyboardInterrupt

    def result(self, future: Future[T]) -> T:
        """What a future brings, unless the user wants an end first."""
        while not wait([future], timeout=_LOOK).done:
            self.raise_if_set()
        return future.result()


@contextlib.contextmanager
def stop_flag(*, raises: bool = False) -> Iterator[StopFlag]:
    """A flag that Ctrl-C sets, and SIGTERM.

    Whatever fails once it is set is the end that was wanted: the block then ends with
    ``KeyboardInterrupt`` or :class:`Terminated`, and Py4J logs nothing. Who stops all processes at
    once, as systemd and ``timeout`` do, stops Java too, and calls to it fail.

    Parameters
    ----------
    raises
        Also raise the exception where the signal comes: for what does not look at the flag.
        Without it, the first signal only sets the flag, and the next ones do what the flag's
        ``hurry`` does, or raise if that is nothing (any more).
    """
    stop = StopFlag()

    def handle(number: int, _: Any) -> None:
        again = stop.is_set()
        if not again:
            stop.signal = number
            stop.set()
        if raises or (again and not stop.hurry()):
            stop.raise_if_set()

    with _handled(signal.SIGINT, handle), _handled(signal.SIGTERM, handle), calm(stop):
        yield stop


@contextlib.contextmanager
def calm(stop: StopFlag) -> Iterator[None]:
    """What fails once the flag is set is the end that was wanted."""

    def still_wanted(record: logging.LogRecord) -> bool:
        # Py4J also logs to the root, as the rest of the program may.
        return not stop.is_set() or "py4j" not in Path(record.pathname).parts

    loggers = [logging.getLogger(name) for name in _OF_JAVA]
    for each in loggers:
        each.addFilter(still_wanted)
    try:
        yield
    except Exception:
        stop.raise_if_set()
        raise
    finally:
        for each in loggers:
            each.removeFilter(still_wanted)


@contextlib.contextmanager
def _handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
