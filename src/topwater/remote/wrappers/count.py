"""How much was asked, and what came of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topwater.model import Fetched, KeyArray
from topwater.protocols import Source
from topwater.remote.fetched_values import valid
from topwater.remote.wrappers.wrapper import Around, failed


@dataclass(frozen=True, slots=True)
class Totals:
    """What a source was asked so far, in this process.

    Attributes
    ----------
    calls
        How many times it was asked.
    keys, answered
        For how many keys, and how many of them it answered.
    seconds
        How long that took, one call after the other.
    problems
        How many keys failed, by what went wrong.
    """

    calls: int = 0
    keys: int = 0
    answered: int = 0
    seconds: float = 0.0
    problems: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """How many keys were not answered."""
        return self.keys - self.answered


class Counting(Around):
    """Counts what goes through it. A copy in another process starts at nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from topwater.testing import Scripted
    >>> source = Counting(Scripted({"a": 1.0}))
    >>> _ = source.fetch(np.array(["a", "b"], object))
    >>> source.totals.calls, source.totals.keys, source.totals.answered
    (1, 2, 2)
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._lock = threading.Lock()
        self._totals = Totals()

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["source"])  # type: ignore[misc]

    @property
    def totals(self) -> Totals:
        """All so far."""
        return self._totals

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, counted."""
        try:
            got = valid(self.source.fetch(keys, deadline), len(keys), names=self.names)
        except BaseException:
            self._count(failed(keys, "broken"))
            raise
        self._count(got)
        return got

    def _count(self, got: Fetched) -> None:
        with self._lock:
            before = self._totals
            self._totals = Totals(
                before.calls + 1,
                before.keys + len(got.ok),
                before.answered + int(got.ok.sum()),
                before.seconds + got.seconds,
                dict(Counter(before.problems) + Counter(got.problems())),
            )
