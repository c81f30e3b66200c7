"""One request to a database, in a thread that may be left behind: how to stop it from outside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import sqlalchemy as sa

from topwater.remote.databases import Database

T = TypeVar("T")


class Call:
    """One request: how much time it has, and what it waits for, so that it can be stopped."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._raw: Any = None
        self._state: Literal["connecting", "asking", "done"] = "connecting"
        self._given_up = False
        self._timer: threading.Timer | None = None
        self.fresh = False

    @property
    def left(self) -> float:
        """The seconds that it still has."""
        return self._until - time.monotonic()

    @property
    def connecting(self) -> bool:
        """Whether it has no connection yet."""
        return self._state == "connecting"

    def run(self, work: Callable[[Call], T]) -> T:
        """Do the work, after which there is nothing to be stopped."""
        try:
            return work(self)
        finally:
            with self._lock:
                self._raw, self._state = None, "done"
                if self._timer is not None:
                    self._timer.cancel()

    def connected(self, raw: Any) -> None:
        """There is a new connection, which is still being prepared."""
        with self._lock:
            self._raw, self.fresh = raw, True

    def begin(self, raw: Any) -> None:
        """From here on the call waits for the database, if anybody still waits for the call."""
        with self._lock:
            if self._given_up or self.left <= 0:
                raise TimeoutError("too late to begin")
            self._raw, self._state = raw, "asking"

    def again(self) -> None:
        """Connect anew, if anybody still waits for the call."""
        with self._lock:
            if self._given_up:
                raise TimeoutError("too late to connect")
            self._raw, self._state, self.fresh = None, "connecting", False

    def give_up(self, grace: float) -> None:
        """Stop waiting. One that is connecting gets more time: the next call has use for it."""
        with self._lock:
            self._given_up = True
            if self._state == "asking":
                self._stop()
            elif self._state == "connecting":
                self._timer = threading.Timer(grace, self._expire)
                self._timer.daemon = True
                self._timer.start()

    def _expire(self) -> None:
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._raw is not None:
            self._database.stop(self._raw)


class Here(threading.local):
    """The call that this thread works for."""

    call: Call | None = None


here = Here()


def connector(
    database: Database, seconds: float, password: Callable[[], str | None]
) -> Callable[..., Any]:
    """What SQLAlchemy calls to connect."""

    def connect(dialect: sa.Dialect, record: Any, args: list[Any], named: dict[str, Any]) -> Any:  # noqa: ARG001
        secret = password()
        if secret is not None:
            named["password"] = secret
        database.connecting(args, named, seconds)
        raw = dialect.connect(*args, **named)
        database.connected(raw)
        if here.call is not None:
            here.call.connected(raw)
        return raw

    return connect
