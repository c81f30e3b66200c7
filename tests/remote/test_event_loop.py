"""The event loop of a process: work is waited for so long, and then cancelled."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from topwater.remote import event_loop
from topwater.remote.event_loop import finished, let_run


async def thread() -> int:
    return threading.get_ident()


def test_all_work_runs_in_one_thread_that_is_not_ours() -> None:
    first, second = finished(thread(), 5.0), finished(thread(), 5.0)
    assert first == second != threading.get_ident()


def test_what_takes_too_long_is_cancelled() -> None:
    cancelled = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    assert finished(slow(), 0.01) is None
    assert cancelled.wait(5)


def test_an_error_comes_back_to_the_caller() -> None:
    async def fail() -> None:
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        finished(fail(), 5.0)


def test_work_that_nobody_waits_for_is_done() -> None:
    done = threading.Event()

    async def work() -> None:
        done.set()

    finished(thread(), 5.0)
    let_run(work())
    assert done.wait(5)


def test_without_a_loop_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "_loops", {})
    begun = []

    async def work() -> None:
        begun.append(1)

    let_run(work())  # a coroutine that is neither run nor closed is a warning, thus an error
    assert not begun
    assert not event_loop._loops


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_a_loop_of_its_own() -> None:
    finished(thread(), 5.0)
    child = os.fork()
    if not child:
        own = not event_loop._loops and finished(thread(), 5.0) is not None
        os._exit(0 if own else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
