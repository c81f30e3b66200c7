"""Ctrl-C and SIGTERM as a flag, so that what talks to Java ends between two calls."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM: somebody else stopped it."""


class StopFlag(threading.Event):
    """Is set when the user wants an end."""

    signal = 0

    def raise_if_set(self) -> None:
        """Raise what the signal means."""
        if self.is_set():
            raise Terminated if self.signal == signal.SIGTERM else KeyboardInterrupt


@contextlib.contextmanager
def stop_flag() -> Iterator[StopFlag]:
    """A flag that Ctrl-C sets, and SIGTERM.

    An exception raised in the middle of a call to Java would break the connection to it, and a
    clean end needs the connection; one raised while Java starts would leave it running. Who
    presses Ctrl-C a second time does not want to wait for that.
    """
    stop = StopFlag()

    def wanted(number: int, _: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.signal = number
        stop.set()

    with _handled(signal.SIGINT, wanted), _handled(signal.SIGTERM, wanted):
        yield stop


def terminable() -> contextlib.AbstractContextManager[None]:
    """SIGTERM ends a command as Ctrl-C does: what it began is put away."""

    def terminate(*_: Any) -> None:
        raise Terminated

    return _handled(signal.SIGTERM, terminate)


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
