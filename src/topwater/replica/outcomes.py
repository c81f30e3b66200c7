"""What an answer would be like after look-ups: how right, on average over what values could be."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.estimates import JUDGED, TO_EXPECT, Estimates
from topwater.replica.possible_worlds import fare_of
from topwater.replica.remote_values import RemoteValues
from topwater.replica.terms import Terms
from topwater.replica.window_view import WindowView

Curve = Callable[[int], float]
"""How right an answer is expected to be after each number of look-ups."""


class Outcomes:
    """Expects what look-ups bring: in each possible world, what would be shown after them.

    A world is one guess of all true scores. What is looked up is shown by its true score, all else
    by the score that is believed.

    Parameters
    ----------
    terms, values
        What is ranked, and what is taken for the remote values.
    estimates
        Knows what scores could be.
    """

    def __init__(self, terms: Terms, values: RemoteValues, estimates: Estimates) -> None:
        self._terms = terms
        self._values = values
        self._estimates = estimates

    def curve(self, view: WindowView, scores: FloatArray, slots: IntArray) -> Curve:
        """How right an answer is expected to be, by the number of look-ups.

        By precision if that is the aim, else by nDCG.

        Parameters
        ----------
        view, scores
            The window, and the score of each of its keys.
        slots
            Of the keys that would be looked up, most worthwhile first.
        """
        order = view.best_first(scores, self._terms.k + JUDGED)
        without = np.flatnonzero(np.isnan(self._values.of_slots(view.slots)))
        judged = self._estimates.judged(view, order, without)
        known = self._estimates.known_share(view, judged) if len(judged) else 1.0
        if known is not None:
            return partial(_share, known, 1.0 / max(1, len(judged)))
        at = view.rows_of(slots)
        # In the order of the election: rows come in any.
        rows = np.concatenate([judged, at[(at >= 0) & ~np.isin(at, judged)]])
        worlds = self._estimates.worlds(view, scores, order, rows, purpose=TO_EXPECT)
        column = np.full(len(view) + 1, -1)
        column[rows] = np.arange(len(rows))
        believed = np.where(np.isfinite(scores[rows]), scores[rows], -np.inf)
        return partial(self._after, worlds, believed, column[at])

    def _after(
        self, worlds: FloatArray, believed: FloatArray, known: IntArray, count: int
    ) -> float:
        found = shown_after(worlds, believed, known[:count], self._terms.k)
        return found[0 if self._terms.settings.aim == "accuracy" else 1]


def _share(known: float, each: float, count: int) -> float:
    """While nothing is known of how values differ: what share of the keys is known."""
    return min(1.0, known + each * count)


def shown_after(
    worlds: FloatArray, believed: FloatArray, known: IntArray, k: int
) -> tuple[float, float]:
    """Mean precision@k and nDCG@k of what is shown once some keys are known, over all worlds.

    Parameters
    ----------
    worlds
        Possible true scores: a row a world, a column a key; the first columns are those believed.
    believed
        The scores that the others are shown by, best first; equals keep their order.
    known
        The columns that are looked up; what is negative is left out.
    k
        How many are shown.

    Examples
    --------
    >>> worlds = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 9.0]])
    >>> believed = np.array([3.0, 2.0, 1.0])
    >>> shown_after(worlds, believed, np.array([], int), 1)[0]
    0.5
    >>> shown_after(worlds, believed, np.array([2]), 1)[0]
    1.0
    """
    known = known[known >= 0]
    # What is not known, and ranked behind so many others, can't be shown.
    near = np.argsort(-believed, kind="stable")[: k + len(known)]
    near = np.union1d(near, known)
    shown = np.broadcast_to(believed[near], (len(worlds), len(near))).copy()
    found = worlds[:, known]
    shown[:, np.searchsorted(near, known)] = np.where(np.isfinite(found), found, -np.inf)
    best = np.argsort(-shown, axis=1, kind="stable")[:, : min(k, len(near))]
    return fare_of(worlds, near[best], k)
