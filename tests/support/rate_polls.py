"""Polls of values that change as Poisson processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.look_ups import Polls


def polls_of(
    rng: np.random.Generator, rate: FloatArray, least: float = 5.0, most: float = 90.0
) -> tuple[FloatArray, Any]:
    """One poll a key after an irregular time, of values that change as Poisson processes."""
    seconds = rng.uniform(least, most, len(rate))
    return seconds, rng.random(len(rate)) < -np.expm1(-rate * seconds)


def observed(slots: IntArray, seconds: FloatArray, changed: Any) -> Polls:
    none = np.zeros(len(slots))
    return Polls(0, slots, seconds, changed, none, none + changed, np.zeros(len(slots), np.int64))
