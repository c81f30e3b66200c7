"""Objects: one per key, with the stream's part of the score; and what is known of the others.

A list for changing scores forgets most objects, as every list does. But here a forgotten one may
come to matter after all, when an object that kept it out falls, or when its own remote value
changes. So of each pane a *trace* is kept: the best rank that a forgotten object of the pane can
have, and between which values the stream's parts lie. It costs one row per pane, and it is what
makes the difference between an answer that is right and one that is *known* to be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from topwater.candidates.rank_tuples import Rank
from topwater.model import Arrivals, BoolArray, FloatArray, IntArray, Items, KeyArray
from topwater.windows import FARTHEST

UNSEEN: int = -FARTHEST
"""Stands for the time of a key of which no event is known."""

UNSCORED: float = float(np.finfo(np.float64).min)
"""Stands for the score of an object that has none: below every other, yet it leaves a trace."""

Certainty: TypeAlias = Literal["ranking", "set", "nothing"]
"""What is certain of an answer: ranking and scores, only which items are in it, or nothing."""


@dataclass(frozen=True, slots=True)
class Objects(Items):
    """Items of which each key has one, its latest event.

    Attributes
    ----------
    stream
        What the stream contributed to the score: one number per item, or one row of numbers.
        The score must not fall when one of them rises; negate those that it falls with.
    """

    stream: FloatArray

    def take(self, rows: npt.NDArray[Any] | slice) -> Self:
        """The objects at ``rows``, in that order."""
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    def ranked(self) -> Self:
        """The same objects, best first.  O(n log n)."""
        return self.take(np.lexsort((self.key, -self.time, -self.score)))


@dataclass(frozen=True, slots=True)
class Candidates(Objects):
    """Objects, and how far their scores can be trusted.

    Attributes
    ----------
    most
        The score is at least ``score`` and at most ``most``. They differ for an object that was
        forgotten when its remote value changed: its own stream part is lost.
    stream_most
        The stream part is at least ``stream`` and at most this.
    vague
        A later event of the key may have been forgotten, so this may not be its latest.
    """

    most: FloatArray
    stream_most: FloatArray
    vague: BoolArray


C = TypeVar("C", bound=Objects)


def stack(parts: Sequence[C]) -> C:
    """All objects of ``parts``, in order. Empty parts do not decide the type of the keys."""
    full = [part for part in parts if len(part)] or list(parts[:1])
    first = full[0]
    if len(full) == 1:
        return first
    return type(first)(
        *(np.concatenate([getattr(part, f.name) for part in full]) for f in fields(first))
    )


def sure(items: Items) -> Candidates:
    """Items that have just come, as candidates. Without a stream part, the score takes its place.

    Examples
    --------
    >>> sure(Items(np.array([5.0]), np.array([1]), np.array([7]))).stream.tolist()
    [5.0]
    """
    stream = items.stream if isinstance(items, Objects) else items.score
    return Candidates(
        items.score,
        items.time,
        items.key,
        stream,
        items.score,
        stream,
        np.zeros(len(items), np.bool_),
    )


def in_turn(arrivals: Arrivals) -> Candidates:
    """Arrivals in the order of their times; of equal times, in the order in which they came."""
    times = arrivals.items.time
    found = sure(arrivals.items)
    if bool(np.all(times[1:] >= times[:-1])):
        return found
    return found.take(np.argsort(times, kind="stable"))


def places(among: KeyArray, keys: KeyArray) -> IntArray:
    """Where each of ``keys`` stands in ``among``, which are distinct; -1 if nowhere."""
    if not len(among):
        return np.full(len(keys), -1, np.int64)
    order = np.argsort(among, kind="stable")
    at = order[np.minimum(np.searchsorted(among[order], keys), len(among) - 1)]
    return np.where(among[at] == keys, at, -1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Traces:
    """Per pane, ascending: what is known of all its objects, also of the forgotten ones.

    Attributes
    ----------
    pane
        The panes of which something came.
    low
        The least stream part of the pane's objects, kept or forgotten.
    high
        The greatest stream part of those that were forgotten; ``-inf`` if none was.
    most, time, key
        No forgotten object of the pane ranks better than this; ``-inf`` if none was.
    """

    pane: IntArray
    low: FloatArray
    high: FloatArray
    most: FloatArray
    time: IntArray
    key: KeyArray

    @staticmethod
    def none() -> Traces:
        """Nothing came yet."""
        floats, ints = np.empty(0), np.empty(0, np.int64)
        return Traces(ints, floats, floats, floats, ints, ints)

    @staticmethod
    def seen(arrivals: Arrivals) -> Traces:
        """What arrivals say of their panes, before any is forgotten."""
        stream = sure(arrivals.items).stream
        first = arrivals.bounds[:-1]
        return Traces(
            arrivals.panes,
            np.minimum.reduceat(stream, first, axis=0),
            np.full((len(first), *stream.shape[1:]), -np.inf),
            np.full(len(first), -np.inf),
            arrivals.items.time[first],
            arrivals.items.key[first],
        )

    @staticmethod
    def lost(pane: IntArray, forgotten: Candidates) -> Traces:
        """What is left of objects that are forgotten.  O(n) if those of a pane stand together."""
        first = _firsts(pane)
        run = np.repeat(np.arange(len(first)), np.diff(first, append=len(pane)))
        chosen = forgotten.most == np.maximum.reduceat(forgotten.most, first)[run]
        time = np.where(chosen, forgotten.time, UNSEEN)
        # Only among equal scores and times do the keys decide: few are left to be sorted.
        chosen &= time == np.maximum.reduceat(time, first)[run]
        high = np.maximum.reduceat(forgotten.stream_most, first, axis=0)[run[chosen]]
        best = forgotten.take(chosen)
        nowhere = np.full_like(high, np.inf)
        return Traces(pane[chosen], nowhere, high, best.most, best.time, best.key)._merged()

    def merge(self, other: Traces) -> Traces:
        """Both together.  O(p log p) for p panes."""
        if not len(self.pane) or not len(other.pane):
            return self if len(self.pane) else other
        return Traces(
            *(
                np.concatenate([getattr(self, f.name), getattr(other, f.name)])
                for f in fields(Traces)
            )
        )._merged()

    def since(self, pane: int) -> Traces:
        """The traces of ``pane`` and later ones."""
        return self._take(slice(int(np.searchsorted(self.pane, pane)), None))

    def doubt(self, keys: KeyArray, most: FloatArray) -> Traces:
        """Objects that may have been forgotten may now score up to ``most``, in any pane."""
        holds = self.pane[self.most > -np.inf]
        if not len(holds):
            return self
        nowhere = np.full((len(keys), *self.low.shape[1:]), np.inf)
        # The latest pane is in all windows that any other is in, and the latest time wins ties.
        pane, time = np.full(len(keys), holds[-1]), np.full(len(keys), FARTHEST)
        return self.merge(Traces(pane, nowhere, -nowhere, most, time, keys)._merged())

    @property
    def forgot_nothing(self) -> bool:
        """Is every object that lives kept?"""
        return not bool(np.any(self.most > -np.inf))

    def forgot_some_of(self, panes: IntArray) -> BoolArray:
        """Of which panes was an object forgotten?"""
        return np.isin(panes, self.pane[self.most > -np.inf])

    def least(self) -> FloatArray:
        """The least stream part of all live objects, as an array of one row."""
        return np.asarray(self.low.min(axis=0, keepdims=True))

    def greatest_forgotten(self) -> FloatArray:
        """The greatest stream part of all forgotten objects, as an array of one row."""
        return np.asarray(self.high.max(axis=0, keepdims=True))

    def forgotten(self, pane: int) -> tuple[FloatArray, FloatArray] | None:
        """Between which stream parts lie all forgotten objects of ``pane`` and later ones?"""
        left = self.since(pane)
        holds = left.most > -np.inf
        if not holds.any():
            return None
        return left.low[holds].min(axis=0), left.high[holds].max(axis=0)

    def ceiling(self, pane: int) -> Rank | None:
        """No forgotten object of ``pane`` or a later one ranks better; None if there is none."""
        left = self.since(pane)
        if not np.any(left.most > -np.inf):
            return None
        at = np.lexsort((left.key, -left.time, -left.most))[0]
        return -float(left.most[at]), -int(left.time[at]), left.key[at]

    def _take(self, rows: npt.NDArray[Any] | slice) -> Traces:
        return Traces(*(getattr(self, f.name)[rows] for f in fields(self)))

    def _merged(self) -> Traces:
        order = np.lexsort((self.key, -self.time, -self.most, self.pane))
        best = self._take(order)
        first = _firsts(best.pane)
        low = np.minimum.reduceat(best.low, first, axis=0)
        high = np.maximum.reduceat(best.high, first, axis=0)
        return Traces(
            best.pane[first], low, high, best.most[first], best.time[first], best.key[first]
        )


def _firsts(panes: IntArray) -> IntArray:
    """Where a pane follows that is not the one before."""
    return np.flatnonzero(np.diff(panes, prepend=panes[:1] - 1))


@dataclass(frozen=True, slots=True)
class Memory:
    """All that a restart needs of a list for changing scores.

    Attributes
    ----------
    candidates
        What is kept, and what waits for its window.
    traces
        What is known of the rest.
    forgotten_at
        The latest time of an object that was forgotten, or :data:`UNSEEN`.
    """

    candidates: Candidates
    traces: Traces
    forgotten_at: int


def certainty(alive: Candidates, ceiling: Rank | None, k: int) -> Certainty:
    """What is certain of the best k of ``alive``.

    Parameters
    ----------
    alive
        All candidates of the window, best first.
    ceiling
        No forgotten object of the window ranks better; None if there is none.
    k
        How many are shown.
    """
    shown = min(k, len(alive))
    if alive.vague[:shown].any():
        return "nothing"
    if ceiling is not None and (shown < k or ceiling < _rank(alive, shown - 1)):
        return "nothing"
    bounds = np.flatnonzero(alive.most > alive.score).tolist()
    if any(_best_rank(alive, row) < _rank(alive, k - 1) for row in bounds if row >= k):
        return "nothing"
    # The place of a bound may be certain; its score is not.
    return "set" if any(row < k for row in bounds) else "ranking"


def _rank(found: Candidates, row: int) -> Rank:
    return -float(found.score[row]), -int(found.time[row]), found.key[row]


def _best_rank(found: Candidates, row: int) -> Rank:
    return -float(found.most[row]), -int(found.time[row]), found.key[row]
