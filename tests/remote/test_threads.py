"""Crews of threads: calls at the same time, given up in time, and threads that come back."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.timing import HANGS, within
from topwater.remote import threads
from topwater.remote.threads import MOST_LOST, Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What calls wait for; it is open in the end."""
    event = threading.Event()
    yield event
    event.set()


def eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 5
    while not condition() and time.monotonic() < until:
        time.sleep(0.002)
    assert condition()


def test_results_are_in_the_order_of_the_calls() -> None:
    def call(at: int) -> Callable[[], int]:
        def run() -> int:
            time.sleep(0.02 if at == 0 else 0)
            return at

        return run

    crew = Crew(3, spare=0)
    assert crew.run([call(at) for at in range(7)], 5.0) == list(range(7))
    assert crew.run([], 5.0) == []
    crew.close()


def test_what_did_not_come_in_time_is_none(gate: threading.Event) -> None:
    crew = Crew(2, spare=2)
    assert crew.run([gate.wait, lambda: True], 0.05) == [None, True]
    assert crew.stuck == 1
    gate.set()
    eventually(lambda: crew.stuck == 0)
    crew.close()


def test_others_take_the_place_of_a_thread_that_is_stuck(gate: threading.Event) -> None:
    crew = Crew(1, spare=1)
    assert crew.run([gate.wait], 0.01) == [None]
    assert crew.run([lambda: 7], HANGS) == [7]
    assert crew.run([gate.wait], 0.01) == [None]
    with within(0):  # nobody waits for a thread that is free
        assert crew.run([lambda: 7], HANGS) == [None], "there is no thread left"
    gate.set()
    eventually(lambda: crew.stuck == 0)
    assert crew.run([lambda: 7], 5.0) == [7]
    crew.close()


def test_a_call_that_was_given_up_in_the_queue_is_not_begun(gate: threading.Event) -> None:
    crew, begun = Crew(1, spare=0), threading.Event()
    calls: list[Callable[[], object]] = [gate.wait, begun.set]
    assert crew.run(calls, 0.01) == [None, None]
    gate.set()
    eventually(lambda: crew.stuck == 0)
    assert crew.run([lambda: 7], 5.0) == [7]
    assert not begun.is_set()
    crew.close()


def test_a_call_that_tries_to_end_the_process_costs_no_thread() -> None:
    def leave() -> None:
        raise SystemExit(3)

    crew = Crew(1, spare=0)
    assert crew.run([leave], 5.0) == [None]
    assert crew.run([lambda: 7], 5.0) == [7]
    assert crew.stuck == 0
    crew.close()


def test_all_crews_together_lose_no_more_than_so_many(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_lost", MOST_LOST)
    crew = Crew(1, spare=1)
    assert crew.run([lambda: 7], 5.0) == [None]
    monkeypatch.setattr(threads, "_lost", MOST_LOST - 1)
    assert crew.run([lambda: 7], 5.0) == [7]
    crew.close()


def test_a_crew_that_was_closed_begins_anew() -> None:
    crew = Crew(2, spare=0)
    (worker,) = crew.run([threading.current_thread], 5.0)
    assert worker is not None
    crew.close()
    worker.join(5)
    assert not worker.is_alive()
    assert crew.run([lambda: 2], 5.0) == [2]
    crew.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(gate: threading.Event) -> None:
    crew = Crew(1, spare=1)
    crew.run([gate.wait], 0.01)
    child = os.fork()
    if not child:
        os._exit(0 if crew.run([lambda: 7], 5.0) == [7] and crew.stuck == threads._lost == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert crew.stuck == 1
    gate.set()
    eventually(lambda: crew.stuck == 0)
    crew.close()


def test_a_crew_used_from_many_threads_runs_everything_once() -> None:
    crew, ran, lock = Crew(3, 3), [0] * 200, threading.Lock()

    def call(at: int) -> int:
        with lock:
            ran[at] += 1
        return at

    def user(first: int) -> None:
        got = crew.run([lambda at=at: call(at) for at in range(first, first + 20)], 20.0)  # type: ignore[misc]
        assert got == list(range(first, first + 20))

    users = [threading.Thread(target=user, args=(20 * each,)) for each in range(10)]
    for each in users:
        each.start()
    for each in users:
        each.join(30)
    assert ran == [1] * 200
    assert crew._yard.threads <= 3
    crew.close()
