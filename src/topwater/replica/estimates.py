"""How right an answer may be: how it fares in random possible worlds."""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.places import by_key
from topwater.replica.possible_worlds import WORLDS, drawn_moves, fare
from topwater.replica.remote_values import RemoteValues
from topwater.replica.store import Replica
from topwater.replica.terms import Terms
from topwater.replica.unseen_keys import Cells, UnseenScores, best_of_many
from topwater.replica.window_view import WindowView
from topwater.replica.worth import Worth

JUDGED = 512
"""So many keys beside those shown are taken into account one by one, and so many of those without
a value."""

_SAMPLED = 1_024
_DEEP = 4
_HIGH = -30
"""A point of the population beyond most others."""


class Estimates:
    """Estimates precision@k and nDCG@k of answers from what is believed of the values.

    Parameters
    ----------
    terms, replica, values
        What is ranked, what is remembered, and what is taken for the remote values.
    beliefs
        How values move.
    """

    def __init__(
        self, terms: Terms, replica: Replica, values: RemoteValues, beliefs: Worth
    ) -> None:
        self._terms = terms
        self._replica = replica
        self._values = values
        self._beliefs = beliefs

    def stale(self, slots: IntArray, now: int) -> FloatArray:
        """The probability that each value is no longer right."""
        replica = self._replica
        return self._beliefs.stale(slots, now, replica.fetched[slots], replica.hints[slots])

    def accuracy(
        self, view: WindowView, scores: FloatArray, order: IntArray, without: IntArray
    ) -> tuple[float, float]:
        """Estimated precision@k and nDCG@k of a ranking.

        Keys without a value are not in the answer; in some worlds they have got one. As long as
        no value at all is known, nothing is: keys that the source does not know are then no
        better than those that were never read.

        Parameters
        ----------
        view, scores
            The window, and the score of each of its keys.
        order
            Its best rows, best first: k and :data:`JUDGED` more, if there are as many.
        without
            The rows that have no value.
        """
        k, rows = self._terms.k, self.judged(view, order, without)
        if not len(rows):
            return 1.0, 1.0
        known = self.known_share(view, rows)
        if known is not None:
            return known, known
        return fare(self.worlds(view, scores, order, rows), min(k, len(order)), k)

    def judged(self, view: WindowView, order: IntArray, without: IntArray) -> IntArray:
        """The rows that are taken into account one by one: the best, and some without a value."""
        return np.concatenate([order[: self._terms.k + JUDGED], by_key(view, without, JUDGED)])

    def known_share(self, view: WindowView, rows: IntArray) -> float | None:
        """What share of these rows is known, where no more can be said; None where it can."""
        if not self._replica.holds_numbers:
            return 0.0
        known = self._replica.known(view.slots[rows])
        if known.all() or self._beliefs.values.moves:
            return None
        # How values differ is not known either: one never fetched may be anything.
        return float(known.mean())

    def worlds(
        self, view: WindowView, scores: FloatArray, order: IntArray, rows: IntArray
    ) -> FloatArray:
        """Scores that these rows could have, and after them the best of all others: a row a world.

        What of the others could matter is seen by the order of the best.
        """
        worlds = self._worlds(view, scores, rows)
        others = self._others(view, scores, order, rows)
        return worlds if others is None else np.concatenate([worlds, others], axis=1)

    def _others(
        self, view: WindowView, scores: FloatArray, order: IntArray, rows: IntArray
    ) -> FloatArray | None:
        """The best scores that all other keys could have: a row a world. None if there are none.

        Those too low to matter, if only a few of the shown fall, are left out.
        """
        rest = np.isfinite(scores)
        rest[rows] = False
        others = np.flatnonzero(rest)
        if not len(others):
            return None
        known = self._replica.known(view.slots[others])
        parts = [self._of_unseen(view, scores, others[~known]), self._of_far(view, others[known])]
        score, expected = (np.concatenate(each) for each in zip(*parts, strict=True))
        high = score > scores[order[min(len(order) - 1, _DEEP * self._terms.k)]]
        score, expected = score[high], expected[high]
        rng = np.random.default_rng([self._terms.settings.seed, view.index, 1])
        return best_of_many(score, expected, WORLDS, self._terms.k, rng)

    def _of_unseen(
        self, view: WindowView, scores: FloatArray, rows: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """How many keys that were never read are to be expected at each score."""
        population = self._values.population
        if not len(rows) or not population.usable:
            return np.empty(0), np.empty(0)

        def score_at(which: IntArray, remote: FloatArray) -> FloatArray:
            times = remote.shape[1]
            at = np.repeat(rows[which], times)
            columns = {name: each[at] for name, each in view.values.items()}
            return self._terms.scores(columns, remote.ravel()).reshape(remote.shape)

        second = None
        if len(view.values) > 1:
            points = np.tile(population.points[_HIGH], (len(rows), 1))
            second = score_at(np.arange(len(rows)), points)[:, 0]
            second = np.where(np.isfinite(second), second, scores[rows])
        return UnseenScores.of(Cells.of(scores[rows], second), population, score_at).intensity()

    def _of_far(self, view: WindowView, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """The same for keys that were read but are far from the answer, by some of them."""
        if not len(rows):
            return np.empty(0), np.empty(0)
        each = max(1.0, len(rows) / _SAMPLED)
        # In a fixed order: rows come in any.
        rows = rows[np.argsort(self._replica.arrival[view.slots[rows]])]
        rows = rows[(np.arange(int(len(rows) / each)) * each).astype(np.int64)]
        slots = view.slots[rows]
        passed = self._beliefs.passed(slots, view.end, self._replica, self._values.population)
        points, chances = self._beliefs.moved(slots, self._values.of_slots(slots), passed).points()
        columns = {
            name: np.repeat(column[rows], points.shape[1]) for name, column in view.values.items()
        }
        scores = self._terms.scores(columns, points.ravel())
        expected = each * (passed.stale[:, None] * chances).ravel()
        finite = np.isfinite(scores)
        return scores[finite], expected[finite]

    def _worlds(self, view: WindowView, scores: FloatArray, rows: IntArray) -> FloatArray:
        """Scores that these rows could have: a row a world."""
        rng = np.random.default_rng([self._terms.settings.seed, view.index])
        slots, replica = view.slots[rows], self._replica
        value = self._values.of_slots(slots)
        usual = np.where(np.isnan(value), self._beliefs.values.mean, value)
        passed = self._beliefs.passed(slots, view.end, replica, self._values.population)
        could_be = self._beliefs.moved(slots, usual, passed)

        def score_at(which: IntArray, remote: FloatArray) -> FloatArray:
            columns = {name: each[rows[which]] for name, each in view.values.items()}
            return self._terms.scores(columns, remote)

        moves = drawn_moves(could_be, passed.stale, rng)
        return moves.worlds(scores[rows], score_at)
