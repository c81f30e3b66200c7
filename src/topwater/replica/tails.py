"""How far values reach beyond all that were seen: what follows from the greatest of them.

Above a high threshold u most distributions are alike: the chance to be above u + x falls like
(1 + ξx/σ)^(−1/ξ), with a bounded end for ξ < 0, an exponential one for ξ = 0, and a heavy one for
ξ > 0. Of powers of ten the same is true of their logarithms. Both are tried, with many ξ and σ, and
all of them count, by how well they explain what was seen (Zhang and Stephens, 2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topwater.model import BoolArray, FloatArray

_TRIED = 24
_USUAL: dict[bool, tuple[float, float]] = {False: (0.0, 0.3), True: (-0.05, 0.15)}
"""What ξ is without any evidence, and how far from it; and the same of logarithms."""

_HALVED = 60.0
_BISECTED = 14
_FARTHEST = 600.0
"""Logarithms beyond this can't be turned back into numbers."""


@dataclass(frozen=True)
class Tail:
    """A mixture of ends, all of which go on from the greatest value that was seen.

    Attributes
    ----------
    start, last
        The threshold, and the greatest value.
    powers
        Which ends are those of logarithms.
    pace, shape, weight
        Of each end ξ/σ, ξ, and how likely it is.
    """

    start: float
    last: float
    powers: BoolArray
    pace: FloatArray
    shape: FloatArray
    weight: FloatArray

    @staticmethod
    def of(values: FloatArray) -> Tail:
        """Of the greatest values, ascending; the first of them is the threshold.

        Examples
        --------
        >>> steps = np.arange(1, 65) / 64.5
        >>> Tail.of(4.0 + 3.0 * steps).beyond(np.array([0.5, 0.001])).round(1).tolist()
        [7.0, 7.8]
        >>> Tail.of(4.0 - 3.0 * np.log(1 - steps)).beyond(np.array([0.5])).round().tolist()
        [20.0]
        """
        start = float(values[0])
        logs = [False, True] if start > 0 else [False]
        found = [_ends(values, powers=powers) for powers in logs]
        pace, shape, likely = (np.concatenate(each) for each in zip(*found, strict=True))
        weight = np.exp(likely - likely.max(initial=-np.inf))
        powers = np.repeat(logs, [len(each[0]) for each in found])
        return Tail(start, float(values[-1]), powers, pace, shape, weight / weight.sum())

    def beyond(self, chances: FloatArray) -> FloatArray:
        """The values that one beyond all that were seen exceeds with these chances."""
        if not len(self.weight):
            return np.full(len(chances), self.last)
        # On a scale of logarithms, if there is one: else the farthest is too far.
        powers = bool(self.powers.any())
        last = np.log(self.last) if powers else self.last
        reach = np.maximum(self._farthest(chances, powers=powers) - last, 0.0)
        # How often that is halved is found by bisection.
        least, most = np.zeros(len(chances)), np.full(len(chances), _HALVED)
        for _ in range(_BISECTED):
            middle = (least + most) / 2.0
            above = self._above(last + reach * 2.0**-middle, powers=powers) > chances
            least, most = np.where(above, least, middle), np.where(above, middle, most)
        places = last + np.maximum.accumulate(reach * 2.0**-most)
        return np.asarray(np.exp(places) if powers else places)

    def _farthest(self, chances: FloatArray, *, powers: bool) -> FloatArray:
        """Where no end has less than these chances left."""
        with np.errstate(over="ignore"):
            reach = (self._at_last * chances[:, None] ** -self.shape - 1.0) / self.pace
            reach = np.minimum(reach, 1e300)
            if not powers:
                return np.asarray(self.start + reach.max(axis=1))
            far = np.where(
                self.powers, np.log(self.start) + reach, np.log(self.start + np.maximum(reach, 0.0))
            )
        return np.asarray(np.minimum(far.max(axis=1), _FARTHEST))

    def _above(self, places: FloatArray, *, powers: bool) -> FloatArray:
        """The chance to be above each place, of all ends, given that it is beyond the last."""
        values = np.exp(places) if powers else places
        reach = np.repeat((values - self.start)[:, None], len(self.weight), axis=1)
        if powers:
            reach[:, self.powers] = (places - np.log(self.start))[:, None]
        left = np.maximum(1.0 + self.pace * reach, 0.0) / self._at_last
        with np.errstate(divide="ignore", over="ignore"):
            chance = np.minimum(left ** (-1.0 / self.shape), 1.0)
        return np.asarray((chance * self.weight).sum(axis=1))

    @property
    def _at_last(self) -> FloatArray:
        reach = np.full(len(self.weight), self.last - self.start)
        if self.powers.any():
            reach[self.powers] = np.log(self.last / self.start)
        return np.asarray(np.maximum(1.0 + self.pace * reach, 1e-9))


def _ends(values: FloatArray, *, powers: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of the ends that are tried ξ/σ, ξ, and how well they explain these values, in logarithms."""
    above = np.log(values[1:] / values[0]) if powers else values[1:] - values[0]
    kept = above > 0
    above, count = above[kept], int(np.count_nonzero(kept))
    if not count:
        return np.empty(0), np.empty(0), np.empty(0)
    steps = np.arange(1, _TRIED + 1)
    quarter = max(above[max(0, int(count / 4 + 0.5) - 1)], 1e-9 * above[-1])
    inverse = 1.0 / above[-1] + (1.0 - np.sqrt(_TRIED / (steps - 0.5))) / (3.0 * quarter)
    pace = -inverse[np.abs(inverse) * above[-1] > 1e-9]
    shape = np.log1p(pace[:, None] * above).mean(axis=1)
    likely = count * (np.log(pace / shape) - shape - 1.0)
    usual, apart = _USUAL[powers]
    likely -= ((shape - usual) / apart) ** 2 / 2.0
    if powers:
        likely -= np.log(values[1:][kept]).sum()
    return pace, shape, likely
