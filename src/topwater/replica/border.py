"""The border of the answer: which keys could cross it, and what the answer loses if they do.

A key that is not shown costs the answer nothing unless its score could reach the last one shown.
Bounds of scores tell most keys apart; where they do not, all that the value could be is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.likeness import times_as_great
from topwater.replica.population import NOBODY
from topwater.replica.possible_values import Passed
from topwater.replica.rate_beliefs import seconds_since
from topwater.replica.utility import Aim, Utility

if TYPE_CHECKING:
    from topwater.replica.possible_values import Moved
    from topwater.replica.proposals import Proposal
    from topwater.replica.prospects import Prospects
    from topwater.replica.worth import Worth

JUDGED = 512
"""So many of the first keys are looked at in any case."""

BLOCK = 2_048
"""Rows weighed at a time: what one step leaves is still in the cache for the next."""

WIDE = 16_384
"""The same where one number a row is enough."""

_DEEP = 2_048
"""From this place on all places are alike: a gain of 2^-place is 0 by then."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The scores that some rows could have after a change, and how likely each of them is."""

    scores: FloatArray
    chances: FloatArray

    def at(self, rows: IntArray) -> Tried:
        """Some of the rows."""
        return Tried(self.scores[rows], self.chances[rows])


@dataclass(frozen=True, slots=True)
class _Shown:
    """The rows that are shown, best first, and between which scores each could lie."""

    rows: IntArray
    low: FloatArray
    high: FloatArray


