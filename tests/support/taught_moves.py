"""What was learnt of values that move in some way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from topwater.model import FloatArray
from topwater.replica.look_ups import Polls
from topwater.replica.ways_to_move import WaysToMove

KEYS = 200
SLOTS = np.arange(KEYS)
OWN = np.random.default_rng(9).normal(50, 10, KEYS)
Course = Callable[[np.random.Generator, int, FloatArray], FloatArray]


def taught(course: Course, turns: int = 25, seed: int = 3) -> tuple[WaysToMove, FloatArray]:
    """Every key is polled after one to nine changes, each a minute after the last."""
    rng = np.random.default_rng(seed)
    values = rng.normal(50, 10, KEYS)
    model, minute = WaysToMove(), 0
    model.start(values)
    for _ in range(turns):
        changes = int(rng.integers(1, 10))
        after = values
        for _ in range(changes):
            minute += 1
            after = course(rng, minute, after)
        seconds = np.full(KEYS, 60.0 * changes)
        polls = Polls(0, SLOTS, seconds, SLOTS >= 0, values, after, SLOTS)
        model.observe(polls, np.full(KEYS, float(changes)))
        model.pool(SLOTS)
        values = after
    return model, values
