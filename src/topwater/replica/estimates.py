"""How right an answer may be: how it fares in random possible worlds."""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.places import by_key
from topwater.replica.possible_worlds import drawn_moves, fare
from topwater.replica.remote_values import RemoteValues
from topwater.replica.store import Replica
from topwater.replica.terms import Terms
from topwater.replica.window_view import WindowView
from topwater.replica.worth import Worth

JUDGED = 512
"""So many keys beside those shown are taken into account, and so many of those without a value."""


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
        k = self._terms.k
        first = by_key(view, without, JUDGED)
        rows = np.concatenate([order[: k + JUDGED], first])
        if not len(rows):
            return 1.0, 1.0
        if not self._replica.holds_numbers:
            return 0.0, 0.0
        known = self._replica.known(view.slots[rows])
        if not known.all() and not self._beliefs.values.moves:
            # How values differ is not known either: one never fetched may be anything.
            return float(known.mean()), float(known.mean())
        return fare(self._worlds(view, scores, rows), min(k, len(order)), k)

    def _worlds(self, view: WindowView, scores: FloatArray, rows: IntArray) -> FloatArray:
        """Scores that these rows could have: a row a world."""
        rng = np.random.default_rng([self._terms.settings.seed, view.index])
        slots, model = view.slots[rows], self._beliefs.values
        value = self._values.of_slots(slots)
        usual = np.where(np.isnan(value), model.mean, value)

        def score_at(which: IntArray, remote: FloatArray) -> FloatArray:
            columns = {name: each[rows[which]] for name, each in view.values.items()}
            return self._terms.scores(columns, remote)

        moves = drawn_moves(model, usual, self.stale(slots, view.end), rng)
        return moves.worlds(scores[rows], score_at)
