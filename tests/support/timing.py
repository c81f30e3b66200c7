"""Times that mean something on a machine that does other work too."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Result = TypeVar("Result")

BUSY = 5.0
"""What a busy machine may add to a time, in seconds. What hangs in tests hangs far longer."""

HANGS = 30.0
"""A time for which a test would hang if what it tests waited, in seconds."""


def took(call: Callable[[], Result]) -> tuple[Result, float]:
    """What a call returns, and the seconds that passed."""
    begun = time.monotonic()
    result = call()
    return result, time.monotonic() - begun


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is done here is done in this time, but for what a busy machine adds."""
    begun = time.monotonic()
    yield
    passed = time.monotonic() - begun
    assert passed < seconds + BUSY, f"{passed:.2f} s instead of {seconds} s"


def effort(call: Callable[[], object], enough: float) -> float:
    """The least seconds of work that a call took: tried again if they were not few enough.

    Once may be chance: an import, or the collector of garbage.
    """
    least = float("inf")
    for _ in range(3):
        begun = time.thread_time()
        call()
        least = min(least, time.thread_time() - begun)
        if least < enough:
            break
    return least
