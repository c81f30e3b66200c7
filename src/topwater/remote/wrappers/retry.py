"""Ask again, where that may help and there is time for it."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from typing import Any, Final

import numpy as np

from topwater.model import Attempts, Fetched, KeyArray
from topwater.protocols import Source
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK, Timer
from topwater.remote.wrappers.wrapper import PATIENCE, Around
from topwater.validation import whole_of

RETRIED: Final = ("limited", "server", "timeout", "refused", "dropped")
"""What may pass by itself. A wrong request stays wrong, and what is late has no time left."""

_OWN = ("_attempts", "_chance", "_lock")
"""What a copy in another process does not take along."""


class Retrying(Around):
    """Asks again for the keys that failed, with growing pauses, inside the deadline.

    Pauses double from ``pause`` up to ``longest``, and are shortened by chance to between half
    and all of that, so that those who failed together do not come back together. A service that
    says when to come back (``Retry-After``) is not asked before that time. Where a pause would
    end after the deadline, there is no further attempt; nor where it could not be paid for.

    Parameters
    ----------
    source
        What to ask.
    retries
        How many times more than once, at most.
    pause, longest
        In seconds.
    seed
        Of the chance.
    timer
        For tests.
    """

    def __init__(
        self,
        source: Source,
        retries: int = 2,
        *,
        pause: float = 0.1,
        longest: float = 5.0,
        seed: int = 0,
        timer: Timer = SYSTEM_CLOCK,
    ) -> None:
        super().__init__(source)
        self.retries = whole_of(retries, "retries", 0, fix="use 0 to ask only once")
        self.pause = pause
        self.longest = longest
        self.seed = seed
        self._timer = timer
        self._begin()

    def _begin(self) -> None:
        self._attempts: Attempts | None = None
        self._chance = random.Random(self.seed)  # noqa: S311  no secret
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in _OWN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def allow(self, attempts: Attempts | None) -> None:
        """Ask again only as far as these allow; with None, as often as it is set to."""
        self._attempts = attempts

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, by as many attempts as there is time for, and money."""
        begun, attempts = self._timer.now(), self._attempts
        got = self.source.fetch(keys, deadline)
        for attempt in range(self.retries):
            again = np.flatnonzero(~got.ok & np.isin(got.reasons(), RETRIED))
            if not len(again):
                break
            wait = max(self._pause_before(attempt), got.wait or 0.0)
            spent = self._timer.now() - begun
            if spent + wait >= (PATIENCE if deadline is None else deadline):
                break
            self._timer.sleep(wait)
            left = None if deadline is None else deadline - (self._timer.now() - begun)
            if left is not None and left <= 0:
                break
            if attempts is not None and not attempts.take(len(again)):
                break
            got = _updated(got, again, self.source.fetch(keys[again], left))
        return replace(got, seconds=self._timer.now() - begun)

    def _pause_before(self, attempt: int) -> float:
        with self._lock:
            part = self._chance.uniform(0.5, 1.0)
        return part * min(self.longest, self.pause * 2.0**attempt)


def _updated(got: Fetched, rows: KeyArray, newer: Fetched) -> Fetched:
    """What is known after some of the keys were asked for again.

    A key that our own side then gave no chance keeps the reason why it failed before.
    """
    later = newer.reasons()
    heard = newer.ok | ~np.isin(later, ("late", "rate", "open"))
    told = np.where(heard, later, got.reasons()[rows])
    return replace(got.put(rows, replace(newer, why=told)), wait=newer.wait)
