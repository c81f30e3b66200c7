"""A clock that is moved by hand: deadlines and waiting in tests, without waiting."""

from __future__ import annotations

import threading


class HandClock:
    """A :class:`~topwater.protocols.Clock` that stands still until it is moved.

    Whoever sleeps by it moves it as well, so it serves what waits, too. It may be used from
    several threads.

    Parameters
    ----------
    at
        What it shows at first, in seconds.

    Attributes
    ----------
    at
        What it shows now.
    slept
        How long each sleep was, in order.

    Examples
    --------
    >>> clock = HandClock()
    >>> clock.move(1.5)
    >>> clock.sleep(0.5)
    >>> clock.now(), clock.slept
    (2.0, [0.5])
    """

    def __init__(self, at: float = 0.0) -> None:
        self.at = at
        self.slept: list[float] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        """What it shows."""
        return self.at

    def move(self, seconds: float) -> None:
        """Let time pass. A clock never goes back."""
        if seconds < 0:
            raise ValueError(f"a clock never goes back, not even by {-seconds} seconds")
        with self._lock:
            self.at += seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass, and take note of it."""
        self.move(seconds)
        self.slept.append(seconds)
