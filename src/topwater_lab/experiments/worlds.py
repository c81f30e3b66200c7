"""Made-up worlds: a stream of events, and remote values that move in a way of their own.

A world follows from its kind, its number of keys and a seed. Beliefs were designed on the seeds
:data:`DESIGN_SEEDS` and the kinds so marked; figures are reported on :data:`REPORTING_SEEDS`, over
all kinds.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray, Millis
from topwater.remote.known_changes import Steps
from topwater.replica import WindowView
from topwater.windows import Windows, sliding
from topwater_lab.experiments import world_moves
from topwater_lab.experiments.world_moves import MINUTE, Course, Scene

DESIGN_SEEDS = range(10)
REPORTING_SEEDS = range(1_000, 1_010)

FEW = 73
"""Keys of a world that is not cold."""

WINDOWS = sliding("3 min", "1 min")
_LIFE = 20
"""How many minutes a key lives where keys come and go."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of world.

    Attributes
    ----------
    moves
        How the remote values move.
    score
        Of mentions, which the stream counts, and the remote value.
    cold
        Whether there are so many keys that most are never asked for.
    churns
        Whether keys come and go.
    design
        Whether beliefs were designed on it.
    """

    name: str
    moves: Callable[[Scene], Course]
    score: str = "mentions + remote"
    cold: bool = False
    churns: bool = False
    design: bool = False

    @property
    def k(self) -> int:
        """How many rows its answers have."""
        return 10 if self.cold else 5

    @property
    def warm_up(self) -> int:
        """How many windows are not judged."""
        return 10 if self.cold else 20


_SUM, _PRODUCT = "mentions + remote", "mentions * remote"
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("levels", world_moves.levels, design=True),
        Kind("walks", world_moves.walks, design=True),
        Kind("trends", world_moves.trends, design=True),
        Kind("seasons", world_moves.seasons),
        Kind("scales", world_moves.scales, design=True),
        Kind("mixed", world_moves.mixed),
        Kind("groups", world_moves.groups),
        Kind("jumps", world_moves.jumps, design=True),
        Kind("storms", world_moves.storms),
        Kind("roaming", world_moves.roaming, design=True),
        Kind("events", world_moves.events),
        Kind("noise", world_moves.noise),
        Kind("churn", world_moves.levels, churns=True),
        Kind("cold sum", world_moves.far_apart, _SUM, cold=True, design=True),
        Kind("cold product", world_moves.far_apart, _PRODUCT, cold=True, design=True),
        Kind("cold sum, moving", world_moves.far_apart_and_moving, _SUM, cold=True),
        Kind("cold product, moving", world_moves.far_apart_and_moving, _PRODUCT, cold=True),
    )
}


@dataclass(frozen=True)
class World:
    """One world.

    Attributes
    ----------
    kind, keys, seed
        Which one it is. Where keys come and go, so many are there at a time.
    windows
        How many windows it has.
    """

    kind: Kind
    keys: int
    seed: int
    windows: int

    @property
    def length(self) -> Millis:
        """Until its last window closes."""
        return WINDOWS.window(self.windows - 1).end

    @cached_property
    def scene(self) -> Scene:
        """Its stream, and the generator for the rest."""
        named = zlib.crc32(self.kind.name.encode())
        rng = np.random.default_rng([self.seed, named, self.keys])
        spread = 1.0 if self.kind.cold else 0.6
        born, died = self._lives()
        often = np.exp(rng.normal(0.0, spread, len(born))) * (1.0 if self.kind.cold else 1.2)
        counts = rng.poisson(often * (died - born) / MINUTE)
        rows = np.repeat(np.arange(len(born)), counts)
        times = born[rows] + 1 + (rng.random(len(rows)) * (died - born)[rows]).astype(np.int64)
        order = np.argsort(times, kind="stable")
        return Scene(rng, len(born), self.length, times[order], rows[order])

    @cached_property
    def remote(self) -> Steps:
        """The truth. What a policy may know of it, it has to look up."""
        course = self.kind.moves(self.scene)
        return Steps.of(course.times, course.rows, course.values)

    def batches(self) -> Iterator[pa.Table]:
        """The events, a batch a minute."""
        cuts = np.searchsorted(self.scene.times, np.arange(MINUTE, self.length, MINUTE), "right")
        for at in np.split(np.arange(len(self.scene.times)), cuts):
            yield pa.table({"key": self.scene.rows[at], "at": self.scene.times[at]})

    @cached_property
    def views(self) -> tuple[WindowView, ...]:
        """What the stream says of each window."""
        return tuple(self._view(index) for index in range(self.windows))

    def _view(self, index: int) -> WindowView:
        window = WINDOWS.window(index)
        first, last = np.searchsorted(self.scene.times, [window.start, window.end], side="right")
        times, rows = self.scene.times[first:last], self.scene.rows[first:last]
        mentions = np.bincount(rows, minlength=self.scene.keys)
        keys = np.flatnonzero(mentions)
        latest = np.zeros(self.scene.keys, np.int64)
        # In order of time, so the last one stays.
        latest[rows] = times
        values: dict[str, FloatArray] = {"mentions": mentions[keys].astype(np.float64)}
        return WindowView(index, window.end, keys, values, latest[keys])

    def _lives(self) -> tuple[IntArray, IntArray]:
        """When each key is first and last spoken of."""
        if not self.kind.churns:
            return np.zeros(self.keys, np.int64), np.full(self.keys, self.length)
        apart = _LIFE * MINUTE / self.keys
        count = int(self.length / apart) + self.keys
        born = ((np.arange(count) - self.keys) * apart).astype(np.int64)
        return np.maximum(born, 0), np.minimum(born + _LIFE * MINUTE, self.length)


def window_of(end: Millis, windows: Windows = WINDOWS) -> int:
    """The number of the window that closes then."""
    return (end - windows.window(0).end) // windows.step
