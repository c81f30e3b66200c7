"""Event time moves from event to event, and no single event can make it leap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.monitor.event_time import Clock, Moments


def moments(*times: int, pane: int = 5) -> Moments:
    when = np.array(times, np.int64)
    return Moments.of((when - 1) // pane, when)


def after(*batches: tuple[int, ...], jump: int = 10) -> Clock:
    clock = Clock(jump)
    for batch in batches:
        clock.see(moments(*batch))
    return clock


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
    clock, before = Clock(jump), None
    seen: set[int] = set()
    back = 0
    for batch in batches:
        clock.see(moments(*batch, pane=1))
        seen |= set(batch)
        if clock.newest is not None:
            assert clock.newest in seen
            back += before is not None and clock.newest < before
        before = clock.newest
    assert back <= 1


@given(st.lists(st.integers(0, 300), min_size=1), st.data())
def test_a_batch_in_parts_is_the_same_batch(times: list[int], data: st.DataObject) -> None:
    where = [data.draw(st.integers(0, 2)) for _ in times]
    parts = [moments(*(t for t, w in zip(times, where, strict=True) if w == p)) for p in range(3)]
    whole, union = moments(*times), Moments.union(parts)
    for name in ("panes", "events", "newest"):
        assert getattr(whole, name).tolist() == getattr(union, name).tolist()


def test_a_restart_goes_on() -> None:
    clock, again = after((3,), (900,)), Clock(10)
    again.restore(clock.snapshot())
    again.see(moments(901))
    assert again.newest == 901
