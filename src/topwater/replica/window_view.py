"""One window before and after its values were refreshed: what goes in, and what comes out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from topwater.model import LOOK_UPS, Fetched, FloatArray, IntArray, KeyArray, LookUp, Millis


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an election fetched.

    Attributes
    ----------
    keys, failed, bad, seconds, problems, looked_up
        As in :class:`Ranking`.
    """

    keys: KeyArray
    failed: int
    bad: int
    seconds: float
    problems: tuple[tuple[str, int], ...]
    looked_up: tuple[LookUp, ...]


@dataclass(frozen=True, slots=True)
class WindowView:
    """What the stream says of one window: its keys, and what each contributes."""

    index: int
    end: Millis
    keys: KeyArray
    values: Mapping[str, FloatArray]
    last_event: IntArray


@dataclass(frozen=True, slots=True)
class Ranking:
    """One window's best keys, and what is known of how right they are.

    Attributes
    ----------
    rows
        Rows of the view, best first, at most k.
    scores, remote, age, confidence
        Per row: the score (larger is better), the remote value, how long ago it was fetched (in
        milliseconds; -1 for never), and the probability that it is still right.
    fetched, failed, bad
        The keys fetched; how many of them the source did not answer; and how many it answered
        with something that is no number.
    precision, ndcg
        What the answer's precision@k and nDCG@k are estimated to be.
    exact
        Whether every key of the window was read for this answer.
    missed
        Whether the estimated precision is below what was asked for.
    seconds
        How long the source took.
    problems
        What went wrong with the keys that failed, and how often.
    looked_up
        What came of the first of the keys fetched.
    """

    rows: IntArray
    scores: FloatArray
    remote: FloatArray
    age: IntArray
    confidence: FloatArray
    fetched: KeyArray
    failed: int
    bad: int
    precision: float
    ndcg: float
    exact: bool
    missed: bool
    seconds: float = 0.0
    problems: tuple[tuple[str, int], ...] = ()
    looked_up: tuple[LookUp, ...] = ()


def looked_up(keys: KeyArray, before: FloatArray, got: Fetched) -> tuple[LookUp, ...]:
    """The first of the keys, with what was remembered of each and what came."""
    columns = (keys, before, np.where(got.ok, got.values, np.nan), got.ok)
    rows = zip(*(column[:LOOK_UPS].tolist() for column in columns), strict=True)
    return tuple(LookUp(key, _number(old), _number(new), ok) for key, old, new, ok in rows)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
