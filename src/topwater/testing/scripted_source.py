"""A source whose values change as a script says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from topwater.model import (
    Fetched,
    FloatArray,
    Key,
    KeyArray,
    Millis,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


class Scripted:
    """A source whose values are written down, on a clock that is moved by hand.

    Parameters
    ----------
    values
        Per key its value, or its values as pairs of (since when, value), in order of time. A key
        that is not there, or not yet, has no value.
    seconds_per_key
        What a fetch is said to take. Keys that the deadline leaves no time for fail.

    Attributes
    ----------
    now
        The time at which values are read. Move it at will.
    failing
        Keys that fail, as long as they are in it.
    calls
        The keys of each fetch, in order.

    Examples
    --------
    >>> source = Scripted({"a": [(0, 1.0), (10, 2.0)], "b": 5.0})
    >>> source.now = 10
    >>> source.failing.add("b")
    >>> got = source.fetch(np.array(["a", "b", "c"], object))
    >>> got.values.tolist(), got.ok.tolist()
    ([2.0, nan, nan], [True, False, True])
    >>> source.calls
    [['a', 'b', 'c']]
    """

    punctual = True

    def __init__(
        self,
        values: Mapping[Any, float | Sequence[tuple[Millis, float]]],
        *,
        seconds_per_key: float = 0.0,
    ) -> None:
        self.values = dict(values)
        self.seconds_per_key = seconds_per_key
        self.now: Millis = 0
        self.failing: set[Key] = set()
        self.calls: list[list[Key]] = []

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys`` at :attr:`now`."""
        asked = keys.tolist()
        self.calls.append(asked)
        ok = np.array([key not in self.failing for key in asked], bool)
        if deadline is not None and self.seconds_per_key > 0:
            ok[int(max(0.0, deadline) / self.seconds_per_key) :] = False
        values = np.array([self.value(key) for key in asked], np.float64)
        seconds = self.seconds_per_key * len(asked)
        seconds = seconds if deadline is None else min(seconds, max(0.0, deadline))
        return Fetched(np.where(ok, values, np.nan), ok, seconds)

    def value(self, key: Key, at: Millis | None = None) -> float:
        """The true value of a key at a time, by default now; NaN if it has none."""
        script = self.values.get(key, ())
        if isinstance(script, float | int):
            return float(script)
        now = self.now if at is None else at
        return next((value for since, value in reversed(script) if since <= now), float("nan"))

    def truth(self, keys: KeyArray) -> tuple[FloatArray, FloatArray]:
        """For policies that know the truth: values, and when each changes next (in ms)."""
        asked = keys.tolist()
        return (
            np.array([self.value(key) for key in asked], np.float64),
            np.array([self._next_change(key) for key in asked], np.float64),
        )

    @property
    def fetches(self) -> int:
        """How many keys were asked for."""
        return sum(map(len, self.calls))

    def _next_change(self, key: Key) -> float:
        script = self.values.get(key, ())
        moments = () if isinstance(script, float | int) else (since for since, _ in script)
        return min((since for since in moments if since > self.now), default=float("inf"))
