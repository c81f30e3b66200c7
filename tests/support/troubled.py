"""Sources that misbehave on purpose."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from topwater.model import Fetched, KeyArray
from topwater.remote.wrappers.wrapper import failed


class Acting:
    """Does for each call what the next act says, and the last one for ever.

    An act is a problem's name, ``"ok"``, or a function of keys and deadline.
    """

    def __init__(self, *acts: Any, most: int | None = None) -> None:
        self.acts = list(acts) or ["ok"]
        self.calls: list[list[Any]] = []
        self.deadlines: list[float | None] = []
        self._lock = threading.Lock()
        if most is not None:
            self.most = most

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        with self._lock:
            act = self.acts[min(len(self.calls), len(self.acts) - 1)]
            self.calls.append(keys.tolist())
            self.deadlines.append(deadline)
        if callable(act):
            found: Fetched = act(keys, deadline)
            return found
        return answered(keys) if act == "ok" else failed(keys, act)


def answered(keys: KeyArray, seconds: float = 0.0) -> Fetched:
    """Each key's value is ten times the key."""
    return Fetched(np.asarray(keys, np.float64) * 10, np.ones(len(keys), bool), seconds)


def waiting(problem: Any, wait: float) -> Callable[[KeyArray, float | None], Fetched]:
    """Fails, and asks to come back later."""

    def act(keys: KeyArray, _: float | None) -> Fetched:
        lost = failed(keys, problem)
        return Fetched(lost.values, lost.ok, 0.0, lost.why, wait)

    return act


class Hanging:
    """Hangs until it is let go; then it answers."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = 0
        self.threads: set[int] = set()
        self._lock = threading.Lock()

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        with self._lock:
            self.begun += 1
            self.threads.add(threading.get_ident())
        assert self.gate.wait(30)
        return answered(keys)
