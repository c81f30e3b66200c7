"""What commands that run for a while share: a clean end on Ctrl-C, and a word while one waits."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from rich.console import Console


@contextlib.contextmanager
def stop_flag() -> Iterator[threading.Event]:
    """A flag that Ctrl-C sets.

    An exception raised in the middle of a call to Java would break the connection to it, and a
    clean end needs the connection; one raised while Java starts would leave it running.
    """
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def waiting(console: Console, what: str) -> Iterator[None]:
    """A spinner on a terminal, a plain line elsewhere."""
    if console.is_terminal:
        with console.status(f"{what}…"):
            yield
    else:
        console.print(f"{what}…")
        yield
