"""A made-up evening: 400 users, mentioned unequally often, whose follower counts change.

The same for the same seed. Its figures (users and mentions per window, rounds of follower
counts, how rarely and how far they move) follow the recording that Zahmatkesh and Della Valle
describe in their experiments.
"""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray, Millis
from topwater.remote.known_changes import Steps
from topwater.windows import Windows
from topwater_lab.experiments.evening import STEP, WIDTH, Recording

USERS = 400
START: Millis = 1_767_225_600_000  # 2026-01-01T00:00:00Z
LENGTH: Millis = 9_480_000
ROUND: Millis = 64_000
_INVOCATION = 100
"""Users whose follower counts one call to the remote side can bring."""

_MENTIONS = 4_800
_ECHOES = 0.2
"""Mentions that each mention draws, within half a minute or so: attention comes in bursts."""


def make_evening(seed: int = 0) -> Recording:
    """A recording of its own for each seed."""
    rng = np.random.default_rng([seed, USERS])
    users = 1_000 + np.arange(USERS, dtype=np.int64)
    activity = rng.permutation(_activity())
    times, rows = _mentions(rng, activity)
    rounds, moves = _follower_moves(rng, activity)
    started = np.exp(rng.uniform(np.log(10_000), np.log(100_000), USERS)).astype(np.int64)
    followers = started[:, None] + np.cumsum(moves, axis=1)
    keys = np.repeat(users, rounds.shape[1])
    return Recording(
        f"generated-{seed}",
        times,
        users[rows],
        Windows(WIDTH, STEP, start=START),
        Steps.of(rounds.ravel(), keys, followers.ravel()),
        Steps.of(
            rounds[:, 1:].ravel(),
            np.repeat(users, rounds.shape[1] - 1),
            np.diff(followers, axis=1).ravel(),
        ),
    )


def _activity() -> FloatArray:
    """Expected mentions of each user over the whole time: a long tail, a stretched exponential."""
    weight = np.exp(-0.3 * np.arange(1, USERS + 1) ** 0.53)
    return np.asarray(_MENTIONS * weight / weight.sum())


def _mentions(rng: np.random.Generator, activity: FloatArray) -> tuple[IntArray, IntArray]:
    """Spontaneous mentions, and what each sets off: times in order, and the users' rows."""
    first = rng.poisson(activity * (1.0 - _ECHOES))
    rows = np.repeat(np.arange(USERS), first)
    times = START + 1 + rng.integers(0, LENGTH, len(rows))
    all_rows, all_times = [rows], [times]
    while len(rows):
        echoes = rng.poisson(_ECHOES, len(rows))
        rows = np.repeat(rows, echoes)
        times = np.repeat(times, echoes) + 1 + rng.exponential(30_000, len(rows)).astype(np.int64)
        all_rows.append(rows)
        all_times.append(times)
    rows, times = np.concatenate(all_rows), np.concatenate(all_times)
    order = np.argsort(times, kind="stable")
    order = order[times[order] <= START + LENGTH]
    return times[order], rows[order]


def _follower_moves(rng: np.random.Generator, activity: FloatArray) -> tuple[IntArray, IntArray]:
    """When each user's followers were counted, and by how much they had moved: mostly not."""
    rounds = LENGTH // ROUND
    jitter = rng.integers(-1_000, 3_000, rounds)
    calls = np.arange(USERS) // _INVOCATION * 2_000
    times = START + 15_000 + np.arange(rounds) * ROUND + jitter
    at = times[None, :] + rng.permutation(calls)[:, None]
    liveliness = rng.gamma(0.8, 1.0, USERS) * np.sqrt(1.0 + activity / activity.mean())
    share = 0.058 * liveliness / liveliness.mean()
    moved = rng.random((USERS, rounds)) < share[:, None]
    size = rng.geometric(0.92, (USERS, rounds))
    sign = np.where(rng.random((USERS, rounds)) < 0.72, 1, -1)
    return at, np.where(moved, size * sign, 0)
