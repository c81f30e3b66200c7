"""Whatever the source does, what comes out is valid and on time."""

from __future__ import annotations

import asyncio
import logging
import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.timing import HANGS, took, within
from tests.support.troubled import Acting, Hanging, answered
from topwater.errors import SourceError
from topwater.model import Fetched
from topwater.remote import Guarded, Recording, guarded, threads
from topwater.remote.threads import MOST_LOST
from topwater.remote.wrappers.stack import stack
from topwater.testing import Scripted, check_source

KEYS = np.array([3, 1, 2])


def valid(got: Fetched, count: int) -> None:
    assert got.values.shape == got.ok.shape == (count,)
    assert got.values.dtype == np.float64
    assert got.ok.dtype == np.bool_
    assert not np.isfinite(got.values[~got.ok]).any()
    assert 0 <= got.seconds < np.inf
    assert sum(got.problems().values()) == np.count_nonzero(~got.ok)


def test_it_keeps_the_contract() -> None:
    check_source(lambda: Guarded(Scripted({1: 1.0, 2: 2.0})), np.array([1, 2]), np.array([7]))


def raising(error: BaseException) -> Any:
    def act(*_: Any) -> Fetched:
        raise error

    return act


@pytest.mark.parametrize(
    "act",
    [
        raising(RuntimeError("down")),
        raising(SystemExit(3)),
        raising(asyncio.CancelledError()),
        raising(GeneratorExit()),
        lambda *_: None,
        lambda *_: "text",
        lambda *_: Fetched(np.zeros(2), np.ones(2, bool)),
        lambda *_: Fetched(np.zeros(4), np.ones(4, bool)),
        lambda *_: Fetched(np.zeros((3, 1)), np.ones((3, 1), bool)),
        lambda *_: Fetched(np.zeros(3), np.ones(3)),  # type: ignore[arg-type]
        lambda *_: Fetched(np.array(["1", "2", "3"]), np.ones(3, bool)),
        lambda *_: Fetched([None, 1, {}], np.ones(3, bool)),  # type: ignore[arg-type]
        lambda *_: Fetched(np.zeros(3) + 1j, np.ones(3, bool)),  # type: ignore[arg-type]
        lambda *_: Fetched(np.zeros(3), np.zeros(3, bool), why=np.array(["late"], object)),
        lambda *_: Fetched(np.zeros(3), np.ones(3, bool), "soon"),  # type: ignore[arg-type]
        lambda *_: Fetched(np.zeros(3), np.ones(3, bool), wait="soon"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("deadline", [None, 5.0])
def test_what_breaks_the_contract_is_broken(act: Any, deadline: float | None) -> None:
    source = Guarded(Acting(act, "ok"))
    got = source.fetch(KEYS, deadline)
    valid(got, 3)
    assert got.problems() == {"broken": 3}
    assert source.fetch(KEYS, deadline).values.tolist() == [30, 10, 20]


def test_what_can_be_mended_is_mended() -> None:
    why = np.array(["late", None, "nonsense"], object)
    odd = Fetched([1, 2, 3], np.array([False, True, False]), -1.0, why, -5.0)  # type: ignore[arg-type]
    got = Guarded(Acting(lambda *_: odd)).fetch(KEYS)
    valid(got, 3)
    assert got.values[1] == 2
    assert got.problems() == {"": 1, "late": 1}
    assert got.wait is None


def test_a_source_that_tells_no_time_is_timed() -> None:
    def slow(keys: Any, _: Any) -> Fetched:
        time.sleep(0.05)
        return answered(keys)

    got, seconds = took(lambda: Guarded(Acting(slow)).fetch(KEYS, HANGS))
    assert 0.04 < got.seconds < seconds
    told = Guarded(Acting(lambda keys, _: answered(keys, 7.0)))
    assert told.fetch(KEYS, 5.0).seconds == 7.0


def test_a_source_that_hangs_costs_its_keys_and_no_more() -> None:
    hanging = Hanging()
    source = Guarded(hanging)
    with within(0.1):
        got, seconds = took(lambda: source.fetch(KEYS, 0.1))
    valid(got, 3)
    assert got.problems() == {"late": 3}
    assert seconds > 0.05
    hanging.gate.set()
    assert source.fetch(KEYS, 5.0).ok.all()


def test_calls_that_hang_do_not_pile_up() -> None:
    hanging = Hanging()
    source = Guarded(hanging)
    try:
        while source._crew.stuck < 4:
            assert source.fetch(KEYS, 0.02).problems() == {"late": 3}
        with within(0):
            got = source.fetch(KEYS, HANGS)
        assert got.problems() == {"late": 3}
        assert hanging.begun == 4
    finally:
        hanging.gate.set()
    until = time.monotonic() + 10
    while source._crew.stuck and time.monotonic() < until:
        time.sleep(0.01)
    assert source.fetch(KEYS, 5.0).ok.all()


def test_guards_made_anew_for_each_batch_do_not_pile_up_either() -> None:
    hanging = Hanging()
    try:
        for _ in range(MOST_LOST + 10):
            Guarded(hanging).fetch(KEYS, 0.001)
        assert hanging.begun <= MOST_LOST
    finally:
        hanging.gate.set()
    until = time.monotonic() + HANGS
    while threads._lost and time.monotonic() < until:
        time.sleep(0.01)
    assert threads._lost == 0, "they come back, and the next test finds none of them"


def test_a_punctual_source_stays_on_its_thread() -> None:
    used = []

    def act(keys: Any, _: Any) -> Fetched:
        used.append(threading.get_ident())
        return answered(keys)

    source = Guarded(Acting(act))
    for _ in range(20):
        source.fetch(KEYS, 5.0)
    assert len(set(used)) == 1
    assert used[0] != threading.get_ident()


def test_the_source_gets_a_little_less_time_so_that_it_can_still_be_heard() -> None:
    def partly(keys: Any, deadline: float) -> Fetched:
        time.sleep(deadline)
        ok = np.array([True, False, False])
        return Fetched(np.where(ok, 1.0, np.nan), ok)

    got = Guarded(Acting(partly)).fetch(KEYS, 0.5)
    assert got.ok.tolist() == [True, False, False]


@pytest.mark.parametrize("deadline", [0.0, -1.0, float("nan")])
def test_without_time_nothing_is_asked(deadline: float) -> None:
    source = Acting()
    assert Guarded(source).fetch(KEYS, deadline).problems() == {"late": 3}
    assert not source.calls


def test_without_keys_nothing_is_asked() -> None:
    source = Acting()
    assert len(Guarded(source).fetch(KEYS[:0]).ok) == 0
    assert not source.calls


def test_pickles_carry_the_source_and_no_threads() -> None:
    source = Guarded(Acting())
    source.fetch(KEYS, 5.0)
    copied = pickle.loads(pickle.dumps(source))  # noqa: S301
    assert copied.fetch(KEYS, 5.0).values.tolist() == [30, 10, 20]


def test_a_guard_is_not_guarded_again() -> None:
    one = guarded(Acting())
    assert guarded(one) is one
    assert guarded(Acting()) is not one


def test_closing_lets_the_thread_go_and_a_later_fetch_works() -> None:
    closed = []
    inner = Acting()
    inner.close = lambda: closed.append(1)  # type: ignore[attr-defined]
    source = Guarded(inner)
    source.fetch(KEYS, 5.0)
    source.close()
    assert closed == [1]
    assert source.fetch(KEYS, 5.0).ok.all()


def test_threads_go_with_their_crew() -> None:
    before = threading.active_count()
    for _ in range(5):
        Guarded(Acting()).fetch(KEYS, 5.0)
    until = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before


class Unreachable(Acting):
    def check(self) -> None:
        raise SourceError("no connection", field="url", fix="start it")


def test_what_cannot_be_reached_is_said_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Guarded(Unreachable()).start()
        Guarded(Recording(Unreachable(), "unused")).start()
        Guarded(Acting()).start()
    assert [record.getMessage() for record in caplog.records] == [
        "url: no connection\n  fix: start it"
    ] * 2


def test_a_check_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    source = Acting()
    source.check = lambda: gate.wait(30)  # type: ignore[attr-defined]
    source.at_start = "stop"  # type: ignore[attr-defined]
    monkeypatch.setattr("topwater.remote.wrappers.deadline._LONGEST_CHECK", 0.05)
    with pytest.raises(SourceError, match="did not come back"):
        Guarded(source).start()
    gate.set()


def test_a_source_that_cannot_be_told_the_time_loses_no_answer() -> None:
    class Timeless(Acting):
        def seek(self, now: int) -> None:
            raise RuntimeError(f"no {now}")

    source = Guarded(Timeless())
    source.seek(5)
    assert source.fetch(KEYS, 5.0).ok.all()


def test_where_it_broke_is_said_once_and_never_the_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = raising(LookupError("password=hunter2"))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            Guarded(Acting(secret)).fetch(KEYS, 5.0)
    told = [
        record.getMessage() for record in caplog.records if "LookupError" in record.getMessage()
    ]
    assert len(told) == 1
    assert "hunter2" not in caplog.text
    assert "test_deadline.py" in told[0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(), max_size=5),
    st.lists(st.booleans(), max_size=5),
    st.one_of(st.none(), st.lists(st.one_of(st.text(max_size=5), st.integers()), max_size=5)),
    st.floats(),
    st.one_of(st.none(), st.floats()),
)
def test_nothing_that_a_source_returns_gets_through_unchecked(
    values: list[float], ok: list[bool], why: Any, seconds: float, wait: float | None
) -> None:
    told = None if why is None else np.array(why, object)
    odd = Fetched(np.array(values), np.array(ok, bool), seconds, told, wait)
    valid(Guarded(Acting(lambda *_: odd)).fetch(KEYS, None), 3)


def test_ctrl_c_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        Guarded(Acting(raising(KeyboardInterrupt()))).fetch(KEYS)


def test_it_is_told_which_source_broke_and_how(caplog: pytest.LogCaptureFixture) -> None:
    class Misshaping:
        def fetch(self, keys: Any, deadline: float | None = None) -> Any:  # noqa: ARG002
            return dict.fromkeys(keys.tolist(), 1.0)

    stack(Misshaping()).fetch(KEYS)
    assert "the source Misshaping gave dict, not Fetched; its keys fail" in caplog.text
