"""What the value of a key that was never read could be: a draw from those that were.

Which keys are read first does not depend on their values, so the values that are known are a fair
sample. Between them the distribution is taken as it is; beyond the last twenty at either end it is
continued, since among many keys the few that matter lie beyond all that were seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topwater.model import FloatArray

FEWEST = 16
"""With fewer values nothing can be said of the others."""

_ENDS = 20
_BODY = 96
_STEPS = 36
_MOST = 4_096
_DRAWS = 1_024
_GREATEST = 600.0
"""Logarithms beyond this are no numbers any more."""

_LIMIT = 1e307


@dataclass(frozen=True)
class Population:
    """The distribution of a value, as points with chances.

    Attributes
    ----------
    known
        The values it was made from, ascending.

    Examples
    --------
    >>> population = Population(np.arange(1.0, 101.0))
    >>> population.median, population.usable
    (50.5, True)
    >>> float(population.chances.sum().round(6)), bool(population.points[-1] > 100)
    (1.0, True)
    """

    known: FloatArray

    @property
    def usable(self) -> bool:
        """Whether enough values are known, and differ."""
        return len(self.known) >= FEWEST and bool(self.known[-1] > self.known[0])

    @property
    def median(self) -> float:
        """In the middle of the values that are known; 0 if none is."""
        if not len(self.known):
            return 0.0
        low, high = self.known[(len(self.known) - 1) // 2], self.known[len(self.known) // 2]
        return float(low / 2 + high / 2)

    @property
    def points(self) -> FloatArray:
        """Values, ascending."""
        return self._table[0]

    @property
    def chances(self) -> FloatArray:
        """How likely each of them is."""
        return self._table[1]

    @cached_property
    def draws(self) -> FloatArray:
        """Values, ascending, all equally likely."""
        shares = (np.arange(_DRAWS) + 0.5) / _DRAWS
        return np.asarray(self.points[np.searchsorted(np.cumsum(self.chances)[:-1], shares)])

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        values = self.known
        if len(values) > _MOST:
            values = values[((np.arange(_MOST) + 0.5) * (len(values) / _MOST)).astype(np.int64)]
        powers = bool(values[0] > 0)
        scale = np.log(values) if powers else values
        points, chances = _continued(scale)
        if powers:
            points = np.exp(np.minimum(points, _GREATEST))
        return points, chances


NOBODY = Population(np.empty(0))
"""Nothing is known of anybody."""


def _continued(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and chances: the body as it is, both ends continued."""
    count = len(values)
    ends = min(_ENDS, count // 4)
    edge = ends / count
    shares = edge + (np.arange(_BODY) + 0.5) / _BODY * (1.0 - 2.0 * edge)
    body = np.quantile(values, shares)
    high, chances = _end(values, ends)
    low, _ = _end(-values[::-1], ends)
    points = np.concatenate([-low[::-1], body, high])
    inside = np.full(_BODY, (1.0 - 2.0 * edge) / _BODY)
    return points, np.concatenate([chances[::-1], inside, chances])


def _end(values: FloatArray, ends: int) -> tuple[FloatArray, FloatArray]:
    """The upper end: −ln of the chance to be above grows by αx + βx², fitted above the median.

    A straight line is an exponential end (of logarithms: a power law), a parabola a normal one.
    """
    count = len(values)
    # In units of the range, so that the squares of the largest numbers are some.
    unit = float(max(values[-1] / 2 - values[0] / 2, 1e-300))
    values = values / unit
    middle = values[count // 2]
    above = values[count // 2 + 1 :] - middle
    rank = np.arange(len(above), 0, -1)
    growth = -np.log(np.minimum(1.0, 2.0 * (rank - 0.5) / count))
    line, parabola = _fitted(above, growth, rank.astype(np.float64))
    edges = ends / count * 2.0 ** (-np.arange(_STEPS + 1) / 2.0)
    chances = -np.diff(np.append(edges[:-1], 0.0))
    level = -np.log(2.0 * np.sqrt(edges[:-1] * np.append(edges[1:-1], edges[-1])))
    start = float(np.quantile(values, 1.0 - ends / count))
    beyond = _inverse(level, line, parabola) - _inverse(
        np.array([-np.log(2.0 * ends / count)]), line, parabola
    )
    return np.clip(start + np.maximum(beyond, 0.0), -_LIMIT / unit, _LIMIT / unit) * unit, chances


def _fitted(x: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """The best α, β ≥ 0 for y = αx + βx²."""
    square = x * x
    xx, xs, ss = (float((weight * a * b).sum()) for a, b in ((x, x), (x, square), (square, square)))
    xy, sy = float((weight * x * y).sum()), float((weight * square * y).sum())
    whole = xx * ss - xs * xs
    if whole > 1e-12 * xx * ss:
        line, parabola = (xy * ss - sy * xs) / whole, (sy * xx - xy * xs) / whole
        if line >= 0 and parabola >= 0:
            return line, parabola
    line, parabola = (xy / xx if xx > 0 else 0.0), (sy / ss if ss > 0 else 0.0)
    off = [float((weight * (y - a * x - b * square) ** 2).sum()) for a, b in _alone(line, parabola)]
    return _alone(line, parabola)[int(np.argmin(off))]


def _alone(line: float, parabola: float) -> list[tuple[float, float]]:
    return [(line, 0.0), (0.0, parabola)]


def _inverse(level: FloatArray, line: float, parabola: float) -> FloatArray:
    """Where αx + βx² reaches each level."""
    level = np.maximum(level, 0.0)
    if parabola > 0:
        return np.asarray((np.sqrt(line * line + 4.0 * parabola * level) - line) / (2.0 * parabola))
    return level / line if line > 0 else np.zeros(len(level))
