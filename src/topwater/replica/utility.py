"""What an answer loses when one of its keys is not where it was thought to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray

Aim = Literal["relevance", "accuracy"]

_WEIGHTS: dict[Aim, tuple[float, float]] = {"relevance": (1.0, 0.0), "accuracy": (0.05, 0.95)}


@dataclass(frozen=True, slots=True)
class Utility:
    """A mix of nDCG@k and precision@k over a ranking of n keys, in closed form.

    Moving one key from place i to place j shifts those between by one. The gain of a place is
    2^(n − place) − 1, so sums over the shifted places are differences of running sums: O(1) a
    move, after O(n) to prepare.
    """

    n: int
    k: int
    ndcg_weight: float
    precision_weight: float
    gain: FloatArray
    discount: FloatArray
    risen: FloatArray
    sunk: FloatArray

    @staticmethod
    def over(n: int, k: int, aim: Aim) -> Utility:
        """For a ranking of n keys of which k are shown."""
        shown = min(k, n)
        gain = gains(n)
        discount = np.zeros(n)
        discount[:shown] = 1.0 / np.log2(np.arange(2, shown + 2))
        up = np.zeros(n + 1)
        down = np.zeros(n + 1)
        # Others move up one place (their gain is the better one) when the key sinks past them.
        # Summed from the end, where gains are smallest: else they drown in the first ones.
        up[1:n] = -_sums_to_end((gain[:-1] - gain[1:]) * discount[1:])
        down[: n - 1] = -_sums_to_end((gain[1:] - gain[:-1]) * discount[:-1])
        return Utility(n, shown, *_WEIGHTS[aim], gain, discount, up, down)

    @property
    def ideal(self) -> float:
        """The discounted gain of a perfect answer."""
        return float(self.gain[: self.k] @ self.discount[: self.k])

    def loss(self, shown_at: IntArray, truly_at: IntArray) -> FloatArray:
        """What is lost when a key is shown at one place and belongs to another (from 0)."""
        i, j = np.broadcast_arrays(shown_at, truly_at)
        crossed = (i < self.k) != (j < self.k)
        return self._mix(self._ndcg_loss(i, j), crossed)

    def absence(self, truly_at: IntArray) -> FloatArray:
        """What is lost when a key is not shown at all, and belongs to a place (from 0).

        As if it were shown at the last place, without what it would gain there.
        """
        last = np.full_like(truly_at, self.n - 1)
        missed = self.gain[truly_at] * self.discount[last] / self.ideal
        return self._mix(self._ndcg_loss(last, truly_at) + missed, truly_at < self.k)

    def _ndcg_loss(self, i: IntArray, j: IntArray) -> FloatArray:
        own = (self.gain[j] - self.gain[i]) * self.discount[i]
        others = np.where(
            j > i, self.risen[j + 1] - self.risen[i + 1], self.sunk[i] - self.sunk[np.minimum(i, j)]
        )
        return np.asarray(-(own + others) / self.ideal)

    def _mix(self, ndcg: FloatArray, wrong: BoolArray) -> FloatArray:
        return np.asarray(self.ndcg_weight * ndcg + self.precision_weight * wrong / self.k)


def _sums_to_end(terms: FloatArray) -> FloatArray:
    return np.asarray(np.cumsum(terms[::-1])[::-1])


def weights(aim: Aim) -> tuple[float, float]:
    """What nDCG@k and precision@k count."""
    return _WEIGHTS[aim]


def gains(n: int) -> FloatArray:
    """The gain of each place, as a share of 2^n: 2^(n − place) − 1, place from 0."""
    return np.asarray(np.exp2(-np.arange(n, dtype=np.float64)) - np.exp2(-float(n)))
