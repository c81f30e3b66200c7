"""A source whose values change as a script says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from topwater.model import (
    BoolArray,
    Fetched,
    FloatArray,
    Key,
    KeyArray,
    Millis,
)

Script: TypeAlias = float | str | Sequence[tuple[Millis, float | str]]
"""A value, or pairs of (since when, value) in order of time."""


class Scripted:
    """A source whose values are written down, on a clock that is moved by hand.

    Parameters
    ----------
    values
        Per key its value, or its values as pairs of (since when, value), in order of time. A key
        that is not there, or not yet, has no value. For several values of a key, a mapping of
        their names to such scripts; those of texts hold texts.
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
        values: Mapping[Any, Any],
        *,
        seconds_per_key: float = 0.0,
    ) -> None:
        self.values = dict(values)
        self.names, self.text_names = _named(self.values.values())
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
        columns = {name: self._column(name, asked, ok) for name in self.names}
        seconds = self.seconds_per_key * len(asked)
        seconds = seconds if deadline is None else min(seconds, max(0.0, deadline))
        return Fetched(np.where(ok, values, np.nan), ok, seconds, columns=columns)

    def _column(self, name: str, asked: Sequence[Key], ok: BoolArray) -> KeyArray:
        found = [self._read(key, name, None) for key in asked]
        if name in self.text_names:
            told = zip(found, ok.tolist(), strict=True)
            return np.array([each if fine else None for each, fine in told], object)
        numbers = [math.nan if each is None else float(each) for each in found]
        return np.where(ok, np.array(numbers, np.float64), np.nan)

    def value(self, key: Key, at: Millis | None = None, name: str = "") -> float:
        """The true value of a key at a time, by default now; NaN if it has none.

        Of several values it is the first that is a number, unless another is named.
        """
        found = self._read(key, name or self._first, at)
        return math.nan if found is None else float(found)

    def _read(self, key: Key, name: str, at: Millis | None) -> float | str | None:
        script = self._script(key, name)
        if isinstance(script, float | int | str):
            return script
        now = self.now if at is None else at
        return next((value for since, value in reversed(script) if since <= now), None)

    def _script(self, key: Key, name: str) -> Script:
        given = self.values.get(key, ())
        script: Script = given.get(name, ()) if isinstance(given, Mapping) else given
        return script

    @property
    def _first(self) -> str:
        return next((name for name in self.names if name not in self.text_names), "")

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
        script = self._script(key, self._first)
        moments = () if isinstance(script, float | int | str) else (since for since, _ in script)
        return min((since for since in moments if since > self.now), default=float("inf"))


def _named(scripts: Iterable[Script | Mapping[str, Script]]) -> tuple[tuple[str, ...], ...]:
    """The names of several values, and those of texts."""
    rows = [each for each in scripts if isinstance(each, Mapping)]
    names = dict.fromkeys(name for row in rows for name in row)
    texts = {name for row in rows for name, script in row.items() if _is_text(script)}
    return tuple(names), tuple(name for name in names if name in texts)


def _is_text(script: Script) -> bool:
    if isinstance(script, float | int | str):
        return isinstance(script, str)
    return any(isinstance(value, str) for _, value in script)
