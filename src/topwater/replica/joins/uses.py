"""In how many answers a look-up is of use: until its value would be read anyway, or changes.

A value that was read T windows ago is read again because it may be another by now. What that
brings is not only this answer: it is right for some windows more. But one that could as well be
read in the next window loses little by waiting, and one that changes soon is soon wrong again. Both
are in one number, the price at which it does not matter whether a value is read every T windows or
every T + 1: with f the chance to stay the same for a window, and each window counting d times as
much as the one before,

    1 + df + … + (df)^(T−1)  −  f^T · (1 + d + … + d^(T−1))

This is Whittle's index of the value. It lets sources be compared whose values change at rates that
differ by orders of magnitude: the slow ones are not read often, but once read they last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topwater.model import FloatArray, IntArray
from topwater.replica.rate_beliefs import RateBeliefs
from topwater.windows import Windows

AHEAD, DECAY = 40, 0.95
"""How many windows count, and how much each counts next to the one before."""

_LEAST = 1e-9


class Aged(NamedTuple):
    """Some values, with how many seconds ago each was read, and how many hints came since."""

    slots: IntArray
    seconds: FloatArray
    hinted: IntArray


def uses(rates: RateBeliefs, aged: Aged, presence: FloatArray, windows: Windows) -> FloatArray:
    """In how many answers, this one included, a look-up of each value is of use if it is stale.

    Parameters
    ----------
    rates
        What is believed of how often they change.
    aged
        The values.
    presence
        In what share of the windows each is of use at all, beyond those that it is in now.
    windows
        What is answered.
    """
    beliefs, right = rates.of(aged.slots, aged.seconds), 1.0 - rates.worn(aged.seconds, aged.hinted)
    step = windows.step / 1_000
    past = np.minimum(aged.seconds / step, AHEAD)
    past = np.maximum(1, np.rint(past)).astype(np.int64)
    here = np.minimum(past, windows.overlap)
    ahead = np.arange(AHEAD, dtype=np.float64)
    weight = np.power(DECAY, ahead)
    counted = _sums(weight)
    fresh = _sums(weight * np.exp(-np.outer(rates.grid, ahead * step)))
    away = 1.0 - presence
    read = presence[:, None] * fresh[:, past].T + away[:, None] * fresh[:, here].T
    unread = right * (presence * counted[past] + away * counted[here])[:, None]
    stale = (beliefs * (1.0 - right)).sum(axis=1)
    index = (beliefs * (read - unread)).sum(axis=1)
    found = np.divide(index, stale, out=np.ones(len(stale)), where=stale > _LEAST)
    return np.asarray(np.maximum(found, 0.0))


def _sums(given: npt.ArrayLike) -> FloatArray:
    """The sums of the first 0, 1, 2, … terms, along the last axis."""
    terms = np.asarray(given, np.float64)
    return np.concatenate([np.zeros((*terms.shape[:-1], 1)), np.cumsum(terms, axis=-1)], axis=-1)
