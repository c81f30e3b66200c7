"""Users whose following changes, at any time, without end; the same for the same seed."""

from __future__ import annotations

import functools

import numpy as np

from topwater.model import FloatArray, IntArray, Millis
from topwater.remote.known_changes import Steps
from topwater_lab.experiments.generated_evening import LENGTH, START, USERS, make_evening
from topwater_lab.experiments.workloads import changing

FIRST = 1_000
"""The key of the first user."""

CHANGING = 20
"""Of 100 users, how many show another growth at each count."""

_APART = 2_503
"""Between the seeds of evenings that are next to each other."""


class Followers:
    """How many followers each user has at a time: made-up evenings, played to and fro.

    The first 400 users are those of the generated evening with the same seed. More users are more
    evenings, next to it. Since an evening is played forwards, then backwards, counts never jump.

    Examples
    --------
    >>> some = Followers(users=500, seed=1)
    >>> some.at(np.array([1_000, 1_499, 1_500]), START).tolist()
    [15990.0, 88512.0, nan]
    >>> some.growth_at(np.array([1_000, 1_499, 1_500]), START).tolist()
    [11.0, 16.0, nan]
    """

    def __init__(self, users: int, seed: int) -> None:
        self.keys: IntArray = FIRST + np.arange(users, dtype=np.int64)
        self._seeds = [seed + each * _APART for each in range(-(-users // USERS))]
        self._evenings = [make_evening(each) for each in self._seeds]

    def at(self, keys: IntArray, now: Millis) -> FloatArray:
        """The counts of these users; NaN for those that there are not."""
        return self._read([evening.followers for evening in self._evenings], keys, now)

    def growth_at(self, keys: IntArray, now: Millis) -> FloatArray:
        """How much their following grew lately, with the noise of AcquaTop's experiments."""
        return self._read(self._growth, keys, now)

    @functools.cached_property
    def _growth(self) -> list[Steps]:
        pairs = zip(self._evenings, self._seeds, strict=True)
        return [changing(evening.growth, CHANGING, seed) for evening, seed in pairs]

    def _read(self, courses: list[Steps], keys: IntArray, now: Millis) -> FloatArray:
        places = keys - FIRST
        values = np.full(len(keys), np.nan)
        known = (places >= 0) & (places < len(self.keys))
        phase = (now - START) % (2 * LENGTH)
        moment = START + min(phase, 2 * LENGTH - phase)
        for number, course in enumerate(courses):
            here = known & (places // USERS == number)
            if here.any():
                values[here] = course.at(FIRST + places[here] % USERS, moment)
        return values
