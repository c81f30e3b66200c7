"""Who stands where in a window's ranking, as far as anybody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from topwater.replica.window_view import WindowView

_FIRST = 2_048
"""So many are ranked at the least: more than most elections look at."""

_SHARE = 8
"""Where an eighth of all keys ask for their places, all are sorted."""


class Places(Protocol):
    """The places of a proposal's rows in the ranking of the window, from 0."""

    @property
    def count(self) -> int:
        """How many keys are ranked. It is the place of rows that are not."""

    def at(self, rows: IntArray, within: int | None = None) -> IntArray:
        """The place of each of these rows; from ``within`` on, that number will do."""

    def score_of(self, rows: IntArray) -> FloatArray:
        """The present score of each of these rows; minus infinity if it is not ranked."""

    def first(self, most: int) -> IntArray:
        """The rows among the ``most`` best of the window, best first."""

    def best_of(self, rows: IntArray, most: int) -> IntArray:
        """The best of these rows, best first; those that are not ranked last."""

    def scores(self, most: int) -> FloatArray:
        """The best scores of the window, best first."""


class WindowPlaces:
    """The places of a window's rows: a partition finds the first, and only they are sorted.

    Parameters
    ----------
    view, scores
        The window, and the score of each of its keys.
    rows
        The rows of the view that are proposed, ascending; None for all of them. What else is
        proposed follows, and is not ranked.

    Attributes
    ----------
    count
        How many keys are ranked.
    """

    def __init__(self, view: WindowView, scores: FloatArray, rows: IntArray | None = None) -> None:
        self._view = view
        self._scores = scores
        self._rows = rows
        self._finite = np.isfinite(scores)
        self.count = int(np.count_nonzero(self._finite))
        self._order = np.empty(0, np.int64)
        # By row of the view, the places of as many as were ranked; -1 for the others.
        self._ranked, self._rank = 0, self._order
        self._sorted: FloatArray | None = None

    def at(self, rows: IntArray, within: int | None = None) -> IntArray:
        """The place of each of these rows.  O(rows · log) for the first; else O(keys · log)."""
        inside, at = self._in_view(rows)
        found = self._places(at, self.count if within is None else within)
        if len(at) == len(rows):
            return found
        places = np.full(len(rows), self.count)
        places[inside] = found
        return places

    def score_of(self, rows: IntArray) -> FloatArray:
        """The present score of each of these rows; minus infinity if it is not ranked."""
        inside, at = self._in_view(rows)
        found = self._scores[at]
        if self.count < len(self._scores):
            found = np.where(self._finite[at], found, -np.inf)
        if len(at) == len(rows):
            return found
        scores = np.full(len(rows), -np.inf)
        scores[inside] = found
        return scores

    def first(self, most: int) -> IntArray:
        """The rows among the ``most`` best of the window, best first.  O(keys + most · log)."""
        return self._proposed(self.order(most))

    def best_of(self, rows: IntArray, most: int) -> IntArray:
        """The best of these rows, best first; those that are not ranked by key."""
        inside, at = self._in_view(rows)
        ranked = self._view.best_first(self._scores, most, at)
        if len(ranked) >= most or len(ranked) == len(rows):
            return self._proposed(ranked)
        others = by_key(self._view, at[~self._finite[at]], most - len(ranked))
        found = self._proposed(np.concatenate([ranked, others]))
        if len(at) == len(rows):
            return found[:most]
        return np.concatenate([found, rows[~np.asarray(inside)]])[:most]

    def scores(self, most: int) -> FloatArray:
        """The best scores of the window, best first."""
        return np.asarray(self._scores[self.order(most)])

    def order(self, most: int) -> IntArray:
        """The best rows of the view."""
        most = min(most, self.count)
        if most > len(self._order):
            wanted = max(most, _FIRST, 2 * len(self._order))
            everything = wanted * _SHARE >= self.count
            self._order = self._view.best_first(self._scores, None if everything else wanted)
        return self._order[:most]

    def _in_view(self, rows: IntArray) -> tuple[BoolArray | slice, IntArray]:
        """Which of the proposed rows are of the view, and which rows of it they are."""
        count = len(self._scores) if self._rows is None else len(self._rows)
        inside: BoolArray | slice = slice(None)
        at = rows
        if rows.max(initial=-1) >= count:
            inside = rows < count
            at = rows[inside]
        return inside, at if self._rows is None else self._rows[at]

    def _proposed(self, at: IntArray) -> IntArray:
        """The proposed rows among these rows of the view, in the same order."""
        if self._rows is None:
            return at
        found = np.searchsorted(self._rows, at)
        found[found == len(self._rows)] = 0
        return found[self._rows[found] == at] if len(self._rows) else found[:0]

    def _places(self, at: IntArray, within: int) -> IntArray:
        """The place of each of these rows of the view."""
        few = within <= _FIRST or within * _SHARE <= self.count
        many = not few and len(at) * _SHARE > self.count
        self.order(within if few else self.count if many else _FIRST)
        if self._ranked < max(1, len(self._order)):
            self._ranked, self._rank = len(self._order), np.full(len(self._scores), -1)
            self._rank[self._order] = np.arange(self._ranked)
        places = self._rank[at]
        met = places >= 0
        rest = self._finite[at] & ~met
        places = np.where(met, np.minimum(places, within), self.count)
        places[rest] = within if within <= len(self._order) else self._beyond(at[rest])
        return places

    def _beyond(self, at: IntArray) -> IntArray:
        """The places of ranked rows by how many scores are greater, and then among equals."""
        if not len(at):
            return at
        if self._sorted is None:
            # One more, which is not a score, so that each has a next one.
            self._sorted = np.append(np.sort(-self._scores[self._finite]), np.nan)
        scores = -self._scores[at]
        places = np.empty(len(at), np.int64)
        # In order, so that one search ends near where the next begins.
        order = np.argsort(scores)
        places[order] = np.searchsorted(self._sorted, scores[order], side="left")
        tied = np.flatnonzero(self._sorted[places + 1] == scores)
        if len(tied):
            equal = np.isin(-self._scores, np.unique(scores[tied]))
            order = self._view.best_first(self._scores, among=np.flatnonzero(equal))
            rank = np.empty(len(self._scores), np.int64)
            rank[order] = np.arange(len(order))
            start = np.searchsorted(-self._scores[order], scores[tied], side="left")
            places[tied] += rank[at[tied]] - start
        return np.asarray(places)


def by_key(view: WindowView, rows: IntArray, most: int) -> IntArray:
    """Those of these rows that have the smallest keys, in their order."""
    rows = view.least(rows, most)
    return np.asarray(rows[np.argsort(view.keys_at(rows), kind="stable")])


def first_by(column: FloatArray | IntArray, rows: IntArray, most: int | None = None) -> IntArray:
    """These rows, the least numbers first; equals keep their order.

    With ``most``, so many at the least: O(rows + most · log most).
    """
    if most == 0:
        return rows[:0]
    numbers = column[rows]
    if most is not None and most < len(rows):
        last = np.partition(numbers, most - 1)[most - 1]
        below, level = np.flatnonzero(numbers < last), np.flatnonzero(numbers == last)
        few = np.concatenate([below, level[: most - len(below)]])
        few.sort()
        rows, numbers = rows[few], numbers[few]
    return rows[np.argsort(numbers, kind="stable")]
