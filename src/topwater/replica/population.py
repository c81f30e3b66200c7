"""What the value of a key that was never read could be: a draw from those that were.

Which keys are read first does not depend on their values, so the values that are known are a fair
sample. Between them the distribution is taken as it is; beyond the greatest and the least it is
continued, since among many keys the few that matter lie beyond all that were seen.

How many of the others lie above the greatest of n values is hardly known: its share is 1 in n + 1
on average, but may as well be three times that, or a tenth. So a world has shares of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topwater.model import FloatArray
from topwater.replica.likeness import ALIKE, Likeness
from topwater.replica.tails import Tail

FEWEST = 16
"""With fewer values nothing can be said of the others."""

_ENDS = 20
_BODY = 96
_STEPS = 9
_BEYOND = 18
_MOST = 16_384
_DRAWS = 1_024
_LIMIT = 1e307
_LATTICE = 1e-6


@dataclass(frozen=True)
class Population:
    """The distribution of a value, as points with chances.

    Attributes
    ----------
    known
        The values it was made from, ascending; as if the stream said the same of all their keys.
    likeness
        How values go with what the stream says of a key.

    Examples
    --------
    >>> population = Population(np.arange(1.0, 101.0))
    >>> population.median, population.usable
    (50.5, True)
    >>> float(population.chances.sum().round(6)), bool(population.points[-1] > 100)
    (1.0, True)
    """

    known: FloatArray
    likeness: Likeness = ALIKE

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

    @property
    def high(self) -> float:
        """A value beyond nearly all others."""
        return float(self.points[-_BEYOND])

    @cached_property
    def draws(self) -> FloatArray:
        """Values, ascending, all equally likely."""
        shares = (np.arange(_DRAWS) + 0.5) / _DRAWS
        return np.asarray(self.points[np.searchsorted(np.cumsum(self.chances)[:-1], shares)])

    def in_worlds(self, worlds: int, rng: np.random.Generator) -> FloatArray:
        """How likely each of the points is in some worlds: a row a world.

        All of these would have given such values as are known. The shares of what lies between
        them are as those of so many numbers drawn evenly; of what lies beyond, all are as likely
        as the first of it.
        """
        if not self.usable:
            return np.empty((worlds, 0))
        alone = len(self.chances) - 2 * _BEYOND
        first = np.append(0, np.arange(_BEYOND, _BEYOND + alone + 1))
        weight = np.add.reduceat(self.chances, first)
        share = rng.standard_gamma(weight * len(self.known), (worlds, len(weight)))
        share /= share.sum(axis=1, keepdims=True) * weight
        times = np.repeat(share, [_BEYOND, *[1] * alone, _BEYOND], axis=1)
        return np.asarray(times * self.chances)

    def drawn(self, chances: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """So many values for each of some worlds, by the chances of the points in them."""
        worlds = len(chances)
        steps = np.cumsum(chances, axis=1)
        steps = steps / steps[:, -1:] + np.arange(worlds)[:, None]
        lots = rng.random((worlds, count)) + np.arange(worlds)[:, None]
        at = np.searchsorted(steps.ravel(), lots.ravel(), side="right")
        of_world = np.repeat(np.arange(worlds) * chances.shape[1], count)
        at = np.minimum(at - of_world, chances.shape[1] - 1)
        return np.asarray(self.points[at].reshape(worlds, count))

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        values = self.known
        if not self.usable:
            return np.empty(0), np.empty(0)
        if len(values) > _MOST:
            values = values[((np.arange(_MOST) + 0.5) * (len(values) / _MOST)).astype(np.int64)]
        unit = float(max(-values[0], values[-1]))
        values = values / unit
        step = _step_of(values)
        points, chances = _continued(_spread(values, step))
        if step:
            points = values[0] + np.rint((points - values[0]) / step) * step
        return np.clip(points, -_LIMIT / max(unit, 1.0), _LIMIT / max(unit, 1.0)) * unit, chances


NOBODY = Population(np.empty(0))
"""Nothing is known of anybody."""


def _step_of(values: FloatArray) -> float:
    """What all of these values are multiples of, if many are equal; else 0."""
    distinct = np.unique(values)
    if 2 * len(distinct) > len(values):
        return 0.0
    apart = np.diff(distinct)
    step = float(apart.min())
    off = apart / step
    return step if np.abs(off - np.rint(off)).max() < _LATTICE * off.max() else 0.0


def _spread(values: FloatArray, step: float) -> FloatArray:
    """Equal values, spread over the step that each of them stands for."""
    if not step:
        return values
    _, first, count = np.unique(values, return_index=True, return_counts=True)
    rank = np.arange(len(values)) - np.repeat(first, count)
    return np.asarray(values + ((rank + 0.5) / np.repeat(count, count) - 0.5) * step)


def _continued(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and chances: the body as it is, both ends continued."""
    count = len(values)
    ends = min(_ENDS, count // 4)
    edge = ends / (count + 1)
    powers = bool(values[0] > 0)
    scale = np.log(values) if powers else values
    body = _above(scale, edge + (np.arange(_BODY) + 0.5) / _BODY * (1.0 - 2.0 * edge))[::-1]
    edges = np.geomspace(ends, 1.0, _STEPS + 1) / (count + 1)
    levels = np.sqrt(edges[1:] * edges[:-1])
    high, low = _above(scale, levels), _above(scale, 1.0 - levels)
    if powers:
        high, body, low = np.exp(high), np.exp(body), np.exp(low)
    beyond = 2.0 ** -np.arange(_BEYOND)
    tried, last = beyond * np.sqrt(0.5), np.append(-np.diff(beyond), beyond[-1]) / (count + 1)
    top = _tail(values).beyond(tried)
    bottom = _bottom(values, tried) if powers else -_tail(-values[::-1]).beyond(tried)
    points = np.concatenate([bottom[::-1], low[::-1], body, high, top])
    inside = np.full(_BODY, (1.0 - 2.0 * edge) / _BODY)
    steps = -np.diff(edges)
    chances = np.concatenate([last[::-1], steps[::-1], inside, steps, last])
    return points, chances


def _above(values: FloatArray, shares: FloatArray) -> FloatArray:
    """The values that are exceeded with these chances: the r-th of n is, with r in n + 1."""
    count = len(values)
    return np.asarray(np.interp(shares * (count + 1), np.arange(1, count + 1), values[::-1]))


def _bottom(values: FloatArray, tried: FloatArray) -> FloatArray:
    """The end below the least of values that are all positive: so is what lies beyond."""
    depths = -np.log(values)[::-1]
    deepest = depths[-1]
    return np.asarray(np.exp(-deepest - _tail(depths - deepest).beyond(tried)))


def _tail(values: FloatArray) -> Tail:
    """The end above the greatest of these values, by as many of them as tell something of it."""
    count = len(values)
    return Tail.of(values[-1 - int(min(count / 4, 3.0 * np.sqrt(count))) :])
