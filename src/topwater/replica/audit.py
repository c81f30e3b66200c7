"""How right answers are by look-ups drawn at random: an estimate that trusts no model.

A few keys of a window are drawn, each with a chance that is known and never 0, and looked up. Of
those that are shown it is seen whether they have fallen below the border of the answer, of the
others whether they have risen above it. A key that was drawn with chance p stands for 1/p keys; and
since it is right once it was looked up, what remains wrong are (1 − p)/p.

The border lies between the last key shown and the first that is not. If so many fell below it and
so many rose above it, the wrong keys of an answer are as many as one of the two, or between them:
where the border truly is, both are the same. Their mean is taken.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from topwater.model import BoolArray, FloatArray

DRAWS = 200
"""So many of the last draws count."""

FEWEST = 30
"""With fewer nothing is said."""

_LATELY = 0.05
_Z = 1.96
_FADES = 1.0 - 1.0 / 1_000
"""What one more draw leaves of those before, where all together tell how far off answers are."""

_USUAL = 0.04
"""So far off, as a standard deviation over thirteen kinds of worlds, is what answers say."""


class Estimate(NamedTuple):
    """How right answers are, and between what this lies in 95 of 100 cases."""

    precision: float
    low: float
    high: float


@dataclass
class Audit:
    """Draws keys, and says how right answers were by what came of it.

    Attributes
    ----------
    share
        Of the look-ups: so many are drawn.
    usual, due
        How many look-ups windows have, and how many draws are due. All windows have as many draws,
        also those that need more look-ups than others.
    errors, weights, claims
        Of each draw: what share of an answer it says is wrong, what that would be if its key were,
        and how right the answer said it was.
    sums
        Of all draws, older ones counting less: how many, by how much answers said too much, and
        the squares of what they found to be wrong, as they came and as answers said.

    Examples
    --------
    >>> audit = Audit(0.1)
    >>> [audit.wanted() for _ in range(4) if audit.note_spent(25) is None]
    [2, 3, 2, 3]
    """

    share: float
    usual: float | None = None
    due: float = 0.0
    errors: FloatArray = field(default_factory=lambda: np.empty(0))
    weights: FloatArray = field(default_factory=lambda: np.empty(0))
    claims: FloatArray = field(default_factory=lambda: np.empty(0))
    sums: FloatArray = field(default_factory=lambda: np.zeros(4))

    def note_spent(self, look_ups: int) -> None:
        """Take note of how many look-ups a window has."""
        before = look_ups if self.usual is None else self.usual
        self.usual = before + _LATELY * (look_ups - before)

    def wanted(self) -> int:
        """How many keys are to be drawn for a window."""
        self.due += self.share * (self.usual or 0.0)
        count = int(self.due + 1e-9)
        self.due -= count
        return count

    def note(self, wrong: BoolArray, weight: FloatArray, claim: float, k: int) -> None:
        """Take note of the draws of one window.

        Parameters
        ----------
        wrong
            Whether each key that was drawn is on the wrong side of the border.
        weight
            For how many keys that stay as they are each stands.
        claim
            How right the answer says it is.
        k
            How many keys are shown.
        """
        each = weight / (2.0 * max(1, k))
        error = np.where(wrong, each, 0.0)
        self.errors = _kept(self.errors, error)
        self.weights = _kept(self.weights, each)
        self.claims = _kept(self.claims, np.full(len(wrong), claim))
        apart = error - (1.0 - claim)
        found = [len(error), apart.sum(), (error**2).sum(), (each * (1.0 - claim)).sum()]
        self.sums = self.sums * _FADES ** len(error) + np.array(found)

    @property
    def estimate(self) -> Estimate | None:
        """How right answers were; None before there were enough draws."""
        if len(self.errors) < FEWEST:
            return None
        low, high = weighted_poisson(self.errors, float(self.weights.mean()))
        right = (1.0 - each for each in (float(self.errors.mean()), high, low))
        return Estimate(*(min(1.0, max(0.0, each)) for each in right))

    @property
    def claim(self) -> float:
        """How right those answers said they were."""
        return float(self.claims.mean())

    @property
    def contradicts(self) -> bool:
        """Whether what answers said can't be."""
        found = self.estimate
        return found is not None and not found.low <= self.claim <= found.high

    @property
    def excess(self) -> float:
        """By how much answers say they are more right than they are; less than 0 where it is less.

        What can't be, by the interval, counts in full. Else estimates are mostly good, and draws
        tell little one by one: what was found counts by as much as it is sure, next to how far off
        estimates usually are. As long as fewer errors came than answers say there are, it is as
        unsure as if these had come.
        """
        count, apart, *squares = self.sums.tolist()
        if not count:
            return 0.0
        doubt = max(squares) / count**2
        likely = float(apart / count * _USUAL**2 / (_USUAL**2 + doubt))
        return max(likely, self._beyond, key=abs)

    @property
    def _beyond(self) -> float:
        """By how much what answers said lies outside of the interval."""
        found = self.estimate
        return 0.0 if found is None else self.claim - min(max(self.claim, found.low), found.high)

    def snapshot(self) -> dict[str, Any]:
        """For JSON."""
        numbers = np.stack([self.errors, self.weights, self.claims]).astype(np.float32)
        return {
            "usual": self.usual,
            "due": self.due,
            "draws": b64encode(numbers.tobytes()).decode(),
            "sums": self.sums.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """What :meth:`snapshot` gave."""
        self.usual, self.due = state["usual"], state["due"]
        numbers = np.frombuffer(b64decode(state["draws"]), np.float32).reshape(3, -1)
        self.errors, self.weights, self.claims = numbers.astype(np.float64)
        self.sums = np.array(state.get("sums", np.zeros(4)), np.float64)


def weighted_poisson(errors: FloatArray, weight: float) -> tuple[float, float]:
    """Between what the mean of rare, weighted errors lies, in 95 of 100 cases.

    By the gamma distribution that has their mean and variance (Fay and Feuer), with one error more
    of the mean weight for the upper end: so it says something also where there was no error yet.
    """
    n, total, squares = len(errors), float(errors.sum()), float((errors**2).sum())
    low = _gamma(total, squares, -_Z) if total > 0 else 0.0
    return low / n, _gamma(total + weight, squares + weight**2, _Z) / n


def _gamma(mean: float, variance: float, z: float) -> float:
    """A quantile of the gamma distribution with so much mean and variance (Wilson and Hilferty)."""
    shape = mean * mean / variance
    return mean * max(0.0, 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * math.sqrt(shape))) ** 3


def _kept(before: FloatArray, more: FloatArray) -> FloatArray:
    """As they are kept in a state."""
    found = np.concatenate([before, more])[-DRAWS:]
    return found.astype(np.float32).astype(np.float64)
