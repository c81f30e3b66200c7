"""What of a window's deadline is left for fetching; the clock is moved by hand.

::

    begin          fetch                     answer out
      ├── before ────┼──── fetching ──┬─ reserve ─┤
      0                                       deadline
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.looping import MINUTE, batch_of, query_of
from topwater.model import Fetched, KeyArray
from topwater.monitor import TopKMonitor
from topwater.replica.time_left import TimeLeft
from topwater.testing import HandClock


def test_without_a_deadline_there_is_no_limit() -> None:
    assert TimeLeft(HandClock()).for_fetching(None) is None


def test_work_before_the_fetch_counts_and_some_time_is_kept_for_ranking() -> None:
    clock = HandClock(1_000.0)
    time = TimeLeft(clock)
    time.begin()
    clock.move(0.5)
    time.start_window()
    assert time.for_fetching(2.0) == pytest.approx(2.0 - 0.5 - 0.05)


def test_of_a_short_deadline_an_eighth_is_kept() -> None:
    time = TimeLeft(HandClock())
    time.start_window()
    assert time.for_fetching(0.08) == pytest.approx(0.07)


def test_what_ranking_took_is_kept_from_then_on_and_fades() -> None:
    clock = HandClock()
    time = TimeLeft(clock)
    time.start_window()
    time.end_fetch()
    clock.move(0.3)
    time.end_window()
    found = []
    for _ in range(2):
        time.start_window()
        found.append(time.for_fetching(2.0))
        time.end_fetch()
        time.end_window()
    assert found == pytest.approx([2.0 - 0.05 - 0.3, 2.0 - 0.05 - 0.95 * 0.3])


def test_never_more_than_half_is_kept() -> None:
    clock = HandClock()
    time = TimeLeft(clock)
    time.start_window()
    time.end_fetch()
    clock.move(10.0)
    time.end_window()
    time.start_window()
    assert time.for_fetching(2.0) == pytest.approx(1.0)


def test_after_a_beginning_the_next_window_begins_where_one_ends() -> None:
    clock = HandClock()
    time = TimeLeft(clock)
    time.begin()
    time.start_window()
    clock.move(1.0)
    time.end_fetch()
    time.end_window()
    clock.move(0.25)
    time.start_window()
    assert time.for_fetching(2.0) == pytest.approx(2.0 - 0.25 - 0.05)


def test_without_a_clock_only_fetching_costs_time() -> None:
    time = TimeLeft()
    for _ in range(3):
        time.start_window()
        assert time.for_fetching(2.0) == pytest.approx(1.95)
        time.end_fetch()
        time.end_window()


class Slow:
    """A source that takes its time, by a clock that it moves; it keeps its deadlines."""

    punctual = True

    def __init__(self, clock: HandClock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds
        self.deadlines: list[float] = []

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        assert deadline is not None
        self.deadlines.append(deadline)
        self.clock.move(min(self.seconds, deadline))
        ok = np.full(len(keys), self.seconds <= deadline)
        return Fetched(np.where(ok, 1.0, np.nan), ok, min(self.seconds, deadline))


@pytest.mark.parametrize("seconds", [0.5, 60.0])
def test_no_window_takes_longer_than_its_deadline(seconds: float) -> None:
    clock = HandClock()
    source = Slow(clock, seconds)
    query = query_of(policy="lru", budget={"deadline": "2 s"})
    monitor = TopKMonitor.build(query, source=source, clock=clock)
    for minute in range(5):
        monitor.ingest(batch_of([(key, minute * MINUTE + 1 + key) for key in range(9)]))
        begun = clock.now()
        answers = monitor.close_until(minute * MINUTE + 1)
        assert clock.now() - begun <= 2.0 * max(1, len(answers))
    assert len(source.deadlines) == 3
    assert all(0 < deadline < 2.0 for deadline in source.deadlines)