class Border:
    """What moves of single keys would do to one window's answer.

    Parameters
    ----------
    proposal
        The keys, and the present ranking.
    beliefs
        How values move, and what counts in an answer.
    prospects
        How often each may have changed.
    """

    def __init__(self, proposal: Proposal, beliefs: Worth, prospects: Prospects) -> None:
        self._proposal = proposal
        self._beliefs = beliefs
        self._values = beliefs.values
        self._prospects = prospects
        self._aim: Aim = beliefs.aim
        self._n, self._k = proposal.places.count, proposal.k
        self._deep = min(self._n, max(_DEEP, self._k + 2))

    @property
    def room(self) -> bool:
        """Whether there is room in the answer: then a score is all that a key needs."""
        return self._n < self._k

    @cached_property
    def shown(self) -> _Shown:
        """The rows that are shown."""
        rows = self.first(min(self._k, self._n))
        return _Shown(rows, *self._reach(rows, self.could_score(rows)))

    def could_score(self, rows: IntArray) -> Tried:
        """The scores that each row could have after a change."""
        could_be, chances = self.moved(rows).points()
        scores = self._proposal.trials.score_at(rows, could_be)
        return Tried(np.where(np.isfinite(scores), scores, -np.inf), chances)

    def moved(self, rows: IntArray) -> Moved:
        """What the values of these rows could be after a change.  O(rows), each by itself."""
        # Of few keys, some are asked for more than once.
        return self._moved(rows) if len(self._proposal) > BLOCK else self._all_moved.at(rows)

    @cached_property
    def _all_moved(self) -> Moved:
        return self._moved(np.arange(len(self._proposal)))

    def _moved(self, rows: IntArray) -> Moved:
        proposal = self._proposal
        stale, changes = self._prospects.aged(rows)
        seconds, population = seconds_since(proposal.at("fetched", rows), proposal.now), NOBODY
        times = None
        if np.isinf(seconds).any():
            population = proposal.population
            times = times_as_great(population.likeness, proposal.trials.score_at, rows)
        passed = Passed(seconds, stale, changes, population, times)
        return self._beliefs.moved(proposal.slots[rows], self._usual(rows), passed)

    def _reaches(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Between which values those of these rows lie after a change, or wider."""
        proposal = self._proposal
        seconds = seconds_since(proposal.at("fetched", rows), proposal.now)
        few = len(proposal) <= BLOCK
        if few or (proposal.population.usable and np.isinf(seconds).any()):
            return self.moved(rows).range()
        _, changes = self._prospects.aged(rows)
        return self._values.reaches(proposal.slots[rows], self._usual(rows), changes, seconds)

    def may_matter(self, rows: IntArray) -> BoolArray:
        """Which rows could change the answer, or are judged in any case.  O(rows).

        The others can't reach the border: bounds of their scores stay below it.
        """
        if not self._values.moves or self.room:
            # Nothing is known of how far values move; or every score has a place in the answer.
            return np.ones(len(rows), bool)
        judged = max(JUDGED, self._k)
        near = self._proposal.places.at(rows, judged) < judged
        rest = np.flatnonzero(~near)
        near[rest] = self._greatest(rows[rest]) >= self._last_score
        return np.asarray(near)

    def loss(self, rows: IntArray, tried: Tried) -> FloatArray:
        """What the present ranking loses on average if only this key moved."""
        if not self._values.moves:
            # Nothing is known of how far values move, so none can be told to be harmless.
            return np.ones(len(rows))
        place, scores = self._proposal.places.at(rows, self._deep), tried.scores
        # One that is not shown, and does not reach the last that is, costs nothing.
        row, point = np.nonzero((place < self._k)[:, None] | (scores >= self._last_score))
        score, ranked = scores[row, point], place[row] < self._n
        here = np.where(ranked, np.minimum(place[row], self._deep - 1), self._deep)
        above = np.searchsorted(-self._proposal.places.scores(self._deep), -score, side="left")
        truly_at = above - (above > here)
        found = np.empty(len(row))
        found[ranked] = self._utility.loss(here[ranked], truly_at[ranked])
        if not ranked.all():
            absence = self._utility_of_more.absence(truly_at[~ranked])
            found[~ranked] = np.where(np.isfinite(score[~ranked]), absence, 0.0)
        loss = np.zeros(scores.shape)
        loss[row, point] = found
        return np.asarray((loss * tried.chances).sum(axis=1))

    @cached_property
    def _last_score(self) -> float:
        """The score of the last that is shown; any will do while there is room."""
        return -np.inf if self.room else float(self._proposal.places.scores(self._k)[-1])

    @cached_property
    def unsettled(self) -> bool:
        """Whether any key could change the answer, if others move too."""
        return self._any_contested or bool(self._disordered.any())

    def contested(self, rows: IntArray, tried: Tried | None = None) -> BoolArray:
        """Whether each row could change the answer, if others move too.

        If it could change places with one on the other side of the border; where none can, but
        places in the answer count, if one that is shown could change its place.

        Parameters
        ----------
        rows, tried
            Rows, and what each could score, if that is known already.
        """
        if not self.unsettled:
            return np.zeros(len(rows), bool)
        place = self._proposal.places.at(rows, self._deep)
        shown = place < min(self._k, self._n)
        found = np.zeros(len(rows), bool)
        # Rows that are shown but not in the window of the proposal do not take part.
        found[shown] = self._contested_shown[np.searchsorted(self._shown_places, place[shown])]
        if self._any_contested:
            below = np.flatnonzero(~shown)
            known = None if tried is None else tried.at(below)
            found[below] = self._exceed(rows[below], self._floor, known)
        return found

    @cached_property
    def _contested_shown(self) -> BoolArray:
        if self._any_contested:
            return np.asarray(self.shown.low < self._ceiling)
        return self._disordered

    @cached_property
    def _shown_places(self) -> IntArray:
        return self._proposal.places.at(self.shown.rows)

    @cached_property
    def _any_contested(self) -> bool:
        least = self.shown.low.min(initial=np.inf)
        return bool(least < self._ceiling or self._ceiling > self._floor)

    @cached_property
    def _disordered(self) -> BoolArray:
        """Which of the shown rows could change places with another one, if none is contested."""
        low, high = self.shown.low, self.shown.high
        found = np.zeros(len(low), bool)
        if self._aim == "relevance" and len(low):
            after = np.maximum.accumulate(np.append(high[1:], self._ceiling)[::-1])[::-1]
            found = low < after
            found[1:] |= high[1:] > np.minimum.accumulate(low)[:-1]
        return found

    @cached_property
    def _floor(self) -> float:
        """The least score that a row that is shown could have."""
        return -np.inf if self.room else float(self.shown.low.min(initial=np.inf))

    @cached_property
    def _ceiling(self) -> float:
        """The greatest score that a row that is not shown could have.

        Any that is above all that are shown will do: it is not looked for further.
        """
        near = self.first(max(JUDGED, self._k + 1))[len(self.shown.rows) :]
        # The present scores often will do; if not, those that the first could have.
        for highs in (self._proposal.places.score_of, self._highs):
            found = float(highs(near).max(initial=-np.inf))
            if len(self.shown.low) and found > self.shown.low.max():
                return found
        others = self._proposal.inside.copy()
        others[self.shown.rows] = others[near] = False
        rows = np.flatnonzero(others)
        bound = np.maximum(self._greatest(rows), self._proposal.places.score_of(rows))
        rows, bound = rows[bound > found], bound[bound > found]
        order = np.argsort(-bound)
        for start in range(0, len(order), BLOCK):
            block = order[start : start + BLOCK]
            if bound[block[0]] <= found:
                break
            found = max(found, float(self._highs(rows[block]).max()))
        return found

    def _exceed(self, rows: IntArray, floor: float, tried: Tried | None) -> BoolArray:
        """Which rows have a greater score now, or could have after a change."""
        found = np.asarray(self._proposal.places.score_of(rows) > floor)
        if tried is not None:
            return np.asarray(found | (tried.scores.max(axis=1) > floor))
        rest = np.flatnonzero(~found)
        rest = rest[self._greatest(rows[rest]) > floor]
        found[rest] = self._highs(rows[rest]) > floor
        return found

    def _highs(self, rows: IntArray) -> FloatArray:
        """The greatest score of each row, now or after a change: all it could be is tried."""
        blocks = [rows[at : at + BLOCK] for at in range(0, len(rows), BLOCK)]
        highs = [self._reach(block, self.could_score(block))[1] for block in blocks]
        return np.concatenate([np.empty(0), *highs])

    def _greatest(self, rows: IntArray) -> FloatArray:
        """A bound of the greatest score of each row after a change."""
        bounds_at = self._proposal.trials.bounds_at
        greatest = np.full(len(rows), np.inf)
        if bounds_at is not None:
            for start in range(0, len(rows), WIDE):
                part = rows[start : start + WIDE]
                greatest[start : start + WIDE] = bounds_at(part, *self._reaches(part))[1]
        return greatest

    def _usual(self, rows: IntArray) -> FloatArray:
        """The value of each row; one without a value may have got one, as any other could be."""
        value = self._proposal.at("value", rows)
        return np.where(np.isfinite(value), value, self._values.mean)

    def _reach(self, rows: IntArray, tried: Tried) -> tuple[FloatArray, FloatArray]:
        """Between which scores each row lies, now or after a change."""
        now, scores = self._proposal.places.score_of(rows), tried.scores
        return np.minimum(now, scores.min(axis=1)), np.maximum(now, scores.max(axis=1))

    def first(self, most: int) -> IntArray:
        """The best rows that are in the window."""
        rows = self._proposal.places.first(min(most, self._n))
        spoke = self._proposal.at("last_event", rows)
        return np.asarray(rows[spoke > self._proposal.now - self._proposal.width])

    @cached_property
    def _utility(self) -> Utility:
        return Utility.over(self._deep, self._k, self._aim)

    @cached_property
    def _utility_of_more(self) -> Utility:
        """For a key that would be one more in the ranking."""
        return Utility.over(self._deep + 1, self._k, self._aim)
