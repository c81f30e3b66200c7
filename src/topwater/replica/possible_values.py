"""What values could be after a change: for each a mixture of the ways that values move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.number_order import quantiles
from topwater.replica.population import Population
from topwater.replica.proportions import TINY, values_of

BACK, LEVEL, WALK, TREND = range(4)
COUNT = 4
FAR = COUNT
"""The ring of values that were far from their level; the others have the number of their way."""

_EDGES = np.array([0, 0.01, 0.03, 0.08, 0.16, 0.28, 0.42, 0.58, 0.72, 0.84, 0.92, 0.97, 0.99, 1.0])
MIDDLES = (_EDGES[1:] + _EDGES[:-1]) / 2
CHANCE = np.diff(_EDGES)
POINTS = COUNT * len(CHANCE)
"""How many values stand for all that a value could be after a change."""


class Passed(NamedTuple):
    """What has happened to some values since they were read.

    Attributes
    ----------
    seconds, stale, changes
        How long ago that was, for ever if they never were; how likely they differ by now; and how
        often they changed, if they did.
    population
        What those could be that never were.
    times
        How many times as great those are, by what the stream says of them; None for once.
    """

    seconds: FloatArray
    stale: FloatArray
    changes: FloatArray
    population: Population
    times: FloatArray | None = None

    def at(self, rows: IntArray) -> Passed:
        """Some of the values."""
        times = None if self.times is None else self.times[rows]
        of_each = (self.seconds[rows], self.stale[rows], self.changes[rows])
        return Passed(*of_each, self.population, times)


@dataclass(frozen=True, slots=True)
class Moved:
    """What some values could be if they changed: for each a mixture of ways.

    Attributes
    ----------
    center, scale, weight
        A row a value, a column a way: around what it lies, how far, and how likely the way is.
    ring
        The same: which of the rings the scale is multiplied with.
    draws
        The rings; all numbers of one are equally likely.
    nodes
        The same as a few numbers each, of which :data:`CHANCE` says how likely each is.
    powers
        Whether all these are logarithms of values.
    """

    center: FloatArray
    scale: FloatArray
    weight: FloatArray
    ring: IntArray
    draws: tuple[FloatArray, ...]
    nodes: FloatArray
    powers: bool = False

    def at(self, rows: IntArray) -> Moved:
        """Some of the values."""
        return Moved(
            self.center[rows],
            self.scale[rows],
            self.weight[rows],
            self.ring[rows],
            self.draws,
            self.nodes,
            self.powers,
        )

    def points(self) -> tuple[FloatArray, FloatArray]:
        """:data:`POINTS` values that each could be, and how likely each of these is."""
        values = self.center[:, :, None] + self.scale[:, :, None] * self.nodes[self.ring]
        chances = self.weight[:, :, None] * CHANCE
        shape = len(self.center), POINTS
        return self._plain(values.reshape(shape)), chances.reshape(shape)

    def with_unseen(
        self, unseen: BoolArray, draws: FloatArray, times: FloatArray | None = None
    ) -> Moved:
        """The same where some values were never read: each could be any of these, or times it."""
        if not unseen.any():
            return self
        first = np.arange(COUNT) == 0
        ours = unseen[:, None]
        scale: FloatArray | BoolArray = first
        center = np.zeros((1, COUNT))
        if self.powers:
            draws = np.log(np.maximum(draws, TINY))
            if times is not None:
                center = first * np.log(times)[:, None]
        elif times is not None:
            scale = first * times[:, None]
        return Moved(
            np.where(ours, np.where(first, center, self.center), self.center),
            np.where(ours, scale, self.scale),
            np.where(ours, first, self.weight),
            np.where(ours & first, len(self.draws), self.ring),
            (*self.draws, draws),
            np.concatenate([self.nodes, [quantiles(np.sort(draws), MIDDLES)]]),
            self.powers,
        )

    def range(self) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest of these values."""
        low = (self.center + self.scale * self.nodes.min(axis=1)[self.ring]).min(axis=1)
        high = (self.center + self.scale * self.nodes.max(axis=1)[self.ring]).max(axis=1)
        return self._plain(low), self._plain(high)

    def draw(self, rows: IntArray, chosen: FloatArray, drawn: FloatArray) -> FloatArray:
        """One value for each of some rows, by two numbers from 0 to 1 each."""
        # Imported late: the compiler takes half a second to load.
        from topwater.replica.world_kernels import ways_taken

        way = ways_taken(rows, chosen, np.ascontiguousarray(self.weight))
        noise, ring = np.empty(len(rows)), self.ring[rows, way]
        for each, draws in enumerate(self.draws):
            own = ring == each
            noise[own] = draws[(drawn[own] * len(draws)).astype(np.int64)]
        return self._plain(self.center[rows, way] + self.scale[rows, way] * noise)

    def _plain(self, values: FloatArray) -> FloatArray:
        return values_of(values) if self.powers else values
