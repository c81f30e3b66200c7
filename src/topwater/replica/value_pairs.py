"""What pairs of values before and after a change say of all keys: what values come back to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from topwater.model import FloatArray
from topwater.replica.proportions import FIRST_PAIRS, Proportions, values_of


class ValuePairs:
    """Sums over pairs of values: weight, mean, covariance and variance; and those of logarithms.

    Parameters
    ----------
    scale
        Says which of the two are taken.
    """

    def __init__(self, scale: Proportions) -> None:
        self._scale = scale
        self._sums: FloatArray | None = None

    @property
    def begun(self) -> bool:
        """Whether any value is known."""
        return self._sums is not None

    @property
    def learnt(self) -> bool:
        """Whether a change was observed."""
        return self._sums is not None and bool(self._sums[0, 0] > FIRST_PAIRS)

    @property
    def mean(self) -> float:
        """What values come back to."""
        middle = np.array([self.middle])
        return float((values_of(middle) if self._scale.on else middle)[0])

    @property
    def middle(self) -> float:
        """The same on the scale on which values move."""
        return self._taken[1]

    @property
    def memory(self) -> float:
        """ρ: how much of its distance to the mean a value keeps when it changes."""
        sums = self._taken
        if sums[-1] <= 0 or not all(map(math.isfinite, sums)):
            return 0.5
        return min(max(sums[2] / sums[3], 0.0), 1.0)

    @property
    def _taken(self) -> list[float]:
        found: list[float] = [0.0] * 4
        return found if self._sums is None else list(self._sums[int(self._scale.on)].tolist())

    def start(self, values: FloatArray) -> None:
        """Begin with values that are known, as if pairs of them had kept half of their distance."""
        logs = np.log(values) if self._scale.positive else np.zeros(1)
        with np.errstate(over="ignore"):
            self._sums = np.stack([_first(values), _first(logs)])

    def observe(self, before: FloatArray, after: FloatArray) -> None:
        """Learn from values that changed."""
        assert self._sums is not None  # noqa: S101  for the type checker
        _add(self._sums[0], before, after)
        if self._scale.positive:
            _add(self._sums[1], np.log(before), np.log(after))

    def facts(self) -> list[list[float]] | None:
        """For JSON."""
        return None if self._sums is None else [list(each) for each in self._sums.tolist()]

    def restore_facts(self, facts: Any) -> None:
        """What :meth:`facts` gave."""
        self._sums = None if facts is None else np.array(facts)


def _first(values: FloatArray) -> FloatArray:
    spread = float(values.var())
    return np.array(
        [FIRST_PAIRS, float(values.mean()), FIRST_PAIRS * spread / 2.0, FIRST_PAIRS * spread]
    )


def _add(sums: FloatArray, before: FloatArray, after: FloatArray) -> None:
    mean = float(sums[1])
    with np.errstate(over="ignore", invalid="ignore"):
        sums[2] += ((before - mean) * (after - mean)).sum()
        sums[3] += ((before - mean) ** 2).sum()
    sums[0] += len(after)
    sums[1] = mean + float((after - mean).sum()) / sums[0]
