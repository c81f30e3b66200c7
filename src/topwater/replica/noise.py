"""A remote side that gives another number at each look: is it change, or noise?

A value that changes has changed more often, or further, the longer ago it was read. Noise does not:
looks differ always, however short the time between them, and no more if it is long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from topwater.errors import QueryError
from topwater.model import BoolArray, FloatArray
from topwater.validation import number_of

if TYPE_CHECKING:
    from topwater.replica.look_ups import Polls

_BEYOND = 3.0
"""Look-ups that differ by more standard deviations than that mean a change."""

_FADES = 0.998
_FEWEST = 30.0
_ALWAYS = 0.98
_APART, _MORE = 1.7, 1.15


@dataclass(frozen=True, slots=True)
class Noise:
    """How far looks at the same value may lie apart.

    Attributes
    ----------
    size
        The standard deviation of a look: as a number, or as a share of the value.
    relative
        Which of the two.

    Examples
    --------
    >>> Noise.of("2 %").hides(np.array([100.0, 100.0]), np.array([105.0, 107.0])).tolist()
    [True, False]
    """

    size: float
    relative: bool = False

    @staticmethod
    def of(given: float | str) -> Noise:
        """From a number, or from a share such as ``"2 %"``."""
        fix = 'write a standard deviation, 0.5, or a share of the value, "2 %"'
        if not isinstance(given, str):
            return Noise(number_of(given, "refresh.noise", above=0, fix=fix))
        number, percent, rest = given.partition("%")
        try:
            share = float(number)
        except ValueError:
            share = float("nan")
        if not percent or rest.strip() or not 0 < share <= 100:
            raise QueryError(
                f"{given[:40]!r} is neither a number nor a share", field="refresh.noise", fix=fix
            )
        return Noise(share / 100, relative=True)

    def hides(self, before: FloatArray, after: FloatArray) -> BoolArray:
        """Whether what came may be the value that was known."""
        size = self.size * np.abs(before) if self.relative else self.size
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.abs(after - before) <= _BEYOND * size)


class NoiseWatch:
    """Sees all look-ups of keys that were known, and says whether their values are noise.

    Attributes
    ----------
    sums
        Of looks after a short time and after a long one: how many, how many differed, how much, and
        after how long; older ones count less.
    """

    def __init__(self) -> None:
        self.sums: FloatArray = np.zeros((2, 4))

    def observe(self, polls: Polls) -> None:
        """Take note of what came."""
        use = np.isfinite(polls.before) & np.isfinite(polls.after) & (polls.seconds > 0)
        if not use.any():
            return
        seconds = polls.seconds[use]
        with np.errstate(over="ignore"):
            off = np.minimum(np.abs(polls.after[use] - polls.before[use]), 1e100)
        count = self.sums[:, 0].sum()
        usual = self.sums[:, 3].sum() / count if count else float(seconds.mean())
        self.sums *= _FADES ** len(seconds)
        for row, mine in enumerate((seconds <= usual, seconds > usual)):
            found = [mine.sum(), (off[mine] > 0).sum(), off[mine].sum(), seconds[mine].sum()]
            self.sums[row] += found

    @property
    def noisy(self) -> bool:
        """Whether look-ups always differ, and no more after a long time than after a short one."""
        count, differed, off, seconds = self.sums.T
        if count.min() < _FEWEST or (differed / count).min() < _ALWAYS:
            return False
        short, long = off / count
        early, late = seconds / count
        return bool(late > _APART * early and long <= _MORE * short)

    def snapshot(self) -> dict[str, Any]:
        """For JSON."""
        return {"sums": self.sums.tolist()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """What :meth:`snapshot` gave."""
        self.sums = np.array(state["sums"], np.float64)
