"""Event time moves from event to event, and no single event can make it leap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.monitor.event_time import EventTime, PaneTimes


def pane_times(*times: int, pane: int = 5) -> PaneTimes:
    when = np.array(times, np.int64)
    return PaneTimes.of((when - 1) // pane, when)


def after(*batches: tuple[int, ...], jump: int = 10) -> EventTime:
    reached = EventTime(jump)
    for batch in batches:
        reached.see(pane_times(*batch))
    return reached


@pytest.mark.parametrize(
    ("batches", "newest"),
    [
        ([(1, 2, 3)], 3),
        ([(3,), (1,)], 3),
        ([(1,), (9, 14, 22, 31)], 31),
        # A wrong date among others, in the first batch and in a later one.
        ([(1, 2, 3, 900)], 3),
        ([(-900, 1, 2, 3)], 3),
        ([(3,), (5, 900)], 5),
        # The same alone in its batch: the next good batch makes it an accident.
        ([(3,), (900,), (6,), (900,), (7,)], 7),
        # Nothing but later events: the stream has jumped.
        ([(3,), (900,), (901,)], 901),
        ([(3,), (900, 905), (890, 920)], 890),
        # A wrong date alone in the first batch, and a stream that begins out of order.
        ([(900,), (5,), (6,)], 6),
        ([(900,), (), (5,), (900,), (6,)], 6),
        ([(30,), (25,), (5,)], 30),
        ([(30,), (5,), (31,), (35,)], 35),
        ([()], None),
    ],
)
def test_time_follows_the_events_but_not_a_lone_one(
    batches: list[tuple[int, ...]], newest: int | None
) -> None:
    assert after(*batches).newest == newest


@given(st.lists(st.lists(st.integers(-50, 200), max_size=6), max_size=6), st.integers(1, 60))
def test_time_goes_back_at_most_once_and_only_stands_where_an_event_was(
    batches: list[list[int]], jump: int
) -> None:
    reached, before = EventTime(jump), None
    seen: set[int] = set()
    back = 0
    for batch in batches:
        reached.see(pane_times(*batch, pane=1))
        seen |= set(batch)
        if reached.newest is not None:
            assert reached.newest in seen
            back += before is not None and reached.newest < before
        before = reached.newest
    assert back <= 1


@given(st.lists(st.integers(0, 300), min_size=1), st.data())
def test_a_batch_in_parts_is_the_same_batch(times: list[int], data: st.DataObject) -> None:
    where = [data.draw(st.integers(0, 2)) for _ in times]
    parts = [
        pane_times(*(t for t, w in zip(times, where, strict=True) if w == p)) for p in range(3)
    ]
    whole, union = pane_times(*times), PaneTimes.union(parts)
    for name in ("panes", "events", "newest"):
        assert getattr(whole, name).tolist() == getattr(union, name).tolist()


def test_a_restart_goes_on() -> None:
    reached, again = after((3,), (900,)), EventTime(10)
    again.restore(reached.snapshot())
    again.see(pane_times(901))
    assert again.newest == 901
