"""Requests at the same time, in order, by the deadline."""

from __future__ import annotations

import pickle
import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.timing import HANGS, took, within
from tests.support.troubled import Acting, Hanging, answered
from topwater.errors import QueryError
from topwater.model import Fetched
from topwater.remote.wrappers.batch import Batched
from topwater.remote.wrappers.wrapper import failed
from topwater.testing import Scripted, check_source


def after(seconds: float) -> Any:
    def act(keys: Any, _: Any) -> Fetched:
        time.sleep(seconds)
        return answered(keys)

    return act


def test_it_keeps_the_contract() -> None:
    check_source(
        lambda: Batched(Scripted({1: 1.0, 2: 2.0, 3: 3.0}), 2, 2),
        np.array([1, 2, 3]),
        np.array([7]),
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 30), max_size=30, unique=True),
    st.integers(1, 7),
    st.integers(1, 4),
    st.sets(st.integers(0, 30)),
    st.sampled_from([None, 20.0]),
)
def test_each_key_is_asked_once_and_answered_in_its_place(
    keys: list[int], size: int, at_once: int, bad: set[int], deadline: float | None
) -> None:
    def act(part: Any, _: Any) -> Fetched:
        if bad & set(part.tolist()):
            raise RuntimeError("no")
        return answered(part)

    source = Acting(act)
    got = Batched(source, size, at_once).fetch(np.array(keys, np.int64), deadline)
    assert Counter(key for call in source.calls for key in call) == Counter(keys)
    assert all(1 <= len(call) <= size for call in source.calls)
    parts = [keys[at : at + size] for at in range(0, len(keys), size)]
    right = [None if bad & set(part) else 10 * key for part in parts for key in part]
    assert [value if ok else None for value, ok in zip(got.values, got.ok, strict=True)] == right
    assert got.problems() == ({"broken": right.count(None)} if None in right else {})


def test_requests_run_at_the_same_time_but_no_more_than_allowed() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def act(part: Any, _: Any) -> Fetched:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return answered(part)

    got, seconds = took(lambda: Batched(Acting(act), 1, 3).fetch(np.arange(12), HANGS))
    assert got.ok.all()
    assert most == 3
    # Wall time, not the sum: twelve requests of 20 ms, three at a time.
    assert 0.07 < got.seconds < seconds


def test_what_has_come_by_the_deadline_is_used() -> None:
    gate = threading.Event()

    def act(part: Any, _: Any) -> Fetched:
        if part[0] == 2:
            gate.wait(30)
        return answered(part)

    source = Batched(Acting(act), 2, 2)
    with within(0.3):
        got = source.fetch(np.arange(6), 0.3)
    gate.set()
    assert got.ok.tolist() == [True, True, False, False, True, True]
    assert got.problems() == {"late": 2}


def test_when_all_threads_hang_further_keys_fail_at_once() -> None:
    hanging = Hanging()
    source = Batched(hanging, 1, 2)
    try:
        while source._crew.stuck < 4:
            assert source.fetch(np.arange(5), 0.05).problems() == {"late": 5}
        with within(0):
            got = source.fetch(np.arange(5), HANGS)
        assert got.problems() == {"late": 5}
        assert hanging.begun == 4
    finally:
        hanging.gate.set()
    until = time.monotonic() + 10
    while source._crew.stuck and time.monotonic() < until:
        time.sleep(0.01)
    assert source.fetch(np.arange(5), 10.0).ok.all()
    assert source._crew._yard.threads <= 2


def test_what_was_given_up_is_not_begun_later() -> None:
    source = Acting(after(0.15))
    batched = Batched(source, 1, 1)
    batched.fetch(np.arange(10), 0.1)
    time.sleep(0.3)
    assert len(source.calls) == 1


def test_requests_that_wait_get_what_time_is_left() -> None:
    source = Acting(after(0.05))
    Batched(source, 1, 1).fetch(np.arange(3), 5.0)
    first, second, third = (each or 0.0 for each in source.deadlines)
    assert 5.0 > first > second > third > 0.0


def test_a_source_that_takes_fewer_keys_has_its_way() -> None:
    source = Acting(most=3)
    Batched(source, 100, 1).fetch(np.arange(7))
    assert [len(call) for call in source.calls] == [3, 3, 1]


def test_the_longest_wait_counts() -> None:
    def act(part: Any, _: Any) -> Fetched:
        lost = failed(part, "limited")
        return Fetched(lost.values, lost.ok, 0.0, lost.why, float(part[0]))

    assert Batched(Acting(act), 1, 2).fetch(np.arange(4), 5.0).wait == 3.0


@pytest.mark.parametrize(("size", "at_once"), [(0, 1), (1, 0), (1.5, 1), (1, True)])
def test_bad_sizes_are_refused(size: Any, at_once: Any) -> None:
    with pytest.raises(QueryError):
        Batched(Acting(), size, at_once)


def test_pickles_and_closing() -> None:
    source = Batched(Acting(), 2, 2)
    source.fetch(np.arange(5), 5.0)
    copied = pickle.loads(pickle.dumps(source))  # noqa: S301
    assert (copied.size, copied.at_once) == (2, 2)
    assert copied.fetch(np.arange(5), 5.0).ok.all()
    copied.close()
    assert copied.fetch(np.arange(5), 5.0).ok.all()


def test_many_threads_may_share_it() -> None:
    source = Batched(Acting(), 3, 4)
    got: list[Fetched] = []
    users = [
        threading.Thread(target=lambda: got.append(source.fetch(np.arange(20), 20.0)))
        for _ in range(6)
    ]
    for each in users:
        each.start()
    for each in users:
        each.join(30)
    assert len(got) == 6
    assert all(each.values.tolist() == (np.arange(20) * 10).tolist() for each in got)
