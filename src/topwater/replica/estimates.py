"""How right an answer may be: how it fares in random possible worlds."""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.possible_worlds import fare
from topwater.replica.remote_values import RemoteValues
from topwater.replica.store import Replica
from topwater.replica.terms import Terms
from topwater.replica.window_view import WindowView
from topwater.replica.worth import Worth

_SCENARIOS = 128
_JUDGED = 512


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
        self, view: WindowView, slots: IntArray, order: IntArray, stale: FloatArray
    ) -> tuple[float, float]:
        """Estimated precision@k and nDCG@k of a ranking.

        Keys without a value are not in the answer; in some worlds they have got one. As long as
        no value at all is known, nothing is: keys that the source does not know are then no
        better than those that were never read.
        """
        without = np.flatnonzero(np.isnan(self._values.of_slots(slots)))
        rows = np.concatenate([order[: self._terms.k + _JUDGED], without[:_JUDGED]])
        if not len(rows):
            return 1.0, 1.0
        if not self._replica.holds_numbers:
            return 0.0, 0.0
        known = self._replica.known(slots[rows])
        if not known.all() and not self._beliefs.values.moves:
            # How values differ is not known either: one never fetched may be anything.
            return float(known.mean()), float(known.mean())
        scores = self._worlds(view, slots, rows, stale)
        return fare(scores, min(self._terms.k, len(order)), self._terms.k)

    def _worlds(
        self, view: WindowView, slots: IntArray, rows: IntArray, stale: FloatArray
    ) -> FloatArray:
        """Scores that these rows could have: a row a world."""
        rng = np.random.default_rng([self._terms.settings.seed, view.index])
        value = self._values.of_slots(slots[rows])
        moved = rng.random((_SCENARIOS, len(rows))) < stale[rows]
        model = self._beliefs.values
        usual = np.where(np.isnan(value), model.mean, value)
        worlds = np.where(moved, model.draw(usual, _SCENARIOS, rng), value)
        columns = {name: np.tile(column[rows], _SCENARIOS) for name, column in view.values.items()}
        return self._terms.scores(columns, worlds.ravel()).reshape(worlds.shape)
