"""What all wrappers share: they hold a source, and pass on what they don't care about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from topwater.model import Attempts, Fetched, Key, KeyArray, Millis
from topwater.problems import Problem
from topwater.protocols import Seeks, Source
from topwater.remote.look import Look, checked

AtStart: TypeAlias = Literal["warn", "stop", "ignore"]
"""Say it and go on, raise, or do not even look."""


PATIENCE = 60.0
"""Seconds that a call without a deadline waits for a turn or for a service to come back."""


class Around:
    """A source around another one. By itself it changes nothing."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"

    @property
    def punctual(self) -> bool:
        """Whether it keeps deadlines whatever happens inside."""
        return bool(getattr(self.source, "punctual", False))

    @property
    def most(self) -> int | None:
        """How many keys it takes at a time; None for any number."""
        most = getattr(self.source, "most", None)
        return None if most is None else int(most)

    @property
    def per_request(self) -> int | None:
        """How many keys one request to the service has at most; None for any number."""
        return self.source.per_request if isinstance(self.source, Around) else self.most

    @property
    def names(self) -> tuple[str, ...]:
        """What its values are called, if it gives several with one look-up."""
        return tuple(getattr(self.source, "names", ()))

    @property
    def text_names(self) -> tuple[str, ...]:
        """Those of its values that are texts."""
        return tuple(getattr(self.source, "text_names", ()))

    @property
    def key_kind(self) -> str | None:
        """Whether its keys are all ``"text"``, or all a whole ``"number"``; None if not known."""
        found: str | None = getattr(self.source, "key_kind", None)
        return found

    @property
    def at_start(self) -> AtStart:
        """What to do if the source can't be reached when a query begins."""
        found: AtStart = getattr(self.source, "at_start", "warn")
        return found

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds."""
        return self.source.fetch(keys, deadline)

    def take_keys(self, columns: Sequence[str]) -> None:
        """Raise ``QueryError`` if the source can't be asked by keys of these columns."""
        take = getattr(self.source, "take_keys", None)
        if take is not None:
            take(columns)

    def seek(self, now: Millis) -> None:
        """Tell a source that has a time of its own what time it is."""
        if isinstance(self.source, Seeks):
            self.source.seek(now)

    def allow(self, attempts: Attempts | None) -> None:
        """Tell a source that asks again how often it may; with None, as often as it is set to."""
        if isinstance(self.source, Around):
            self.source.allow(attempts)

    def check(self, key: Key | None = None) -> Look | None:
        """Raise ``SourceError`` if the source can't be reached, or has no value for a key."""
        return checked(self.source, key)

    def close(self) -> None:
        """Give back connections and threads. A later fetch connects again."""
        close = getattr(self.source, "close", None)
        if close is not None:
            close()


def failed(keys: KeyArray, problem: Problem, seconds: float = 0.0) -> Fetched:
    """No key answered, all for the same reason.

    Examples
    --------
    >>> import numpy as np
    >>> failed(np.array([7, 8]), "late").problems()
    {'late': 2}
    """
    return Fetched.failed(len(keys), problem, seconds)
