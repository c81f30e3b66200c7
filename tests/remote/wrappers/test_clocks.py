"""The machine's clock."""

from __future__ import annotations

import pickle

from topwater.remote.wrappers.clocks import SYSTEM_CLOCK, SystemClock, Timer


def test_it_goes_on_by_as_much_as_one_sleeps() -> None:
    timer: Timer = SystemClock()
    begun = timer.now()
    timer.sleep(0.02)
    assert 0.02 <= timer.now() - begun < 5.0


def test_all_tell_the_same_time_also_what_was_sent_elsewhere() -> None:
    copied = pickle.loads(pickle.dumps(SYSTEM_CLOCK))  # noqa: S301
    before, between, after = SYSTEM_CLOCK.now(), copied.now(), SystemClock().now()
    assert before <= between <= after
