"""One request to a database: what it waits for, and how it is stopped from another thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from topwater.remote.database_call import Call, connector, here
from topwater.remote.databases import Database


class Stopped(Database):
    """Remembers which connections were prepared and which were cut off."""

    def __init__(self) -> None:
        self.prepared: list[Any] = []
        self.stopped: list[Any] = []
        self.cut = threading.Event()

    def connecting(self, args: list[Any], named: dict[str, Any], seconds: float) -> None:  # noqa: ARG002
        named["timeout"] = seconds

    def connected(self, raw: Any) -> None:
        self.prepared.append(raw)

    def stop(self, raw: Any) -> None:
        self.stopped.append(raw)
        self.cut.set()


@pytest.fixture
def database() -> Stopped:
    return Stopped()


def test_a_call_that_asks_is_stopped_at_once(database: Stopped) -> None:
    call = Call(database, 60.0)
    before = call.connecting
    call.begin("line")
    assert (before, call.connecting) == (True, False)
    call.give_up(grace=60.0)
    assert database.stopped == ["line"]


def test_a_call_that_connects_gets_some_more_time(database: Stopped) -> None:
    call = Call(database, 60.0)
    call.connected("new line")
    assert call.fresh
    call.give_up(grace=0.01)
    assert database.cut.wait(5)
    assert database.stopped == ["new line"]


def test_one_that_has_no_connection_yet_has_nothing_to_be_stopped(database: Stopped) -> None:
    call = Call(database, 60.0)
    call.give_up(grace=0.0)
    assert call._timer is not None
    call._timer.join(5)
    assert database.stopped == []


def test_nothing_is_stopped_once_the_work_is_done(database: Stopped) -> None:
    call = Call(database, 60.0)

    def work(itself: Call) -> int:
        itself.connected("line")
        itself.give_up(grace=60.0)
        return 7

    assert call.run(work) == 7
    assert call._timer is not None
    call._timer.join(5)
    assert not call._timer.is_alive(), "the timer was cancelled, not waited for"
    call.give_up(grace=0.0)
    assert database.stopped == []


def test_work_that_fails_is_done_too(database: Stopped) -> None:
    call = Call(database, 60.0)

    def work(itself: Call) -> None:
        itself.begin("line")
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        call.run(work)
    call.give_up(grace=0.0)
    assert database.stopped == []


def test_nothing_is_begun_for_nobody(database: Stopped) -> None:
    given_up = Call(database, 60.0)
    given_up.give_up(grace=60.0)
    with pytest.raises(TimeoutError):
        given_up.begin("line")
    with pytest.raises(TimeoutError):
        given_up.again()
    assert given_up._timer is not None
    given_up._timer.cancel()
    late = Call(database, 0.0)
    assert late.left <= 0
    with pytest.raises(TimeoutError):
        late.begin("line")


def test_connecting_anew_forgets_the_old_line(database: Stopped) -> None:
    call = Call(database, 60.0)
    call.connected("old")
    call.begin("old")
    call.again()
    assert call.connecting
    assert not call.fresh
    call.give_up(grace=0.0)
    assert call._timer is not None
    call._timer.join(5)
    assert database.stopped == []


class Dialect:
    """A driver that returns what it was called with."""

    def connect(self, *args: Any, **named: Any) -> Any:
        return (*args, *sorted(named.items()))


def test_a_connection_gets_its_password_when_it_is_made(database: Stopped) -> None:
    secrets = iter(["first", None])
    connect = connector(database, 3.0, lambda: next(secrets))
    call = Call(database, 60.0)
    here.call = call
    try:
        raw = connect(Dialect(), None, ["host"], {})
    finally:
        here.call = None
    assert raw == ("host", ("password", "first"), ("timeout", 3.0))
    assert call.fresh
    without = connect(Dialect(), None, ["host"], {"user": "ann"})
    assert without == ("host", ("timeout", 3.0), ("user", "ann"))
    assert database.prepared == [raw, without]
