"""Asked again where it may help, never beyond the deadline."""

from __future__ import annotations

import pickle
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.troubled import Acting, answered, waiting
from topwater.errors import QueryError
from topwater.model import Attempts, Fetched, Problem, Repeated
from topwater.remote.wrappers.count import Counting
from topwater.remote.wrappers.retry import RETRIED, Retrying
from topwater.remote.wrappers.stack import Stack
from topwater.testing import HandClock, Scripted, check_source

KEYS = np.array([1, 2, 3])


def test_it_keeps_the_contract() -> None:
    check_source(lambda: Retrying(Scripted({1: 1.0, 2: 2.0})), np.array([1, 2]), np.array([7]))


@pytest.mark.parametrize("problem", get_args(Problem))
def test_by_class_of_problem(problem: Problem) -> None:
    source = Acting(problem, "ok")
    got = Retrying(source, timer=HandClock()).fetch(KEYS, 10.0)
    again = problem in ("limited", "server", "timeout", "refused", "dropped")
    assert got.ok.all() == again
    assert len(source.calls) == 1 + again


def test_only_the_keys_that_failed_are_asked_again() -> None:
    def partly(keys: Any, _: Any) -> Fetched:
        ok = np.array([True, False, False])
        why = np.array(["", "server", "client"], object)
        return Fetched(np.where(ok, keys * 10.0, np.nan), ok, 0.0, why)

    source = Acting(partly, "ok")
    got = Retrying(source, timer=HandClock()).fetch(KEYS)
    assert source.calls == [[1, 2, 3], [2]]
    assert got.values[:2].tolist() == [10, 20]
    assert got.problems() == {"client": 1}


def test_no_attempt_is_made_that_could_not_be_paid_for() -> None:
    source, attempts = Acting("server"), Attempts(look_ups=7)
    asking = Retrying(source, 5, timer=HandClock())
    Stack(asking, Counting(asking), Counting(asking), "ignore", "").allow(attempts)
    assert asking.fetch(KEYS).problems() == {"server": 3}
    assert len(source.calls) == 3
    assert attempts.close() == Repeated(6, 2, 6.0)
    asking.fetch(KEYS)
    assert len(source.calls) == 4
    asking.allow(None)
    asking.fetch(KEYS)
    assert len(source.calls) == 10


def test_pauses_double_with_some_chance_and_never_grow_too_long() -> None:
    hand = HandClock()
    source = Acting("server")
    Retrying(source, 6, pause=1.0, longest=5.0, timer=hand).fetch(KEYS)
    assert len(source.calls) == 7
    for slept, most in zip(hand.slept, [1, 2, 4, 5, 5, 5], strict=True):
        assert most / 2 <= slept <= most


def test_the_same_seed_gives_the_same_pauses() -> None:
    def pauses(seed: int) -> list[float]:
        hand = HandClock()
        Retrying(Acting("server"), 3, seed=seed, timer=hand).fetch(KEYS)
        return hand.slept

    assert pauses(1) == pauses(1) != pauses(2)


def test_a_service_is_not_asked_before_it_said() -> None:
    hand = HandClock()
    source = Acting(waiting("limited", 3.0), "ok")
    assert Retrying(source, timer=hand).fetch(KEYS, 10.0).ok.all()
    assert hand.slept == [3.0]


def test_where_it_asks_for_more_time_than_there_is_nobody_waits() -> None:
    hand = HandClock()
    source = Acting(waiting("limited", 30.0), "ok")
    got = Retrying(source, timer=hand).fetch(KEYS, 10.0)
    assert got.problems() == {"limited": 3}
    assert got.wait == 30.0
    assert not hand.slept
    assert len(source.calls) == 1


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 6),
    st.floats(0.01, 20.0),
    st.lists(st.tuples(st.sampled_from([*RETRIED, "ok"]), st.floats(0, 5)), min_size=1, max_size=8),
)
def test_never_beyond_the_deadline_nor_more_often_than_told(
    retries: int, deadline: float, acts: list[tuple[Any, float]]
) -> None:
    hand = HandClock()

    def act(problem: Any, seconds: float) -> Any:
        def fetch(keys: Any, left: float) -> Fetched:
            assert left > 0
            hand.at += min(seconds, left)
            if problem == "ok" and seconds <= left:
                return answered(keys)
            found: Fetched = waiting(problem if problem != "ok" else "timeout", 0.0)(keys, left)
            return found

        return fetch

    source = Acting(*(act(*each) for each in acts))
    begun = hand.at
    got = Retrying(source, retries, timer=hand).fetch(KEYS, deadline)
    assert hand.at - begun <= deadline * (1 + 1e-9)
    assert 1 <= len(source.calls) <= 1 + retries
    assert got.seconds == pytest.approx(hand.at - begun)
    assert sum(got.problems().values()) == np.count_nonzero(~got.ok)


def test_a_key_that_got_no_second_chance_keeps_its_reason() -> None:
    got = Retrying(Acting("server", "rate"), timer=HandClock()).fetch(KEYS, 10.0)
    assert got.problems() == {"server": 3}


@pytest.mark.parametrize("retries", [-1, 1.5, True])
def test_bad_numbers_are_refused(retries: Any) -> None:
    with pytest.raises(QueryError, match="retries"):
        Retrying(Acting(), retries)


def test_pickles() -> None:
    copied = pickle.loads(pickle.dumps(Retrying(Acting("server", "ok"), 3, pause=0.001)))  # noqa: S301
    assert copied.retries == 3
    assert copied.fetch(KEYS, 5.0).ok.all()
