"""What a ranking of several remote values would like to look up, and what of it is granted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from topwater.model import Fetched, FloatArray, IntArray, KeyArray, Millis


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of one join: entries that are worth a look-up, the most worthwhile first.

    Attributes
    ----------
    keys
        By which they are looked up, each once.
    slots
        Where they are remembered.
    worth
        What reading each is worth to the answers; infinite for one that has to be read.
    """

    keys: KeyArray
    slots: IntArray
    worth: FloatArray

    def __len__(self) -> int:
        return len(self.keys)

    @staticmethod
    def nothing() -> Wanted:
        """No entry."""
        return Wanted(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Wish:
    """All that a ranking would like to look up for a window, join by join.

    Attributes
    ----------
    wanted
        In the order of the query's joins.
    now
        When the window closes.
    """

    wanted: Sequence[Wanted]
    now: Millis


@dataclass(frozen=True, slots=True)
class Granted:
    """What was looked up of a wish.

    Attributes
    ----------
    rows
        For each join: which of the entries that it wanted.
    got
        For each join: what came for these, in their order.
    spent, left
        What all of it cost; and what is left of each quota.
    """

    rows: Sequence[IntArray]
    got: Sequence[Fetched]
    spent: float = 0.0
    left: tuple[tuple[str, float], ...] = field(default=())
