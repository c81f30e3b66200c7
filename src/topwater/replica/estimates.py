"""How right an answer may be: how it fares in random possible worlds."""

from __future__ import annotations

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.likeness import times_as_great
from topwater.replica.places import by_key
from topwater.replica.population import NOBODY, Population
from topwater.replica.possible_values import Passed
from topwater.replica.possible_worlds import WORLDS, drawn_moves, fare
from topwater.replica.remote_values import RemoteValues
from topwater.replica.store import Replica
from topwater.replica.terms import Terms
from topwater.replica.unseen_keys import NO_ONE, Cells, Crowd, UnseenScores
from topwater.replica.window_view import WindowView
from topwater.replica.worth import Worth

JUDGED = 512
"""So many keys beside those shown are taken into account one by one, and so many of those without
a value."""

_TO_TELL, TO_EXPECT = 5, 6
"""What worlds are for: to tell how right an answer is, or how right it would be."""

_SAMPLED = 1_024
_DEEP = 4
_FURTHER = 8
"""How many places beyond those shown are distinguished: what is beyond counts nothing."""


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
        self,
        view: WindowView,
        scores: FloatArray,
        order: IntArray,
        rows: IntArray,
        *,
        purpose: int = _TO_TELL,
    ) -> FloatArray:
        """Scores that these rows could have, and after them the best of all others: a row a world.

        What of the others could matter is seen by the order of the best. Worlds for another purpose
        are others: what was chosen because it does well in some of them does not in all.
        """
        population, rng = self._population(view), self._rng(view, purpose, 1)
        chances = population.in_worlds(WORLDS, rng)
        worlds = self._worlds(view, scores, rows, chances, purpose)
        others = self._others(view, scores, order, rows)
        if others is None:
            return worlds
        more = others.best(chances / population.chances, self._terms.k + _FURTHER, rng)
        return np.concatenate([worlds, more], axis=1)

    def _population(self, view: WindowView) -> Population:
        """What the keys of a window that were never read could be; nobody, if there are none."""
        population, replica = self._values.population, self._replica
        # Fewer are remembered than the window has: then there is no need to look at each.
        all_known = len(replica) >= len(view) and bool(replica.known(view.slots).all())
        return NOBODY if all_known or not population.usable else population

    def _rng(self, view: WindowView, purpose: int, part: int) -> np.random.Generator:
        return np.random.default_rng([self._terms.settings.seed, view.index, purpose, part])

    def _others(
        self, view: WindowView, scores: FloatArray, order: IntArray, rows: IntArray
    ) -> Crowd | None:
        """What all other keys could score. None if there are none.

        Those too low to matter, if only a few of the shown fall, are left out.
        """
        rest = np.isfinite(scores)
        rest[rows] = False
        others = np.flatnonzero(rest)
        if not len(others):
            return None
        known = self._replica.known(view.slots)[others]
        crowd = self._of_unseen(view, scores, others[~known])
        border = float(scores[order[min(len(order) - 1, _DEEP * self._terms.k)]])
        return crowd.and_more(self._of_far(view, others[known], border)).above(border)

    def _of_unseen(self, view: WindowView, scores: FloatArray, rows: IntArray) -> Crowd:
        """Keys that were never read."""
        population = self._values.population
        if not len(rows) or not population.usable:
            return NO_ONE

        def score_at(which: IntArray, remote: FloatArray) -> FloatArray:
            times = remote.shape[1]
            at = np.repeat(rows[which], times)
            columns = {name: each[at] for name, each in view.values.items()}
            return self._terms.scores(columns, remote.ravel()).reshape(remote.shape)

        times = self._times(view, rows)
        second = None
        if len(view.values) > 1:
            highs = population.high * (np.ones(len(rows)) if times is None else times)
            second = score_at(np.arange(len(rows)), highs[:, None])[:, 0]
            second = np.where(np.isfinite(second), second, scores[rows])
        cells = Cells.of(scores[rows], second)
        best = UnseenScores.of(cells, population, score_at, times).crowd(0.5)
        least = cells.by_the_least()
        return best.and_more(UnseenScores.of(least, population, score_at, times).crowd(0.5))

    def _times(self, view: WindowView, rows: IntArray) -> FloatArray | None:
        """How many times as great the values of rows are, by what the stream says of them."""

        def score_at(which: IntArray, remote: FloatArray) -> FloatArray:
            return self._terms.scores({n: each[which] for n, each in view.values.items()}, remote)

        return times_as_great(self._values.population.likeness, score_at, rows)

    def _of_far(self, view: WindowView, rows: IntArray, border: float) -> Crowd:
        """Keys that were read but are far from the answer, by some of them.

        Those that are sure to be as they were, or that can't score more than the border, have no
        part in it.
        """
        if not len(rows):
            return NO_ONE
        each = max(1.0, len(rows) / _SAMPLED)
        # In a fixed order: rows come in any.
        rows = rows[np.argsort(self._replica.arrival[view.slots[rows]])]
        rows = rows[(np.arange(int(len(rows) / each)) * each).astype(np.int64)]
        passed = self._beliefs.passed(view.slots[rows], view.end, self._replica, NOBODY)
        doubtful = np.flatnonzero(passed.stale > 0.0)
        doubtful = doubtful[self._may_exceed(border, view, rows[doubtful], passed.at(doubtful))]
        if not len(doubtful):
            return NO_ONE
        rows, passed = rows[doubtful], passed.at(doubtful)
        slots = view.slots[rows]
        points, chances = self._beliefs.moved(slots, self._values.of_slots(slots), passed).points()
        columns = {
            name: np.repeat(column[rows], points.shape[1]) for name, column in view.values.items()
        }
        scores = self._terms.scores(columns, points.ravel())
        expected = each * (passed.stale[:, None] * chances).ravel()
        finite = np.isfinite(scores)
        return Crowd.of(scores[finite], expected[finite])

    def _may_exceed(
        self, border: float, view: WindowView, rows: IntArray, passed: Passed
    ) -> BoolArray:
        """Which of these rows could score more than a border, as far as bounds tell."""
        slots = view.slots[rows]
        low, high = self._beliefs.values.reaches(
            slots, self._values.of_slots(slots), passed.changes, passed.seconds
        )
        columns = {name: column[rows] for name, column in view.values.items()}
        # What is no number tells nothing.
        return ~(self._terms.bounds(columns, low, high)[1] <= border)

    def _worlds(
        self,
        view: WindowView,
        scores: FloatArray,
        rows: IntArray,
        chances: FloatArray,
        purpose: int,
    ) -> FloatArray:
        """Scores that these rows could have: a row a world."""
        slots, replica, values = view.slots[rows], self._replica, self._values
        value = values.of_slots(slots)
        usual = np.where(np.isnan(value), self._beliefs.values.mean, value)
        passed = self._beliefs.passed(slots, view.end, replica, NOBODY)

        def score_at(which: IntArray, remote: FloatArray) -> FloatArray:
            columns = {name: each[rows[which]] for name, each in view.values.items()}
            return self._terms.scores(columns, remote)

        rng = self._rng(view, purpose, 2)
        worlds = np.tile(scores[rows], (WORLDS, 1))
        if passed.stale.any():
            could_be = self._beliefs.moved(slots, usual, passed)
            worlds = drawn_moves(could_be, passed.stale, rng).worlds(scores[rows], score_at)
        unseen = np.flatnonzero(~replica.known(slots))
        if chances.size and len(unseen):
            drawn = values.population.drawn(chances, len(unseen), self._rng(view, purpose, 3))
            times = self._times(view, rows[unseen])
            if times is not None:
                drawn = drawn * times
            which = np.tile(unseen, len(worlds))
            worlds[:, unseen] = score_at(which, drawn.ravel()).reshape(drawn.shape)
        return worlds
