"""On which scale values move: by so much, or by such a share of what they are.

Follower counts and prices move in proportion to their size: a change in units that was seen of a
small one says nothing of a large one. Their logarithms move alike. Which of the two scales predicts
look-ups better is seen with the simplest model on each: a value that changed lies around the one
before, as far as changes go on average.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topwater.model import FloatArray

FIRST_PAIRS = 8.0
"""How the values known at first are spread counts as much as so many changes."""

_SURE, _KEPT = 0.3, 0.15
"""By so many nats a change logarithms have to be ahead before they are taken, and as long as they
are. Where values move in proportion it is 0.7 or more; where a few are far off, 0.1."""

_MOST = 10.0
_FADES = 0.999
TINY, _FARTHEST = 1e-300, 600.0
_SPREAD = 0.5
"""How far a change goes before any was seen, by how far values are apart."""


class Proportions:
    """Says whether values are to be taken as their logarithms.

    Attributes
    ----------
    on
        Whether they are.
    positive
        Whether all values so far have a logarithm.
    sums
        Of changes, older ones counting less: their weight, by how much logarithms predicted them
        better, and how far they went on each scale.

    Examples
    --------
    >>> proportions = Proportions()
    >>> values = 10.0 ** np.arange(-3, 4)
    >>> proportions.start(values)
    >>> proportions.observe(values, 1.1 * values)
    >>> proportions.on
    True
    """

    def __init__(self) -> None:
        self.on = False
        self.positive = True
        self.sums: FloatArray = np.zeros(4)

    def start(self, values: FloatArray) -> None:
        """Begin with values that are known: how they differ tells how they may move."""
        self.positive, self.sums = bool(values.min() > 0.0), np.zeros(4)
        if self.positive:
            logs = np.log(values)
            off, farther = values - values.mean(), logs - logs.mean()
            sizes = np.array([np.abs(off).mean(), np.abs(farther).mean()])
            lead = _lead(off, farther, logs, sizes) if sizes.all() else np.zeros(1)
            self.sums = FIRST_PAIRS * np.array([1.0, lead.mean(), *(_SPREAD * sizes)])
        # Before a change was seen, nothing says that there are any.
        self.on = False

    def observe(self, before: FloatArray, after: FloatArray) -> None:
        """Learn from values that changed."""
        if not self.admits(before) or not self.admits(after):
            return
        logs = np.log(after)
        off, farther = after - before, logs - np.log(before)
        weight, _, *sizes = self.sums.tolist()
        found = [np.abs(off).sum(), np.abs(farther).sum()]
        lead = np.zeros(1)
        if weight > 0.0 and min(sizes) > 0.0:
            lead = _lead(off, farther, logs, np.array(sizes) / weight)
        self.sums = self.sums * _FADES ** len(off) + np.array([len(off), lead.sum(), *found])
        self._decide()

    def admits(self, values: FloatArray) -> bool:
        """Whether all values so far have logarithms, these too; else none is taken any more."""
        if self.positive and values.min(initial=np.inf) <= 0.0:
            self.positive = False
            self._decide()
        return self.positive

    def taken(self, values: FloatArray) -> FloatArray:
        """Values on the scale on which they move."""
        return np.log(np.maximum(values, TINY)) if self.on else values

    @property
    def size(self) -> FloatArray:
        """How far a change goes on average: by so much, and by such a share."""
        return np.maximum(self.sums[2:] / max(float(self.sums[0]), TINY), TINY)

    def _decide(self) -> None:
        sure = _KEPT if self.on else _SURE
        self.on = self.positive and bool(self.sums[1] > sure * self.sums[0])

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        return {"on": self.on, "positive": self.positive, "sums": self.sums.tolist()}

    def restore_facts(self, facts: dict[str, Any]) -> None:
        """What :meth:`facts` gave."""
        self.on, self.positive = facts["on"], facts["positive"]
        self.sums = np.array(facts["sums"])


def values_of(logarithms: FloatArray) -> FloatArray:
    """The values that have these logarithms; all are numbers."""
    return np.asarray(np.exp(np.clip(logarithms, -_FARTHEST, _FARTHEST)))


def _lead(off: FloatArray, farther: FloatArray, logs: FloatArray, sizes: FloatArray) -> FloatArray:
    """By how much better logarithms predict each value; their density is turned into one of it."""
    found = log_likelihood(farther, sizes[1]) - logs - log_likelihood(off, sizes[0])
    return np.asarray(np.clip(found, -_MOST, _MOST))


def log_likelihood(off: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Of being so far off, by Student's t with 4 degrees of freedom."""
    scale = np.maximum(scale, 1e-12 * (1.0 + np.abs(off)))
    return np.asarray(-2.5 * np.log1p((off / scale) ** 2 / 4) - np.log(scale))
