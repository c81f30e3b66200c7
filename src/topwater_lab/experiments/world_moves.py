"""Ways in which remote values move. Each gives the course of all keys of a made-up world.

Values lie around 20, most changes are of one to three, and a key changes every three minutes or so;
in cold worlds values spread over four powers of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray, Millis

MINUTE: Millis = 60_000
GROUPS = 8
EPOCH: Millis = 15 * MINUTE
"""How long the same keys are lively where liveliness moves from key to key."""

STORM: Millis = 25 * MINUTE
_STORMY = 0.24
"""From one storm to the next, and what share of it is stormy."""

_PACE = 0.36
"""Changes a minute."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a way to move may depend on.

    Attributes
    ----------
    rng
        Gives the same course for the same seed.
    keys, length
        How many keys there are, and for how long.
    times, rows
        The events, in order of time: when, and of which key.
    """

    rng: np.random.Generator
    keys: int
    length: Millis
    times: IntArray
    rows: IntArray

    def normal(self, mean: float, spread: float, count: int | None = None) -> FloatArray:
        """Draws, one a key if nothing else is said."""
        return self.rng.normal(mean, spread, self.keys if count is None else count)

    def paces(self, mean: float = _PACE) -> FloatArray:
        """How many changes a minute each key has: some few, some many."""
        return np.asarray(mean * np.exp(self.normal(-0.32, 0.8)))

    def moments(self, per_minute: FloatArray) -> Moments:
        """Moments of change at random, so many a minute for each key."""
        counts = self.rng.poisson(per_minute * self.length / MINUTE)
        rows = np.repeat(np.arange(self.keys), counts)
        return self.started(rows, self.rng.integers(1, self.length, len(rows)))

    def started(self, rows: IntArray, times: IntArray) -> Moments:
        """These moments of these keys, and the beginning of each key."""
        rows = np.concatenate([np.arange(self.keys), rows])
        times = np.concatenate([np.zeros(self.keys, np.int64), times])
        order = np.lexsort((times, rows))
        return Moments(rows[order], times[order])


class Moments(NamedTuple):
    """When values change: key by key, each from time 0 on."""

    rows: IntArray
    times: IntArray

    def kept(self, where: BoolArray) -> Moments:
        """Some of them; the beginnings always."""
        where = where | (self.times == 0)
        return Moments(self.rows[where], self.times[where])

    def summed(self, steps: FloatArray) -> FloatArray:
        """How far each key is from where it began, if it moves by these steps."""
        total = np.cumsum(steps)
        began = np.searchsorted(self.rows, self.rows)
        return np.asarray(total - total[began])

    def course(self, values: FloatArray) -> Course:
        """These values from these moments on."""
        return Course(self.times, self.rows, values)


class Course(NamedTuple):
    """Snapshots: when, of which key, and its value from then on."""

    times: IntArray
    rows: IntArray
    values: FloatArray


def levels(scene: Scene) -> Course:
    """Each key has a level, and a change is a new draw around it."""
    moments = scene.moments(scene.paces())
    return moments.course(scene.normal(20, 4)[moments.rows] + scene.normal(0, 2, len(moments.rows)))


def walks(scene: Scene) -> Course:
    """A change goes on from where the value was, and nothing brings it back."""
    moments = scene.moments(scene.paces())
    moved = moments.summed(scene.normal(0, 1.2, len(moments.rows)))
    return moments.course(scene.normal(20, 4)[moments.rows] + moved)


def trends(scene: Scene) -> Course:
    """Each key rises or falls at a pace of its own."""
    moments = scene.moments(scene.paces())
    minutes = moments.times / MINUTE
    drift = scene.normal(0, 0.15)[moments.rows] * minutes
    noise = scene.normal(0, 0.4, len(moments.rows))
    return moments.course(scene.normal(20, 4)[moments.rows] + drift + noise)


def seasons(scene: Scene) -> Course:
    """Waves of one length; each key has its own phase and height."""
    moments = scene.moments(scene.paces(1.0))
    turns = moments.times / (scene.rng.uniform(25, 45) * MINUTE)
    phase, height = scene.rng.random(scene.keys), scene.rng.uniform(2, 7, scene.keys)
    wave = height[moments.rows] * np.sin(2 * np.pi * (turns + phase[moments.rows]))
    noise = scene.normal(0, 0.3, len(moments.rows))
    return moments.course(scene.normal(20, 3)[moments.rows] + wave + noise)


def scales(scene: Scene) -> Course:
    """As levels, but some keys move ten times as far as others."""
    moments = scene.moments(scene.paces())
    scale = np.exp(scene.normal(0, 1.0))[moments.rows]
    moved = scale * scene.normal(0, 1, len(moments.rows))
    return moments.course(scene.normal(20, 4)[moments.rows] + moved)


def mixed(scene: Scene) -> Course:
    """A third of the keys stays near a level, a third walks, a third has a trend."""
    courses = [way(scene) for way in (levels, walks, trends)]
    way_of = scene.rng.integers(0, len(courses), scene.keys)
    mine = [way_of[course.rows] == way for way, course in enumerate(courses)]
    return Course(
        *(
            np.concatenate([part[own] for part, own in zip(parts, mine, strict=True)])
            for parts in zip(*courses, strict=True)
        )
    )


def groups(scene: Scene) -> Course:
    """All keys of a group change at the same moments, and nearly by the same."""
    group = scene.rng.integers(0, GROUPS, scene.keys)
    counts = scene.rng.poisson(0.2 * scene.length / MINUTE, GROUPS)
    common = [np.sort(scene.rng.integers(1, scene.length, count)) for count in counts]
    shifts = [scene.rng.normal(0, 4, count) for count in counts]
    rows = np.repeat(np.arange(scene.keys), counts[group])
    times = np.concatenate([common[each] for each in group])
    moments = scene.started(rows, times)
    shift = np.zeros(len(moments.rows))
    shift[moments.times > 0] = np.concatenate([shifts[each] for each in group])
    noise = scene.normal(0, 0.3, len(shift))
    return moments.course(scene.normal(20, 4)[moments.rows] + shift + noise)


def jumps(scene: Scene) -> Course:
    """Hardly ever a change, but a huge one; after some minutes the value comes back."""
    moments = scene.moments(np.full(scene.keys, 1 / 40))
    moments = Moments(*(part[moments.times > 0] for part in moments))
    count = len(moments.rows)
    back = moments.times + scene.rng.exponential(5 * MINUTE, count).astype(np.int64)
    size = (8 + 4 * scene.rng.pareto(1.5, count)) * scene.rng.choice([-1, 1], count)
    size = np.clip(size, -60, 60)
    level = scene.normal(20, 4)
    rows = np.concatenate([np.arange(scene.keys), moments.rows, moments.rows])
    times = np.concatenate([np.zeros(scene.keys, np.int64), moments.times, back])
    return Course(times, rows, level[rows] + np.concatenate([0 * level, size, 0 * size]))


def storms(scene: Scene) -> Course:
    """Long calms, and storms in which every key changes all the time."""
    moments = scene.moments(scene.paces(1.5))
    stormy = (moments.times + scene.rng.integers(0, STORM)) % STORM < _STORMY * STORM
    moments = moments.kept(stormy | (scene.rng.random(len(stormy)) < 0.05))
    return moments.course(scene.normal(20, 4)[moments.rows] + scene.normal(0, 3, len(moments.rows)))


def roaming(scene: Scene) -> Course:
    """A fifth of the keys is lively, and every quarter of an hour another fifth."""
    moments = scene.moments(np.full(scene.keys, 1.5))
    lively = scene.rng.random((scene.length // EPOCH + 1, scene.keys)) < 0.2
    now = lively[moments.times // EPOCH, moments.rows]
    moments = moments.kept(now | (scene.rng.random(len(now)) < 0.02))
    return moments.course(scene.normal(20, 4)[moments.rows] + scene.normal(0, 3, len(moments.rows)))


def events(scene: Scene) -> Course:
    """Three of five events change their key's value, and nothing else does."""
    telling = scene.rng.random(len(scene.rows)) < 0.6
    moments = scene.started(scene.rows[telling], scene.times[telling])
    moved = moments.summed(scene.normal(0, 0.8, len(moments.rows)))
    return moments.course(scene.normal(20, 4)[moments.rows] + moved)


def noise(scene: Scene) -> Course:
    """Another number at each look, around a level that never changes."""
    ticks = np.arange(1, scene.length // (MINUTE // 3)) * (MINUTE // 3)
    rows, times = np.repeat(np.arange(scene.keys), len(ticks)), np.tile(ticks, scene.keys)
    moments = scene.started(rows, times)
    return moments.course(scene.normal(20, 4)[moments.rows] + scene.normal(0, 1, len(moments.rows)))


def far_apart(scene: Scene) -> Course:
    """Values that stay as they are, log-normal with a spread of 2."""
    keys = np.arange(scene.keys)
    return Course(np.zeros(scene.keys, np.int64), keys, np.exp(scene.normal(0, 2)))


def far_apart_and_moving(scene: Scene) -> Course:
    """The same, but every ten minutes a value is some 30 % higher or lower."""
    moments = scene.moments(np.full(scene.keys, 0.1))
    moved = moments.summed(scene.normal(0, 0.3, len(moments.rows)))
    return moments.course(np.exp(scene.normal(0, 2)[moments.rows] + moved))
