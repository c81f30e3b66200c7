"""What a fetch of each key is worth to one window's answer and the next ones.

The worth of a fetch is the probability that the value is stale, times what the answer loses if it
is, times in how many answers the fresh value will be used before it is stale again.

Most keys of a large window can't change its answer, and are not weighed in full. What is left of a
budget goes by a far smaller term, which is found for all keys only where it decides. The rows
chosen are those that weighing every key would choose, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.border import BLOCK, JUDGED, WIDE, Border, Tried
from topwater.replica.likeness import times_as_great
from topwater.replica.number_order import nth_greatest
from topwater.replica.possible_worlds import drawn_moves, gain_of_knowing
from topwater.replica.prospects import MOST_LATER, Outlook, Prospects
from topwater.replica.store import NEVER
from topwater.replica.unseen_keys import Cells, UnseenScores

if TYPE_CHECKING:
    from topwater.replica.proposals import Proposal
    from topwater.replica.worth import Worth

_DOUBTFUL = 0.02
_LEAST = 1e-9
_LATER = 1e-4
_ROUNDED_UP = 1.0 + 1e-6
_GREATEST = 1e300


@dataclass(frozen=True, slots=True)
class Appraised:
    """Rows that are worth a fetch, and what each is worth."""

    rows: IntArray
    worth: FloatArray

    def and_more(self, rows: IntArray, worth: FloatArray) -> Appraised:
        """These, and others."""
        return Appraised(np.concatenate([self.rows, rows]), np.concatenate([self.worth, worth]))

    def with_drawn(self, rows: IntArray, most: int) -> Appraised:
        """These and rows that were drawn at random, which take the place of the last, if need be.

        What they are worth nobody knows.
        """
        left = max(0, most - len(rows))
        kept = Appraised(self.rows[:left], self.worth[:left])
        return kept.and_more(rows[:most], np.full(len(rows[:most]), np.nan))

    def least(self, most: int) -> float:
        """What the last of the best is worth; 0 if there are not as many."""
        return _nth_best(self.worth, most)


class Appraisal:
    """Weighs fetches of the keys that are proposed for one window.

    Parameters
    ----------
    beliefs
        What is believed of how often values change, and how; and what is to be saved.
    proposal
        The keys.
    """

    def __init__(self, beliefs: Worth, proposal: Proposal) -> None:
        self._beliefs = beliefs
        self._proposal = proposal
        self._prospects = Prospects(beliefs, proposal)
        self._border = Border(proposal, beliefs, self._prospects)
        self._crowded = False

    def best(self, rows: IntArray, most: int | None = None) -> Appraised:
        """Those of these rows that are worth a fetch, the most worthwhile first.

        With ``most``, so many at the least; what is worth less than these may be missing.
        """
        unseen = self._unseen(rows)
        self._crowded = most is not None and int(np.count_nonzero(unseen)) >= max(1, most)
        seen = rows[~unseen]
        matters = self._border.may_matter(seen)
        found = self._weighed(seen[matters], most)
        if unseen.any():
            found = found.and_more(*self._weighed_by_cell(rows[unseen], most))
        trifles = seen[~matters]
        if len(trifles) and not self._crowded and not self._enough(found, most):
            found = self._with_trifles(found, trifles, most)
        return self._in_order(found, most)

    def _unseen(self, rows: IntArray) -> BoolArray:
        """Which rows were never read, where it is known what they could be."""
        if not self._proposal.population.usable:
            return np.zeros(len(rows), bool)
        return np.asarray(self._proposal.at("fetched", rows) == NEVER)

    def _weighed_by_cell(self, rows: IntArray, most: int | None) -> tuple[IntArray, FloatArray]:
        """Those of these rows, which were never read, that may be among the best."""
        cells, loss = self._loss_by_cell(rows)
        wanted: IntArray | slice = slice(None)
        if most is not None and len(rows) > max(BLOCK, 4 * most):
            wanted = np.flatnonzero(self._may_be_best(rows, cells, loss, most))
        rows, alone = rows[wanted], loss[cells.of_row[wanted]]
        outlooks = [self._prospects.of(block) for block in _blocks(rows, WIDE)]
        uses, answers = (
            np.concatenate([np.empty(0), *(getattr(each, name) for each in outlooks)])
            for name in ("uses", "answers")
        )
        return rows, uses * answers * (self._with_others(rows, alone) + _LEAST)

    def _may_be_best(self, rows: IntArray, cells: Cells, loss: FloatArray, most: int) -> BoolArray:
        """Which of these rows may be among the best, by what their cells lose."""
        vain = self._proposal.at("vain", rows) > 0
        near, _ = self._gains
        at = np.minimum(np.searchsorted(rows, near), len(rows) - 1)
        at = at[rows[at] == near]
        count = cells.count
        if vain.any():
            count = count - np.bincount(cells.of_row[vain], minlength=len(count))
        if len(at):
            # What the first are worth depends on others too, and may be half as much.
            count = count - np.bincount(cells.of_row[at[~vain[at]]], minlength=len(count))
        order = np.argsort(-loss)
        last = np.searchsorted(np.cumsum(count[order]), max(1, most))
        # A fresh value is used once at the least, where the source does answer.
        least = loss[order[last]] if last < len(order) else 0.0
        wanted = np.asarray((loss * (1.0 + MOST_LATER) >= least)[cells.of_row])
        wanted[at] = True
        return wanted

    def _loss_by_cell(self, rows: IntArray) -> tuple[Cells, FloatArray]:
        """What the answer loses if a row of each cell, which was never read, is any key."""
        proposal, trials = self._proposal, self._proposal.trials
        population = proposal.population
        scores = np.maximum(proposal.places.score_of(rows), -_GREATEST)
        times = times_as_great(population.likeness, trials.score_at, rows)
        others = None
        if not trials.by_one:
            high = population.high * (np.ones(len(rows)) if times is None else times)
            others = trials.score_at(rows, high)
            others = np.where(np.isfinite(others), others, -_GREATEST)
        cells = Cells.of(scores, others)
        could = UnseenScores.of(
            cells, population, lambda first, remote: trials.score_at(rows[first], remote), times
        )
        chances = np.broadcast_to(could.chances, could.scores.shape)
        return cells, self._border.loss(rows[cells.first], Tried(could.scores, chances))

    def worth(self, rows: IntArray) -> FloatArray:
        """What a fetch of each of these rows would bring."""
        return np.concatenate([np.empty(0), *map(self._worth, _blocks(rows))])

    def left_over_worth(self, rows: IntArray) -> FloatArray:
        """The same for rows that can't change the answer by themselves."""
        return np.concatenate([np.empty(0), *map(self._trifle, _blocks(rows))])

    def _weighed(self, rows: IntArray, most: int | None) -> Appraised:
        """Those of these rows that may be among the best; in full only where stakes are high."""
        if most is None or len(rows) <= max(BLOCK, 4 * most):
            return Appraised(rows, self.worth(rows))
        stakes = np.concatenate([self._stakes(block) for block in _blocks(rows)])
        # At the most all values are stale, and fresh ones are used for long.
        bound = _ROUNDED_UP * ((1.0 + MOST_LATER) * stakes + self._most_left_over(0))
        first = bound >= _nth_best(bound, 2 * most)
        found = Appraised(rows[first], self.worth(rows[first]))
        wanted = (bound >= found.least(most)) & ~first
        return found.and_more(rows[wanted], self.worth(rows[wanted]))

    def _with_trifles(self, found: Appraised, rows: IntArray, most: int | None) -> Appraised:
        """The same with rows that can't change the answer by themselves.

        Those near to the border come first. Of the others, only those are weighed in full that may
        be among the best even so.
        """
        if most is None:
            return found.and_more(rows, self.left_over_worth(rows))
        within = min(self._proposal.places.count, max(BLOCK, 4 * most))
        near = self._proposal.places.at(rows, within) < within
        found = found.and_more(rows[near], self.left_over_worth(rows[near]))
        if near.all() or found.least(most) > self._most_left_over(within):
            return found
        rows = rows[~near]
        low, high = self._bounds(rows, within)
        least = _nth_best(np.concatenate([found.worth, low]), most)
        wanted = rows[(high >= least) & (high > 0)]
        return found.and_more(wanted, self.left_over_worth(wanted))

    def _bounds(self, rows: IntArray, beyond: int) -> tuple[FloatArray, FloatArray]:
        """Between which bounds the worth of rows lies that can't change the answer.

        They are all ranked ``beyond`` a place, so how near they are to the border hardly matters.
        """
        outlooks = [self._prospects.of(block) for block in _blocks(rows, WIDE)]
        stale, uses, answers, _ = (np.concatenate(each) for each in zip(*outlooks, strict=True))
        doubt = _LEAST * np.where(stale > _DOUBTFUL, stale * answers, 0.0)
        later = doubt * _LATER * (uses - 1.0)
        return later / _ROUNDED_UP, _ROUNDED_UP * (later + doubt / self._distance(beyond))

    def _most_left_over(self, place: int) -> float:
        """A bound of what is left over for rows that are ranked from a place on."""
        return _ROUNDED_UP * _LEAST * (1.0 / self._distance(place) + _LATER * MOST_LATER)

    def _distance(self, place: int) -> float:
        """From a place to the border, rounded down."""
        return 1.0 + max(0.0, place - self._proposal.k)

    def _enough(self, found: Appraised, most: int | None) -> bool:
        """Whether ``most`` rows are worth more than one that can't change the answer may be."""
        if most == 0 or not self._border.unsettled:
            return True
        # None of those is among the judged, so none is nearer to the border.
        return most is not None and found.least(most) > self._most_left_over(JUDGED)

    def _in_order(self, found: Appraised, most: int | None) -> Appraised:
        """The most worthwhile first; of equals, the higher ranked."""
        rows, worth = found.rows, found.worth
        wanted = (worth > 0) & (worth >= (0.0 if most is None else found.least(most)))
        rows, worth = rows[wanted], worth[wanted]
        if most is not None and len(rows) > max(1, most):
            rows, worth = self._without_surplus(rows, worth, max(1, most))
        order = np.argsort(-worth, kind="stable")
        rows, worth = rows[order], worth[order]
        same = worth[1:] == worth[:-1]
        equal = np.flatnonzero(np.append(same, False) | np.append(False, same))
        if len(equal):
            rows[equal] = self._ranked_within(rows[equal], worth[equal])
        return Appraised(rows, worth)

    def _without_surplus(
        self, rows: IntArray, worth: FloatArray, most: int
    ) -> tuple[IntArray, FloatArray]:
        """So many of the best: of those that are worth as much as the last, the highest ranked."""
        least = _nth_best(worth, most)
        above = worth > least
        level = self._proposal.places.best_of(
            rows[worth == least], most - int(np.count_nonzero(above))
        )
        rows = np.concatenate([rows[above], level])
        return rows, np.concatenate([worth[above], np.full(len(level), least)])

    def _ranked_within(self, rows: IntArray, worth: FloatArray) -> IntArray:
        """These rows by their worth, which comes in order; of equals, the higher ranked first."""
        ranked = self._proposal.places.best_of(rows, len(rows))
        ascending = np.argsort(rows)
        at = ascending[np.searchsorted(rows[ascending], ranked)]
        return np.asarray(ranked[np.argsort(-worth[at], kind="stable")])

    def _worth(self, rows: IntArray) -> FloatArray:
        outlook, tried = self._prospects.of(rows), self._border.could_score(rows)
        alone = outlook.stale * self._border.loss(rows, tried)
        worth = outlook.uses * outlook.answers * self._with_others(rows, alone)
        return np.asarray(worth + self._left_over(rows, outlook, tried))

    def _trifle(self, rows: IntArray) -> FloatArray:
        return self._left_over(rows, self._prospects.of(rows))

    def _stakes(self, rows: IntArray) -> FloatArray:
        """What the answer loses if each value is stale, by itself or with others."""
        loss = self._border.loss(rows, self._border.could_score(rows))
        return self._with_others(rows, loss)

    def _left_over(
        self, rows: IntArray, outlook: Outlook, tried: Tried | None = None
    ) -> FloatArray:
        """Where to spend what is left of a budget; nowhere, if no value can change the answer.

        Nothing is left where there are more keys never read than look-ups.

        On keys that could change the answer if others move too, the nearest to the border first;
        then on those that later answers will use.
        """
        if self._crowded or not self._border.unsettled:
            return np.zeros(len(rows))
        doubtful = np.where(outlook.stale > _DOUBTFUL, outlook.stale * outlook.answers, 0.0)
        contested = self._border.contested(rows, tried)
        far = np.ones(len(rows))
        place = self._proposal.places.at(rows[contested])
        far[contested] = 1.0 + np.abs(place - self._proposal.k + 0.5)
        return np.asarray(_LEAST * doubtful * (contested / far + _LATER * (outlook.uses - 1.0)))

    def _with_others(self, rows: IntArray, alone: FloatArray) -> FloatArray:
        """What knowing each row brings: the mean of what it does alone, and if others move too.

        The second is found for the first rows only. For the others the first stands for both: half
        of it would say that a key far from the answer is worth half as much as one that is near.
        """
        near, gain = self._gains
        if not len(near) or not len(rows):
            return alone
        if len(rows) > BLOCK:
            # Of so many, all that are proposed, ascending: the few are looked for among them.
            at = np.minimum(np.searchsorted(rows, near), len(rows) - 1)
            here = rows[at] == near
            found = alone.copy()
            found[at[here]] = (alone[at[here]] + gain[here]) / 2
            return found
        at = np.minimum(np.searchsorted(near, rows), len(near) - 1)
        return np.where(near[at] == rows, (alone + gain[at]) / 2, alone)

    @cached_property
    def _gains(self) -> tuple[IntArray, FloatArray]:
        """The first keys, ascending by row, and what knowing each brings on average."""
        proposal = self._proposal
        near = self._border.first(JUDGED)
        if not len(near) or not self._beliefs.values.moves:
            return near[:0], np.empty(0)
        stale = self._prospects.of(near).stale

        def score_at(which: IntArray, remote: FloatArray) -> FloatArray:
            scores = proposal.score_at(near[which], remote)
            return np.where(np.isfinite(scores), scores, -np.inf)

        rng = np.random.default_rng([self._beliefs.seed, proposal.window])
        believed = proposal.places.score_of(near)
        moves = drawn_moves(self._border.moved(near), stale, rng)
        worlds = moves.worlds(believed, score_at)
        found = gain_of_knowing(believed, worlds, proposal.k, self._beliefs.aim)
        order = np.argsort(near)
        return near[order], np.maximum(0.0, found)[order]


def _blocks(rows: IntArray, size: int = BLOCK) -> list[IntArray]:
    return [rows[at : at + size] for at in range(0, len(rows), size)]


def _nth_best(worth: FloatArray, most: int) -> float:
    """The worth that this many have at least; 0 if there are fewer."""
    return 0.0 if len(worth) < max(1, most) else nth_greatest(worth, max(1, most))
