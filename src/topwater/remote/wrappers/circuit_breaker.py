"""Leave a service alone that fails again and again."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from topwater.model import Fetched, KeyArray
from topwater.protocols import Source
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK, Timer
from topwater.remote.wrappers.wrapper import Around, failed
from topwater.validation import checked_call, made_from, number_of, whole_of

NO_FAULT: Final = ("rate", "open", "client", "doubled")
"""Ours, or about a request's contents: they say nothing of the service's health."""


@checked_call("breaker")
@dataclass(frozen=True, slots=True)
class Breaker:
    """When to leave a service alone, and for how long.

    Parameters
    ----------
    failures
        Number of requests in a row without an answer after which it opens.
    rest
        Seconds that it stays open at first; twice as long each time that it fails again at once.
    longest
        For no longer than that.
    """

    failures: int = 8
    rest: float = 1.0
    longest: float = 30.0

    @staticmethod
    def of(spec: Breaker | Mapping[str, Any] | bool | None) -> Breaker | None:
        """A breaker from settings, or the usual one for True; None where there is to be none.

        Examples
        --------
        >>> Breaker.of({"failures": 3}), Breaker.of(False)
        (Breaker(failures=3, rest=1.0, longest=30.0), None)
        """
        if spec is None or isinstance(spec, Breaker):
            return spec
        if isinstance(spec, bool):
            return Breaker() if spec else None
        return made_from(Breaker, spec, "breaker")

    def __post_init__(self) -> None:
        fix = "use breaker=False to go on asking whatever happens"
        whole_of(self.failures, "breaker.failures", 1, fix=fix)
        fix = "rest is the first pause in seconds, longest the last"
        longest = number_of(self.longest, "breaker.longest", above=0, fix=fix)
        number_of(self.rest, "breaker.rest", above=0, most=longest, fix=fix)


class Breaking(Around):
    """Fails at once, as ``"open"``, while a service rests; a circuit breaker.

    After the rest requests go again: the first answer ends the matter, the first failure means
    another rest. A request that had too little time to tell counts as neither.

    Parameters
    ----------
    source
        Each of its fetches counts as one request.
    breaker
        When, and for how long.
    timer
        For tests.
    """

    def __init__(self, source: Source, breaker: Breaker | None = None, timer: Timer = SYSTEM_CLOCK):
        super().__init__(source)
        self.breaker = breaker or Breaker()
        self._timer = timer
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._rest = self.breaker.rest
        self._until = -math.inf
        self._typical = 0.0

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source, "breaker": self.breaker, "_timer": self._timer}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    @property
    def open(self) -> bool:
        """Whether the service is being left alone now."""
        return self._timer.now() < self._until

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, unless the service is being left alone."""
        if self.open:
            return failed(keys, "open")
        begun = self._timer.now()
        try:
            got = self.source.fetch(keys, deadline)
        except Exception:
            self._note(healthy=False)
            raise
        self._judge(got, deadline, self._timer.now() - begun)
        return got

    def _judge(self, got: Fetched, deadline: float | None, seconds: float) -> None:
        if not len(got.ok):
            return
        if got.ok.any():
            self._note(healthy=True, seconds=seconds)
            return
        why = got.reasons()
        if np.isin(why, NO_FAULT).all():
            return
        hurried = deadline is not None and deadline < 2 * self._typical
        if not (hurried and np.all(why == "late")):
            self._note(healthy=False)

    def _note(self, *, healthy: bool, seconds: float = 0.0) -> None:
        with self._lock:
            if healthy:
                self._failures, self._rest = 0, self.breaker.rest
                self._typical += 0.2 * (seconds - self._typical)
                return
            self._failures += 1
            # Those that were under way when it opened do not open it again.
            if self._failures >= self.breaker.failures and not self.open:
                self._until = self._timer.now() + self._rest
                self._rest = min(self.breaker.longest, 2 * self._rest)
