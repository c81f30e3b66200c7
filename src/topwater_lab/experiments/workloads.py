"""What a contender has to cope with: window views, a remote side that changes, and a score.

A recording gives the stream; DS-CH-x says how often the remote side changes: on average x of
100 users at each snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topwater.errors import QueryError
from topwater.model import BoolArray, FloatArray, IntArray, Millis
from topwater.remote.known_changes import Steps
from topwater.replica import WindowView
from topwater.scoring import Score, WeightedSum
from topwater.windows import Windows
from topwater_lab.experiments.evening import Counts, Recording

REMOTE = "growth"
ALL_CHANGE = 80
"""At this CH nothing is frozen: every snapshot is drawn anew."""

_STREAM_WEIGHT, _REMOTE_WEIGHT = 0.7, 0.3
_NOISE = 20
_OFFSET = 5


@dataclass(frozen=True, slots=True)
class Workload:
    """One stream against one course of the remote side.

    Attributes
    ----------
    name, counts, ch, seed
        Which one it is.
    windows, views
        The windows, and what the stream says of each: keys, mentions, last events.
    remote
        The truth. What a contender may know of it, it has to fetch.
    score
        0.7 × mentions + 0.3 × growth, both normalised over the whole workload.
    """

    name: str
    counts: Counts
    ch: int
    seed: int
    windows: Windows
    views: tuple[WindowView, ...]
    remote: Steps
    score: Score

    def initial(self) -> tuple[IntArray, FloatArray]:
        """The replica that every contender starts with: each key's first snapshot."""
        keys = self.remote.distinct
        return keys, self.remote.at(keys, self.windows.start)

    @property
    def known_since(self) -> Millis:
        """When the last of these first snapshots was taken."""
        return self.remote.complete_at

    def scores(self, view: WindowView, remote: FloatArray) -> FloatArray:
        """The scores of a window's keys with these remote values."""
        return self.score.rank_scores({**view.values, REMOTE: remote})


def follower_growth(
    recording: Recording, views: tuple[WindowView, ...], counts: Counts, ch: int, seed: int
) -> Workload:
    """DS-CH-``ch``, data set number ``seed``: the workload of AcquaTop's experiments.

    The views are passed in, because all data sets over one recording share them.
    """
    remote = changing(recording.growth, ch, seed)
    most = max(float(view.values["mentions"].max(initial=1.0)) for view in views)
    score = WeightedSum(
        {"mentions": _STREAM_WEIGHT, REMOTE: _REMOTE_WEIGHT},
        {"mentions": (1.0, most), REMOTE: remote.extent},
    )
    return Workload(recording.name, counts, ch, seed, recording.windows, views, remote, score)


def followers(recording: Recording, views: tuple[WindowView, ...]) -> Workload:
    """Follower counts as they were: the workload of ACQUA's experiments."""
    score = WeightedSum({"mentions": 1.0, REMOTE: 0.0})
    remote = recording.followers
    return Workload(recording.name, "true", 0, 0, recording.windows, views, remote, score)


def changing(growth: Steps, ch: int, seed: int) -> Steps:
    """Growth with noise, of which on average ``ch`` of 100 users change at each snapshot.

    At CH 80 every snapshot is growth + 5 + uniform{0 … 19}, drawn anew: without the noise most
    scores would tie. Below, random change points are frozen at the value before.
    """
    if not 0 < ch <= ALL_CHANGE:
        raise QueryError(
            f"must be from 1 to {ALL_CHANGE}, not {ch}", field="ch", fix="use 5, 10, 20, 40 or 80"
        )
    rng = np.random.default_rng([seed, ch])
    noisy = growth.values + _OFFSET + rng.integers(0, _NOISE, len(growth))
    if ch == ALL_CHANGE:
        return Steps(growth.times, growth.keys, noisy)
    return Steps(growth.times, growth.keys, _frozen(growth, noisy, ch / 100, rng))


def _frozen(growth: Steps, noisy: FloatArray, share: float, rng: np.random.Generator) -> FloatArray:
    """Snapshot by snapshot: some keys take the new value, the others keep the one before."""
    order = np.argsort(growth.times, kind="stable")
    rows = np.searchsorted(growth.distinct, growth.keys)
    current = np.full(len(growth.distinct), np.nan)
    result = np.empty(len(noisy))
    due = 0.0
    starts = np.flatnonzero(np.diff(growth.times[order], prepend=-1))
    for snapshot in np.split(order, starts[1:]):
        keys, fresh = rows[snapshot], noisy[snapshot]
        new = np.isnan(current[keys])
        due += share * np.count_nonzero(~new)
        moved = _some(~new & (fresh != current[keys]), int(due), rng)
        due -= np.count_nonzero(moved)
        current[keys] = np.where(new | moved, fresh, current[keys])
        result[snapshot] = current[keys]
    return result


def _some(choices: BoolArray, count: int, rng: np.random.Generator) -> BoolArray:
    rows = np.flatnonzero(choices)
    chosen = np.zeros(len(choices), bool)
    chosen[rng.choice(rows, min(count, len(rows)), replace=False)] = True
    return chosen
