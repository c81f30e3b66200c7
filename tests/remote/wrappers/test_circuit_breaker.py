"""A service that fails again and again is left alone, and found again when it recovers."""

from __future__ import annotations

import pickle
import threading
from typing import Any, get_args

import numpy as np
import pytest

from tests.support.troubled import Acting, answered
from topwater import remote
from topwater.errors import QueryError
from topwater.model import Fetched, Problem
from topwater.remote.wrappers.circuit_breaker import Breaker, Breaking
from topwater.testing import HandClock, Scripted, check_source

KEYS = np.array([1, 2])
QUICK = Breaker(failures=3, rest=1.0, longest=3.0)


def test_it_keeps_the_contract() -> None:
    check_source(lambda: Breaking(Scripted({1: 1.0, 2: 2.0})), np.array([1, 2]), np.array([7]))


@pytest.mark.parametrize("problem", get_args(Problem))
def test_which_problems_open_it(problem: Problem) -> None:
    source = Acting(problem)
    breaking = Breaking(source, QUICK, HandClock())
    for _ in range(5):
        breaking.fetch(KEYS, 1.0)
    opens = problem not in ("rate", "open", "client", "doubled")
    assert breaking.open == opens
    assert len(source.calls) == (3 if opens else 5)


def test_it_rests_longer_each_time_and_recovers_at_once() -> None:
    hand = HandClock()
    source = Acting(*["server"] * 6, "ok", "server", "ok")
    breaking = Breaking(source, QUICK, hand)
    for _ in range(3):
        breaking.fetch(KEYS)
    for rest in (1.0, 2.0, 3.0):
        hand.at += rest - 0.01
        assert breaking.fetch(KEYS).problems() == {"open": 2}
        hand.at += 0.02
        assert breaking.fetch(KEYS).problems() == {"server": 2}
    hand.at += 3.01
    assert breaking.fetch(KEYS).ok.all()
    assert breaking.fetch(KEYS).problems() == {"server": 2}
    assert breaking.fetch(KEYS).ok.all()


def test_one_answer_between_failures_keeps_it_closed() -> None:
    source = Acting("server", "server", "ok", "server", "server", "ok")
    breaking = Breaking(source, QUICK, HandClock())
    for _ in range(6):
        breaking.fetch(KEYS)
    assert len(source.calls) == 6


def test_requests_without_time_prove_nothing() -> None:
    hand = HandClock()

    def slow(keys: Any, deadline: float) -> Fetched:
        hand.at += min(1.0, deadline)
        return answered(keys) if deadline >= 1.0 else Acting("late").fetch(keys)

    breaking = Breaking(Acting(slow), QUICK, hand)
    for _ in range(20):
        breaking.fetch(KEYS, 5.0)
    for _ in range(20):
        assert breaking.fetch(KEYS, 0.1).problems() == {"late": 2}
    assert not breaking.open


def test_a_service_that_hangs_is_found_out() -> None:
    breaking = Breaking(Acting("late"), QUICK, HandClock())
    for _ in range(3):
        breaking.fetch(KEYS, 1.0)
    assert breaking.open


def test_errors_count_and_go_on() -> None:
    def act(*_: Any) -> Fetched:
        raise OSError("gone")

    breaking = Breaking(Acting(act), QUICK, HandClock())
    for _ in range(3):
        with pytest.raises(OSError, match="gone"):
            breaking.fetch(KEYS)
    assert breaking.fetch(KEYS).problems() == {"open": 2}


def test_many_that_fail_together_open_it_once() -> None:
    hand, gate = HandClock(), threading.Event()

    def act(keys: Any, _: Any) -> Fetched:
        gate.wait(10)
        return Acting("server").fetch(keys)

    breaking = Breaking(Acting(act), QUICK, hand)
    users = [threading.Thread(target=breaking.fetch, args=(KEYS,)) for _ in range(12)]
    for each in users:
        each.start()
    gate.set()
    for each in users:
        each.join(10)
    hand.at += 1.01
    assert not breaking.open


@pytest.mark.parametrize(
    "settings", [{"failures": 0}, {"failures": True}, {"rest": 0.0}, {"rest": 40.0}]
)
def test_bad_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="breaker"):
        Breaker(**settings)


def test_a_copy_begins_closed() -> None:
    breaking = Breaking(Acting("server"), Breaker(failures=1))
    breaking.fetch(KEYS)
    assert breaking.open
    assert not pickle.loads(pickle.dumps(breaking)).open  # noqa: S301


@pytest.mark.parametrize("none", [None, False])
def test_no_breaker_at_all(none: bool | None) -> None:
    assert Breaker.of(none) is None
    made = remote.http("http://h/{key}", value="v", breaker=none)
    inner: Any = made
    while hasattr(inner, "source"):
        assert not isinstance(inner, Breaking)
        inner = inner.source


def test_a_breaker_from_a_table() -> None:
    assert Breaker.of(True) == Breaker()
    assert Breaker.of({"failures": 3}) == Breaker(failures=3)
    with pytest.raises(QueryError, match=r"breaker\.failurs: no such setting"):
        Breaker.of({"failurs": 3})
    with pytest.raises(QueryError, match="breaker: must be a table"):
        remote.http("http://h/{key}", value="v", breaker="no")  # type: ignore[arg-type]
