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

from topwater.model import FloatArray, IntArray
from topwater.replica.beliefs import columns_of, seconds_since
from topwater.replica.border import BLOCK, JUDGED, Border
from topwater.replica.possible_worlds import gain_of_knowing

if TYPE_CHECKING:
    from topwater.replica.proposals import Proposal
    from topwater.replica.worth import Worth

_WORLDS = 128
_DOUBTFUL = 0.02
_LEAST = 1e-9
_LATER = 1e-4
_HORIZON = 6
_DECAY = 0.8
_MOST_LATER = float((_DECAY ** np.arange(1, _HORIZON + 1)).sum())


@dataclass(frozen=True, slots=True)
class Appraised:
    """Rows that are worth a fetch, most worthwhile first, and what each is worth."""

    rows: IntArray
    worth: FloatArray


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
        self._border = Border(proposal, beliefs.values, beliefs.aim)

    def best(self, rows: IntArray, most: int | None = None) -> Appraised:
        """Those of these rows that are worth a fetch; of the best, ``most`` at the least."""
        matters = self._border.may_matter(rows)
        chosen, trifles = rows[matters], rows[~matters]
        worth = self.worth(chosen)
        if len(trifles) and not self._enough(worth, most):
            chosen = np.concatenate([chosen, trifles])
            worth = np.concatenate([worth, self.left_over_worth(trifles)])
        return self._in_order(chosen, worth, most)

    def worth(self, rows: IntArray) -> FloatArray:
        """What a fetch of each of these rows would bring."""
        return np.concatenate([np.empty(0), *map(self._worth, _blocks(rows))])

    def left_over_worth(self, rows: IntArray) -> FloatArray:
        """The same for rows that can't change the answer by themselves."""
        return np.concatenate([np.empty(0), *map(self._trifle, _blocks(rows))])

    def _in_order(self, rows: IntArray, worth: FloatArray, most: int | None) -> Appraised:
        """The most worthwhile first; of equals, the higher ranked."""
        positive = np.flatnonzero(worth > 0)
        if most is not None and most < len(positive):
            at = len(positive) - max(1, most)
            positive = positive[worth[positive] >= np.partition(worth[positive], at)[at]]
        rows, worth = rows[positive], worth[positive]
        place = self._proposal.places.at(rows)
        unranked = np.flatnonzero(place == self._proposal.places.count)
        # Of those without a place, by key: rows may come in any order.
        keys = self._proposal.at("keys", rows[unranked])
        place[unranked[np.argsort(keys, kind="stable")]] += np.arange(len(unranked))
        order = np.lexsort((place, -worth))
        return Appraised(rows[order], worth[order])

    def _enough(self, worth: FloatArray, most: int | None) -> bool:
        """Whether ``most`` rows are worth more than one that can't change the answer may be."""
        if most == 0 or not self._border.unsettled:
            return True
        if most is None or most > len(worth):
            return False
        # None of those is among the judged, so none is nearer to the border; rounded up.
        nearest = 1.0 + max(0.0, JUDGED - self._proposal.k)
        bound = _LEAST * (1.0 + 1e-6) * (1.0 / nearest + _LATER * _MOST_LATER)
        at = len(worth) - most
        return bool(np.partition(worth, at)[at] > bound)

    def _worth(self, rows: IntArray) -> FloatArray:
        stale, uses, answers = self._prospects(rows)
        scores = self._border.could_score(rows)
        alone = stale * self._border.loss(rows, scores)
        worth = uses * answers * (alone + self._gain(rows)) / 2
        doubtful = np.where(stale > _DOUBTFUL, stale * answers, 0.0)
        return np.asarray(worth + _LEAST * doubtful * self._left_over(rows, uses, scores))

    def _trifle(self, rows: IntArray) -> FloatArray:
        stale, uses, answers = self._prospects(rows)
        doubtful = np.where(stale > _DOUBTFUL, stale * answers, 0.0)
        return np.asarray(_LEAST * doubtful * self._left_over(rows, uses))

    def _prospects(self, rows: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of each row: is its value stale, in how many answers will it be used, will it come?"""
        proposal, rates = self._proposal, self._beliefs.rates
        beliefs = rates.of(proposal.slots[rows])
        seconds = seconds_since(proposal.at("fetched", rows), proposal.now)
        stale = rates.stale(beliefs, seconds, proposal.at("hinted", rows))
        # A source that failed will rather fail again.
        return stale, self._uses(rows, beliefs), 0.5 ** proposal.at("vain", rows)

    def _left_over(
        self, rows: IntArray, uses: FloatArray, scores: FloatArray | None = None
    ) -> FloatArray:
        """Where to spend what is left of a budget; nowhere, if no value can change the answer.

        On keys that could change the answer if others move too, the nearest to the border first;
        then on those that later answers will use.
        """
        if not self._border.unsettled:
            return np.zeros(len(rows))
        contested = self._border.contested(rows, scores)
        far = np.ones(len(rows))
        place = self._proposal.places.at(rows[contested])
        far[contested] = 1.0 + np.abs(place - self._proposal.k + 0.5)
        return np.asarray(contested / far + _LATER * (uses - 1.0))

    def _gain(self, rows: IntArray) -> FloatArray:
        """What knowing each row brings, when the others may have moved as well."""
        near, gain = self._gains
        found = np.zeros(len(rows))
        if len(near):
            at = np.minimum(np.searchsorted(near, rows), len(near) - 1)
            found = np.where(near[at] == rows, gain[at], 0.0)
        return found

    @cached_property
    def _gains(self) -> tuple[IntArray, FloatArray]:
        """The first keys, ascending by row, and what knowing each brings on average."""
        proposal, values = self._proposal, self._beliefs.values
        near = self._border.first(JUDGED)
        if not len(near):
            return near, np.empty(0)
        value = proposal.at("value", near)
        stale = self._beliefs.stale(
            proposal.slots[near],
            proposal.now,
            proposal.at("fetched", near),
            proposal.at("hinted", near),
        )
        rng = np.random.default_rng([self._beliefs.seed, proposal.window])
        moved = rng.random((_WORLDS, len(near))) < stale
        column = columns_of(moved)
        could_be = values.draw(value, column, moved, rng)
        believed = proposal.places.score_of(near)
        worlds = np.tile(believed, (_WORLDS, 1))
        scores = proposal.score_at(near[column], could_be)
        worlds[moved] = np.where(np.isfinite(scores), scores, -np.inf)
        found = gain_of_knowing(believed, worlds, proposal.k, self._beliefs.aim)
        order = np.argsort(near)
        return near[order], np.maximum(0.0, found)[order]

    def _uses(self, rows: IntArray, beliefs: FloatArray) -> FloatArray:
        """In how many answers, this one included, a value fetched now will be used and right."""
        proposal = self._proposal
        ahead = np.arange(1, _HORIZON + 1)
        opens = proposal.now - proposal.width + ahead * proposal.step
        inside = proposal.at("last_event", rows)[:, None] > opens[None, :]
        presence = proposal.at("presence", rows)
        present = np.where(inside, 1.0, presence[:, None])
        # A key in so many windows has events in so many steps, of which each window spans some.
        overlap = max(1.0, proposal.width / proposal.step)
        spoken = 1.0 - (1.0 - presence) ** (1.0 / overlap)
        events = np.outer(spoken, ahead)
        right = self._beliefs.rates.survives(beliefs, ahead * proposal.step / 1_000, events)
        return np.asarray(1.0 + ((_DECAY**ahead) * present * right).sum(axis=1))


def _blocks(rows: IntArray) -> list[IntArray]:
    return [rows[at : at + BLOCK] for at in range(0, len(rows), BLOCK)]
