"""Draws the keys of an audit, and judges by them: are they on the right side of the border?

Where answers are believed to be wrong keys are drawn more often, as that tells more; but the belief
decides only how often. Every key of the window that could be looked up has a chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.audit import Audit
from topwater.replica.estimates import JUDGED, TO_EXPECT, Estimates
from topwater.replica.look_ups import LookUps
from topwater.replica.places import by_key
from topwater.replica.proposals import Proposal
from topwater.replica.store import NEVER, Replica
from topwater.replica.terms import Terms
from topwater.replica.window_view import WindowView

_BY_BELIEF, _SHOWN, _OTHERS = 0.6, 0.15, 0.25
"""What share of the draws goes where answers are believed to be wrong, to the keys shown, and to
all others."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Keys that were drawn for one window. One may be there more than once.

    Attributes
    ----------
    rows, at
        Their rows in the proposal, and in the view.
    weight
        For how many keys that stay as they are each stands.
    before
        The score of each by what was known.
    """

    rows: IntArray
    at: IntArray
    weight: FloatArray
    before: FloatArray

    @property
    def distinct(self) -> IntArray:
        """Each row of the proposal once, in the order of the draws."""
        return self.rows[np.sort(np.unique(self.rows, return_index=True)[1])]


_NOBODY = Drawn(*(np.empty(0, np.int64),) * 2, *(np.empty(0),) * 2)


class Auditor:
    """Draws keys and judges by them.

    Parameters
    ----------
    terms, replica, estimates
        What is ranked, what is remembered, and what is believed of it.
    audit
        How many are to be drawn, and what came of it so far.
    """

    def __init__(self, terms: Terms, replica: Replica, estimates: Estimates, audit: Audit) -> None:
        self._terms = terms
        self._replica = replica
        self._estimates = estimates
        self.audit = audit

    def draw(
        self, view: WindowView, scores: FloatArray, proposal: Proposal, elected: IntArray, most: int
    ) -> Drawn | None:
        """Keys beside those elected, up to a number; None if it is not the turn of this window.

        O(keys) where it is.
        """
        self.audit.note_spent(len(elected))
        count = min(most, self.audit.wanted())
        if not count:
            return None
        row_of, left = _left(view, proposal, elected[: most - count])
        order = view.best_first(scores, self._terms.k + JUDGED)
        if not left.any():
            return _NOBODY
        doubt = self._doubt(view, scores, order)
        chances = _Chances(view, left, order, self._terms.k, doubt)
        rng = np.random.default_rng([self._terms.settings.seed, view.index, 4])
        at = np.array([chances.draw(rng) for _ in range(count)])
        chance = chances.of(at)
        return Drawn(row_of[at], at, (1.0 - chance) ** count / chance, scores[at])

    def judge(
        self, view: WindowView, scores: FloatArray, drawn: Drawn, look_ups: LookUps, claim: float
    ) -> None:
        """Take note of what came for the keys that were drawn.

        Nothing is said of a window for which the source failed, or had no time: what it does not
        answer may be wrong more often.
        """
        read = self._replica.fetched[view.slots[drawn.at]] == view.end
        if look_ups.failed or not read.all():
            return
        k, audit = self._terms.k, self.audit
        before = scores.copy()
        before[drawn.at] = drawn.before
        best = view.best_first(before, k + 1)
        # As long as there is room in the answer, every key with a score is right in it.
        border = -np.inf if len(best) <= k else float(before[best[k - 1 :]].sum() / 2)
        shown = np.isin(drawn.at, best[:k])
        after = scores[drawn.at]
        wrong = np.where(shown, ~(after >= border), after > border)
        if not len(wrong):
            # Every key that could be wrong was looked up.
            wrong = np.zeros(1, bool)
        weight = drawn.weight if len(drawn.at) else np.zeros(1)
        audit.note(wrong, weight, claim, len(best[:k]))

    def _doubt(self, view: WindowView, scores: FloatArray, order: IntArray) -> FloatArray:
        """How likely each of the best is believed to be on the wrong side of the border."""
        k = self._terms.k
        if not len(order) or self._estimates.known_share(view, order) is not None:
            return np.zeros(len(order))
        worlds = self._estimates.worlds(view, scores, order, order, purpose=TO_EXPECT)
        worlds = np.where(np.isfinite(worlds), worlds, -np.inf)
        shown = min(k, worlds.shape[1])
        least = np.partition(worlds, -shown, axis=1)[:, -shown]
        belongs = (worlds[:, : len(order)] >= least[:, None]).mean(axis=0)
        return np.asarray(np.where(np.arange(len(order)) < shown, 1.0 - belongs, belongs))


class _Chances:
    """Who is drawn: by belief, of those shown, or of all others; each part has its share."""

    def __init__(
        self, view: WindowView, left: BoolArray, order: IntArray, k: int, doubt: FloatArray
    ) -> None:
        self._view = view
        self._order = order
        self._doubt = np.sqrt(doubt) * left[order]
        self._shown = order[:k][left[order[:k]]]
        others = left.copy()
        others[order[:k]] = False
        self._others = np.flatnonzero(others)
        there = [self._doubt.sum() > 0, len(self._shown) > 0, len(self._others) > 0]
        self._shares = np.where(there, (_BY_BELIEF, _SHOWN, _OTHERS), 0.0)
        self._shares /= max(1e-300, self._shares.sum())

    def draw(self, rng: np.random.Generator) -> int:
        """A row of the view; it does not depend on the order in which rows come."""
        part = np.searchsorted(np.cumsum(self._shares), rng.random(), side="right")
        lot = rng.random()
        if part == 0:
            sums = np.cumsum(self._doubt)
            return int(self._order[np.searchsorted(sums[:-1], lot * sums[-1], side="right")])
        if part == 1:
            return int(self._shown[int(lot * len(self._shown))])
        return self._other(int(lot * len(self._others)))

    def _other(self, place: int) -> int:
        """One of the others by its place in the order of last events, and then of keys."""
        times = self._view.last_event[self._others]
        time = np.partition(times, place)[place]
        same = by_key(self._view, self._others[times == time], len(times))
        return int(same[place - int(np.count_nonzero(times < time))])

    def of(self, rows: IntArray) -> FloatArray:
        """The chance of each of these rows."""
        chance = np.zeros(len(self._view))
        if self._shares[0]:
            chance[self._order] = self._shares[0] * self._doubt / self._doubt.sum()
        chance[self._shown] += self._shares[1] / max(1, len(self._shown))
        chance[self._others] += self._shares[2] / max(1, len(self._others))
        return np.asarray(chance[rows])


def _left(view: WindowView, proposal: Proposal, elected: IntArray) -> tuple[IntArray, BoolArray]:
    """For each row of the view, its row in the proposal; and which can be drawn."""
    row_of = np.full(len(view) + 1, -1)
    row_of[view.rows_of(proposal.slots)] = np.arange(len(proposal))
    row_of = row_of[:-1]
    left = row_of >= 0
    if proposal.nominated is not None:
        may = proposal.nominated | (proposal.asked != NEVER)
        left[left] = may[row_of[left]]
    out = view.rows_of(proposal.slots[elected])
    left[out[out >= 0]] = False
    return row_of, left
