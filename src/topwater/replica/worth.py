"""`worth`, the default policy: what is knowing a value worth, to this answer and the next ones?

The worth of a fetch is the probability that the value is stale, times what the answer loses if
it is, times in how many answers the fresh value will be used before it is stale again.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, FloatArray, IntArray, Millis
from topwater.replica.beliefs import RateBeliefs, ValueModel
from topwater.replica.look_ups import Polls
from topwater.replica.policies import PolicyEntry, rankers
from topwater.replica.possible_worlds import gain_of_knowing
from topwater.replica.proposals import Proposal
from topwater.replica.store import NEVER
from topwater.replica.utility import Aim, Utility

_QUANTILES = 32
_WORLDS = 128
_JUDGED = 512
_DOUBTFUL = 0.02
_LEAST = 1e-9
_LATER = 1e-4
_HORIZON = 6
_DECAY = 0.8


class Worth:
    """Ranks keys by the value of the information that a fetch brings.

    Deterministic. O(keys · 32) a window, after O(keys · log keys) to rank.

    Parameters
    ----------
    aim
        ``"relevance"``: the right items at the right places, the first ones above all (nDCG).
        ``"accuracy"``: the right set of k (precision). They differ: the first looks at the top
        of the ranking, the second at its border.

    Attributes
    ----------
    rates, values
        What is believed of how often values change, and how.
    """

    def __init__(self, seed: int = 0, aim: Aim = "relevance") -> None:
        self.seed = seed
        self.aim: Aim = aim
        self.rates = RateBeliefs()
        self.values = ValueModel()
        self._last: tuple[Proposal, FloatArray] | None = None

    @property
    def bytes_per_key(self) -> int:
        """What a key that was polled takes."""
        return self.rates.bytes_per_key

    def rank(self, proposal: Proposal) -> IntArray:
        """The rows that are worth a fetch, most worthwhile first."""
        worth = self._worth(proposal)
        self._last = proposal, worth
        rows = np.flatnonzero(worth > 0)
        return rows[np.lexsort((proposal.position[rows], -worth[rows]))]

    def worth(self, proposal: Proposal) -> FloatArray:
        """What a fetch of each row would bring. What :meth:`rank` found is not found again."""
        if self._last is not None and self._last[0] is proposal:
            return self._last[1]
        return self._worth(proposal)

    def stale(
        self, slots: IntArray, now: Millis, fetched: IntArray, hinted: IntArray
    ) -> FloatArray:
        """The probability that a value differs by now from what was fetched."""
        seconds = np.where(fetched == NEVER, np.inf, (now - fetched) / 1_000)
        return self.rates.stale(self.rates.of(slots), seconds, hinted)

    def observe(self, polls: Polls) -> None:
        """Learn how values change."""
        self._last = None
        self.rates.observe(polls)
        self.values.observe(polls)

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        self.rates.reset(slots)

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""
        return self.rates.snapshot(slots)

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""
        self.rates.restore(table, slots)

    def _worth(self, proposal: Proposal) -> FloatArray:
        worth = np.zeros(len(proposal))
        rows = np.flatnonzero(proposal.inside)
        if not len(rows):
            return worth
        slots = proposal.slots[rows]
        stale = self.stale(slots, proposal.now, proposal.fetched[rows], proposal.hinted[rows])
        uses = self._uses(proposal, rows, self.rates.of(slots))
        # A source that failed will rather fail again.
        answers = 0.5 ** proposal.vain[rows]
        scores = self._could_score(proposal, rows)
        alone = stale * self._loss(proposal, rows, scores)
        together = self._gain(proposal, rows, stale)
        worth[rows] = uses * answers * (alone + together) / 2
        doubtful = np.where(stale > _DOUBTFUL, stale * answers, 0.0)
        worth[rows] += _LEAST * doubtful * self._left_over(proposal, rows, scores, uses)
        return worth

    def _left_over(
        self, proposal: Proposal, rows: IntArray, scores: FloatArray, uses: FloatArray
    ) -> FloatArray:
        """Where to spend what is left of a budget; nowhere, if no value can change the answer.

        On keys that could cross the border if others move too, the nearest first; then on those
        that later answers will use. Where none can cross it, but places in the answer count, on
        keys that could change theirs.
        """
        contested = self._contested(proposal, rows, scores)
        if not contested.any() and self.aim == "relevance":
            contested = self._disordered(proposal, rows, scores)
        if not contested.any():
            return np.zeros(len(rows))
        far = 1.0 + np.abs(proposal.position[rows] - proposal.k + 0.5)
        return np.asarray(contested / far + _LATER * (uses - 1.0))

    def _gain(self, proposal: Proposal, rows: IntArray, stale: FloatArray) -> FloatArray:
        """What knowing a key brings on average, when the others may have moved as well."""
        gain = np.zeros(len(rows))
        near = np.flatnonzero(proposal.position[rows] < min(_JUDGED, len(proposal.ranking)))
        near = near[np.argsort(proposal.position[rows[near]], kind="stable")]
        if not len(near):
            return gain
        value = proposal.value[rows[near]]
        rng = np.random.default_rng([self.seed, proposal.window])
        moved = rng.random((_WORLDS, len(near))) < stale[near]
        could_be = np.where(moved, self.values.draw(value, _WORLDS, rng), value)
        worlds = proposal.score_at(np.tile(rows[near], _WORLDS), could_be.ravel())
        worlds = np.where(np.isfinite(worlds), worlds, -np.inf).reshape(could_be.shape)
        believed = proposal.ranking[proposal.position[rows[near]]]
        found = gain_of_knowing(believed, worlds, proposal.k, self.aim)
        gain[near] = np.maximum(0.0, found)
        return gain

    def _could_score(self, proposal: Proposal, rows: IntArray) -> FloatArray:
        """The scores that each row could have after a change, equally likely."""
        value = proposal.value[rows]
        # A key without a value may have got one, as any other could be.
        value = np.where(np.isfinite(value), value, self.values.mean)
        could_be = self.values.could_be(value, _QUANTILES)
        scores = proposal.score_at(np.repeat(rows, could_be.shape[1]), could_be.ravel())
        return np.where(np.isfinite(scores), scores, -np.inf).reshape(could_be.shape)

    @staticmethod
    def _contested(proposal: Proposal, rows: IntArray, scores: FloatArray) -> BoolArray:
        """Whether a row and one on the other side of the border could change places."""
        low, high, shown = _reach(proposal, rows, scores)
        # While there is room in the answer, a score is all that a key needs.
        room = len(proposal.ranking) < proposal.k
        floor = -np.inf if room else low[shown].min(initial=np.inf)
        ceiling = high[~shown].max(initial=-np.inf)
        return np.asarray(np.where(shown, low < ceiling, high > floor))

    @staticmethod
    def _disordered(proposal: Proposal, rows: IntArray, scores: FloatArray) -> BoolArray:
        """Whether a row that is shown and another one could change places."""
        low, high, shown = _reach(proposal, rows, scores)
        order = np.argsort(proposal.position[rows], kind="stable")
        floor = np.minimum.accumulate(np.where(shown, low, np.inf)[order])
        ceiling = np.maximum.accumulate(high[order][::-1])[::-1]
        found = np.zeros(len(rows), bool)
        found[order[:-1]] = shown[order[:-1]] & (low[order[:-1]] < ceiling[1:])
        found[order[1:]] |= high[order[1:]] > floor[:-1]
        return found

    def _loss(self, proposal: Proposal, rows: IntArray, scores: FloatArray) -> FloatArray:
        """What the present ranking loses on average if only this key moved."""
        if not self.values.moves:
            # Nothing is known of how far values move, so none can be told to be harmless.
            return np.ones(len(rows))
        here = proposal.position[rows][:, None]
        above = np.searchsorted(-proposal.ranking, -scores, side="left")
        truly_at = above - (above > here)
        n = len(proposal.ranking)
        ranked = here[:, 0] < n
        loss = np.empty(scores.shape)
        if ranked.any():
            utility = Utility.over(n, proposal.k, self.aim)
            loss[ranked] = utility.loss(here[ranked], truly_at[ranked])
        if not ranked.all():
            absence = Utility.over(n + 1, proposal.k, self.aim).absence(truly_at[~ranked])
            loss[~ranked] = np.where(np.isfinite(scores[~ranked]), absence, 0.0)
        return np.asarray(loss.mean(axis=1))

    def _uses(self, proposal: Proposal, rows: IntArray, beliefs: FloatArray) -> FloatArray:
        """In how many answers, this one included, a value fetched now will be used and right."""
        ahead = np.arange(1, _HORIZON + 1)
        opens = proposal.now - proposal.width + ahead * proposal.step
        inside = proposal.last_event[rows][:, None] > opens[None, :]
        present = np.where(inside, 1.0, proposal.presence[rows][:, None])
        # A key in so many windows has events in so many steps, of which each window spans some.
        overlap = max(1.0, proposal.width / proposal.step)
        spoken = 1.0 - (1.0 - proposal.presence[rows]) ** (1.0 / overlap)
        right = self.rates.survives(beliefs, ahead * proposal.step / 1_000, np.outer(spoken, ahead))
        return np.asarray(1.0 + ((_DECAY**ahead) * present * right).sum(axis=1))


def _reach(
    proposal: Proposal, rows: IntArray, scores: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Between which scores each row lies, now or after a change; and whether it is shown."""
    place, n = proposal.position[rows], len(proposal.ranking)
    now = np.append(proposal.ranking, -np.inf)[np.minimum(place, n)]
    low, high = np.minimum(now, scores.min(axis=1)), np.maximum(now, scores.max(axis=1))
    return low, high, np.asarray(place < min(proposal.k, n))


rankers.add(
    "worth", PolicyEntry(Worth, by_rows=False), "what knowing a value is worth to the answers"
)
