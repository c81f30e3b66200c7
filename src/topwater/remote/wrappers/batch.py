"""Many keys, in requests that run at the same time."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from topwater.model import Fetched, KeyArray
from topwater.protocols import Source
from topwater.remote.threads import Crew
from topwater.remote.wrappers.deadline import asked
from topwater.remote.wrappers.wrapper import Around, failed
from topwater.validation import whole_of


class Batched(Around):
    """Splits keys into requests, and collects what has come by the deadline.

    Each request is guarded by itself: one that fails or hangs costs its own keys only. Requests
    that miss the deadline are given up as ``"late"``; there are never more than ``2 * at_once``
    threads, and when all of them hang, further keys fail at once.

    Parameters
    ----------
    source
        Answers one request's worth of keys at a time. Its ``fetch`` is called from several
        threads, unless ``at_once`` is 1.
    size
        How many keys a request has at most.
    at_once
        How many requests run at the same time.

    Examples
    --------
    >>> from topwater.testing import Scripted
    >>> source = Scripted({1: 10.0, 2: 20.0, 3: 30.0})
    >>> Batched(source, size=2, at_once=1).fetch(np.array([3, 1, 2])).values.tolist()
    [30.0, 10.0, 20.0]
    >>> source.calls
    [[3, 1], [2]]
    """

    punctual = True
    most = None

    def __init__(self, source: Source, size: int = 100, at_once: int = 4) -> None:
        super().__init__(source)
        self.size = whole_of(size, "per_request", 1, fix="use 1 for one at a time")
        self.at_once = whole_of(at_once, "at_once", 1, fix="use 1 for one at a time")
        most = getattr(source, "most", None)
        if most is not None:
            self.size = min(self.size, most)
        self._crew = Crew(at_once, at_once)

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source, "size": self.size, "at_once": self.at_once}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def per_request(self) -> int:
        """How many keys one request has at most."""
        return self.size

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, as far as they came by the deadline.

        Its ``seconds`` are the time that passed, not the sum over requests: that is what the
        next window's fetches will cost, too.
        """
        if not len(keys):
            return Fetched(np.empty(0), np.empty(0, bool))
        if deadline is not None and not deadline > 0:
            return failed(keys, "late")
        begun = time.monotonic()
        parts = [keys[at : at + self.size] for at in range(0, len(keys), self.size)]
        until = math.inf if deadline is None else begun + deadline - min(0.02, 0.05 * deadline)
        calls = [lambda part=part: self._ask(part, until) for part in parts]
        found = self._crew.run(calls, deadline)
        got = [
            failed(part, "late") if each is None else each
            for part, each in zip(parts, found, strict=True)
        ]
        return Fetched.joined(got, time.monotonic() - begun)

    def _ask(self, keys: KeyArray, until: float) -> Fetched:
        left = until - time.monotonic()
        if left <= 0:
            return failed(keys, "late")
        return asked(self.source, keys, None if left == math.inf else left)

    def close(self) -> None:
        """Close the source, and let the threads go."""
        self._crew.close()
        super().close()
