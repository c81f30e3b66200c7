"""A clock for tests: it moves when it is told to, and for whoever sleeps by it."""

from __future__ import annotations

import threading

import pytest

from topwater.protocols import Clock
from topwater.remote.wrappers.clocks import Timer
from topwater.testing import HandClock


def test_it_stands_still_until_it_is_moved() -> None:
    clock = HandClock(5.0)
    as_clock: Clock = clock
    assert as_clock.now() == as_clock.now() == 5.0
    clock.move(0.25)
    assert as_clock.now() == 5.25


def test_sleeping_moves_it_and_is_noted() -> None:
    clock = HandClock()
    timer: Timer = clock
    timer.sleep(2.0)
    timer.sleep(0.0)
    assert (clock.now(), clock.slept) == (2.0, [2.0, 0.0])


def test_it_never_goes_back() -> None:
    clock = HandClock(1.0)
    for back in (clock.move, clock.sleep):
        with pytest.raises(ValueError, match="never goes back"):
            back(-0.5)
    assert (clock.now(), clock.slept) == (1.0, [])


def test_several_threads_may_move_it() -> None:
    clock = HandClock()

    def push() -> None:
        for _ in range(500):
            clock.move(1.0)

    threads = [threading.Thread(target=push) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clock.now() == 2_000.0
