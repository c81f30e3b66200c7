"""Users whose follower counts change, at any time, without end; the same for the same seed."""

from __future__ import annotations

import numpy as np

from topwater.evaluate.generated import LENGTH, START, USERS, make_evening
from topwater.model import FloatArray, IntArray, Millis

FIRST = 1_000
"""The key of the first user."""


class Followers:
    """How many followers each user has at a time: made-up evenings, played to and fro.

    Each evening has 400 users. More users are more evenings, next to each other. Since an evening
    is played forwards, then backwards, counts never jump.

    Examples
    --------
    >>> some = Followers(users=500, seed=1)
    >>> some.at(np.array([1_000, 1_499, 1_500]), START).tolist()
    [46566.0, 88512.0, nan]
    """

    def __init__(self, users: int, seed: int) -> None:
        self.keys: IntArray = FIRST + np.arange(users, dtype=np.int64)
        evenings = range(-(-users // USERS))
        self._evenings = [make_evening(seed * 2_503 + each).followers for each in evenings]

    def at(self, keys: IntArray, now: Millis) -> FloatArray:
        """The counts of these users; NaN for those that there are not."""
        places = keys - FIRST
        counts = np.full(len(keys), np.nan)
        known = (places >= 0) & (places < len(self.keys))
        phase = (now - START) % (2 * LENGTH)
        moment = START + min(phase, 2 * LENGTH - phase)
        for number, evening in enumerate(self._evenings):
            here = known & (places // USERS == number)
            if here.any():
                counts[here] = evening.at(FIRST + places[here] % USERS, moment)
        return counts
