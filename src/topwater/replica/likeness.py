"""What the stream says of a key may hint at its value before it is ever looked up.

Keys that are mentioned more often may have greater values, or smaller ones. What the stream said of
a key when it was first looked up is kept, as one number; which keys are looked up first depends on
nothing else, so how values go with it is seen without bias, and holds for those never read.

A straight line is enough: of the logarithm of values over that number. It counts only as far as it
is significant, so where nothing goes with anything all keys are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topwater.model import FloatArray, IntArray

_TRIED = 2.0
"""A remote value with which the stream's part of a score is seen, where it is not with 0."""

_FEWEST = 16
_SIGNIFICANT = 6.0
_OUTER = 0.02
_FARTHEST = 50.0


def said(score_at: Callable[[IntArray, FloatArray], FloatArray], rows: IntArray) -> FloatArray:
    """What the stream says of some rows: how many powers of two its part of their score is.

    That is the score where the remote value is 0; where nothing is left of it then, as with a
    product, that where it is 2. Not a number if there is neither.

    Examples
    --------
    >>> mentions = np.array([1.0, 8.0])
    >>> said(lambda rows, remote: mentions[rows] + remote, np.array([0, 1])).tolist()
    [0.0, 3.0]
    >>> said(lambda rows, remote: mentions[rows] * remote, np.array([0, 1])).tolist()
    [1.0, 4.0]
    """
    alone, both = (score_at(rows, np.full(len(rows), each)) for each in (0.0, _TRIED))
    part = np.abs(np.where(np.isfinite(alone) & (alone != 0.0), alone, both))
    some = np.isfinite(part) & (part > 0.0)
    return np.where(some, np.log2(np.where(some, part, 1.0)), np.nan)


@dataclass(frozen=True, slots=True)
class Likeness:
    """How values go with what the stream says.

    Attributes
    ----------
    slope
        How much the logarithm of a value is greater for each power of two.
    middle
        Of what was said of the keys whose values are known.

    Examples
    --------
    >>> said, values = np.repeat(np.arange(8.0), 8), np.repeat(3.0 ** np.arange(8), 8)
    >>> likeness = Likeness.of(said, values * np.tile([0.9, 1.1], 32))
    >>> likeness.times(np.array([8.0, 0.0, np.nan])).round(-1).tolist()
    [140.0, 0.0, 0.0]
    """

    slope: float = 0.0
    middle: float = 0.0

    @staticmethod
    def of(said: FloatArray, values: FloatArray) -> Likeness:
        """From what was said of some keys, and their values. Their order does not matter."""
        use = np.isfinite(said) & np.isfinite(values) & (values != 0.0)
        count = int(np.count_nonzero(use))
        if count < _FEWEST:
            return ALIKE
        logs = np.log(np.abs(values[use]))
        # The outermost would decide alone.
        logs = np.clip(logs, *np.quantile(logs, [_OUTER, 1.0 - _OUTER]))
        x, y, xx, xy, yy = _sums(said[use], logs)
        across = xx - x * x / count
        if across <= 0.0:
            return ALIKE
        slope = (xy - x * y / count) / across
        left = max(0.0, yy - y * y / count - slope**2 * across) / (count - 2)
        doubt = _SIGNIFICANT * left / across
        kept = max(0.0, 1.0 - doubt / slope**2) if slope else 0.0
        return Likeness(slope * kept, x / count) if kept else ALIKE

    @property
    def is_clear(self) -> bool:
        """Whether values go with what the stream says at all."""
        return self.slope != 0.0

    def times(self, said: FloatArray) -> FloatArray:
        """How many times as great as in the middle values are, where this was said."""
        power = self.slope * (np.where(np.isnan(said), self.middle, said) - self.middle)
        return np.asarray(np.exp(np.clip(power, -_FARTHEST, _FARTHEST)))


ALIKE = Likeness()
"""What the stream says means nothing for values."""


def times_as_great(
    likeness: Likeness,
    score_at: Callable[[IntArray, FloatArray], FloatArray],
    rows: IntArray,
) -> FloatArray | None:
    """How many times as great the values of some rows are; None if all are alike."""
    return likeness.times(said(score_at, rows)) if likeness.is_clear else None


def _sums(x: FloatArray, y: FloatArray) -> tuple[float, ...]:
    """Of both, and of their squares and products, as whole numbers: no order rounds otherwise."""
    x = np.rint(np.clip(x, -(2.0**10), 2.0**10) * 2.0**10)
    y = np.rint(y * 2.0**10)
    sums = (x, y, x * x, x * y, y * y)
    scales = (2.0**10, 2.0**10, 2.0**20, 2.0**20, 2.0**20)
    return tuple(
        float(each.astype(np.int64).sum()) / scale for each, scale in zip(sums, scales, strict=True)
    )
