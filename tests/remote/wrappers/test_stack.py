"""All wrappers together, and the calls that build them."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.timing import HANGS, took, within
from tests.support.troubled import Acting, Hanging, answered, waiting
from topwater import remote
from topwater.errors import SourceError
from topwater.model import Fetched
from topwater.remote import Breaker, Guarded, Limit, stack
from topwater.remote.wrappers.batch import Batched
from topwater.remote.wrappers.count import Counting
from topwater.remote.wrappers.retry import Retrying
from topwater.remote.wrappers.wrapper import failed
from topwater.testing import Scripted, check_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_it_keeps_the_contract() -> None:
    check_source(
        lambda: stack(Scripted({1: 1.0, 2: 2.0, 3: 3.0}), per_request=2),
        np.array([1, 2, 3]),
        np.array([7]),
    )


ROWS = {key: {"price": float(key), "stock": key % 3, "title": f"no {key}"} for key in range(1, 40)}


def test_it_keeps_the_contract_with_several_values() -> None:
    check_source(
        lambda: stack(remote.memory(ROWS), per_request=2), np.arange(1, 40), np.array([70, 71])
    )


class Troubled(Scripted):
    """Several values; every other call fails, as a whole or in part, and may pass the next time."""

    def __init__(self, lost: Sequence[int]) -> None:
        super().__init__(ROWS)
        self.lost = list(lost)

    def fetch(self, keys: Any, deadline: float | None = None) -> Fetched:
        got = super().fetch(keys, deadline)
        turn = self.lost.pop(0) if self.lost else 3
        if turn == 0:
            return failed(keys, "server")
        if turn == 1:
            raise RuntimeError("boom")
        part = np.arange(0, len(keys), 2) if turn == 2 else np.empty(0, np.int64)
        return got.put(part, failed(keys[part], "dropped"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 60), unique=True, min_size=1, max_size=30),
    st.lists(st.integers(0, 3), max_size=8),
    st.integers(1, 9),
)
def test_several_values_stay_with_their_keys_whatever_fails(
    keys: list[int], lost: list[int], per_request: int
) -> None:
    source = Batched(Retrying(Counting(Troubled(lost)), 2, pause=0.0), per_request, 1)
    got = Guarded(source).fetch(np.array(keys))
    for row, key in enumerate(keys):
        wanted = ROWS.get(key, {}) if got.ok[row] else {}
        assert got.texts("title")[row] == wanted.get("title")
        for name in ("price", "stock"):
            value = got.numbers(name)[row]
            assert value == wanted[name] if wanted else np.isnan(value)
    np.testing.assert_array_equal(got.values, got.numbers("price"))
    if 1 not in lost:  # what raised is "broken", which is not asked for again
        assert got.ok.all() or lost.count(0) + lost.count(2) > 2


def test_names_are_told_through_all_wrappers(tmp_path: Path) -> None:
    source = stack(remote.memory(ROWS), record=tmp_path / "log", rate=1_000)
    assert source.names == ("price", "stock", "title")
    assert source.text_names == ("title",)
    assert str(source.check(7)) == "the key 7 has price 7, stock 1, title 'no 7'"
    assert stack(Scripted({7: 1.0})).names == ()


def hang(keys: Any, _: Any) -> Fetched:
    time.sleep(0.4)
    return answered(keys)


def garble(*_: Any) -> Fetched:
    return Fetched(np.zeros(99), np.ones(99, bool))


def crash(*_: Any) -> Fetched:
    raise RuntimeError("boom")


ACTS = ["ok", "server", "limited", "client", hang, garble, crash, waiting("limited", 60.0)]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(ACTS), min_size=1, max_size=12),
    st.integers(1, 30),
    st.integers(1, 4),
    st.integers(0, 3),
)
def test_whatever_happens_the_answer_is_out_and_right(
    acts: list[Any], count: int, at_once: int, retries: int
) -> None:
    raw = Acting(*acts)
    source = stack(raw, per_request=7, at_once=at_once, retries=retries)
    keys = np.arange(count)
    with within(0.15):
        got = source.fetch(keys, 0.15)
    assert np.array_equal(got.values[got.ok], keys[got.ok] * 10.0)
    assert sum(got.problems().values()) == np.count_nonzero(~got.ok)
    assert "" not in got.problems()
    # Each key at most once, and once more for each retry.
    asked = [key for call in list(raw.calls) for key in call]
    assert all(asked.count(key) <= 1 + retries for key in keys)
    assert source.asked.keys == count
    assert source.asked.answered == got.ok.sum()


def test_retries_count_against_the_rate() -> None:
    raw = Acting("server")
    source = stack(raw, per_request=1, rate=Limit(2, 60.0), retries=5)
    got = source.fetch(np.arange(3), 0.5)
    assert len(raw.calls) == 1
    assert set(got.problems()) == {"server", "rate"}


def test_the_service_rests_after_many_failures_and_the_answer_says_so() -> None:
    raw = Acting("refused")
    source = stack(raw, per_request=1, retries=0, breaker=Breaker(failures=3, rest=30.0))
    source.fetch(np.arange(10), HANGS)
    assert 3 <= len(raw.calls) <= 6
    with within(0):
        got = source.fetch(np.arange(10), HANGS)
    assert got.problems() == {"open": 10}
    assert source.sent.calls == len(raw.calls)


def test_without_a_breaker_it_goes_on_asking() -> None:
    raw = Acting("refused")
    source = stack(raw, per_request=1, retries=0, breaker=False)
    source.fetch(np.arange(50), 5.0)
    assert len(raw.calls) == 50


def test_the_cost_of_a_fetch_is_the_time_that_passed() -> None:
    def act(keys: Any, _: Any) -> Fetched:
        time.sleep(0.05)
        return answered(keys, 0.05)

    source = stack(Acting(act), per_request=1, at_once=4)
    got, seconds = took(lambda: source.fetch(np.arange(8), HANGS))
    assert 0.09 < got.seconds < seconds


def test_it_is_pickled_whole_and_connects_anew() -> None:
    source = stack(Acting(), per_request=2, at_once=3, rate=1_000, at_start="stop")
    source.fetch(np.arange(5), 5.0)
    copied = pickle.loads(pickle.dumps(source))  # noqa: S301
    assert copied.at_start == "stop"
    assert copied.asked.keys == 0
    got = copied.fetch(np.arange(5), 5.0)
    assert got.ok.all()
    assert (copied.asked.keys, copied.sent.calls) == (5, 3)


def test_closing_closes_the_source_and_leaves_no_thread() -> None:
    before = threading.active_count()
    closed = []
    raw = Acting()
    raw.close = lambda: closed.append(1)  # type: ignore[attr-defined]
    source = stack(raw, per_request=1)
    source.fetch(np.arange(8), 5.0)
    source.close()
    assert closed == [1]
    until = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_a_hanging_service_blocks_neither_the_answer_nor_the_end() -> None:
    hanging = Hanging()
    source = stack(hanging, per_request=1, at_once=2)
    with within(0.1):
        got = source.fetch(np.arange(4), 0.1)
    assert got.problems() == {"late": 4}
    with within(0):
        source.close()
    hanging.gate.set()


class Unreachable(Acting):
    def check(self) -> None:
        raise SourceError("no connection to 127.0.0.1:9", field="url", fix="start it")


def test_at_the_start_it_warns_stops_or_looks_away(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        stack(Unreachable()).start()
    assert "url: no connection to 127.0.0.1:9" in caplog.text
    caplog.clear()
    with pytest.raises(SourceError, match="url: no connection"):
        stack(Unreachable(), at_start="stop").start()
    with caplog.at_level(logging.WARNING):
        stack(Unreachable(), at_start="ignore").start()
        stack(Acting(), at_start="stop").start()
    assert not caplog.text


def test_a_check_that_fails_in_its_own_way_stops_it_too() -> None:
    class Odd(Acting):
        def check(self) -> None:
            raise KeyError("secret")

    with pytest.raises(SourceError) as caught:
        stack(Odd(), at_start="stop").start()
    assert "secret" not in str(caught.value)


def test_failures_of_one_request_are_its_own() -> None:
    def act(keys: Any, _: Any) -> Fetched:
        return failed(keys, "server") if keys[0] == 4 else answered(keys)

    got = stack(Acting(act), per_request=4, retries=0).fetch(np.arange(12), 5.0)
    assert got.ok.tolist() == [True] * 4 + [False] * 4 + [True] * 4


def test_lists_are_taken_as_they_are_without_a_stack() -> None:
    class Lists:
        def fetch(self, keys: Any, deadline: float | None = None) -> Fetched:  # noqa: ARG002
            return Fetched([1.0] * len(keys), [True] * len(keys))  # type: ignore[arg-type]

    assert stack(Lists()).fetch(np.array([1, 2])).values.tolist() == [1.0, 1.0]
