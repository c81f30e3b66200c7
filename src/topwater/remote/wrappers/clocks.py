"""The machine's clock, and how to wait by one."""

from __future__ import annotations

import time
from typing import Protocol

from topwater.protocols import Clock


class Timer(Clock, Protocol):
    """A clock, and how to wait by it. Tests pass in one that they move by hand."""

    def sleep(self, seconds: float) -> None:
        """Wait so long."""


class SystemClock:
    """The machine's own clock, the same for all processes of a host."""

    def now(self) -> float:
        """Seconds since some moment; it never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait so long."""
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
