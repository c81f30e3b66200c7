"""Who is fetched: the first of those proposed, as far as the purse reaches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topwater.model import IntArray
from topwater.replica.appraisal import Appraised
from topwater.replica.budget import Purse
from topwater.replica.learners import Learners
from topwater.replica.number_order import nth_greatest
from topwater.replica.proposals import Proposal
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.store import NEVER
from topwater.replica.worth import Worth

EXPLORED = 0.05
"""What share of look-ups goes to keys drawn at random from those never asked for, if there are
many."""


class Election:
    """Elects what is fetched, by the policy's ranking. Every policy gets the same budget.

    Parameters
    ----------
    settings
        What the policy is allowed.
    learners
        Hold the policy.
    purse
        What may be spent.
    """

    def __init__(self, settings: RefreshSettings, learners: Learners, purse: Purse) -> None:
        self._settings = settings
        self._learners = learners
        self._purse = purse

    def elect(self, proposal: Proposal, allowance: int) -> Appraised:
        """The first distinct rows that may be spent on; keys never asked for come first.

        These are worth more than any other; what the others are worth, not every policy says.

        A key whose first fetch failed is left to the policy: keys that always fail would keep
        all others from being fetched. Without a limit the rest of the window follows, as what a
        policy leaves out would be kept for nothing.
        """
        settings = self._settings
        if settings.reads_nothing:
            return _new(np.empty(0, np.int64))
        if settings.reads_every_key or settings.reads_all_candidates:
            return self._all_of(proposal)
        if self._competes(proposal):
            return self._all_compared(proposal, allowance)
        new = _new(self._never_asked(proposal, allowance))
        if len(new.rows) >= allowance and not self._must_rank:
            return new
        ranked = self._ranked(replace(proposal, most=allowance, new_first=True))
        both = new.and_more(ranked.rows, ranked.worth)
        return Appraised(both.rows[:allowance], both.worth[:allowance])

    def _competes(self, proposal: Proposal) -> bool:
        """Whether keys never asked for are weighed like all others."""
        return isinstance(self._learners.policy, Worth) and proposal.population.usable

    def drawn(self, proposal: Proposal, elected: Appraised) -> int:
        """How many of the first of those elected were drawn at random."""
        return int(np.count_nonzero(np.isinf(elected.worth))) if self._competes(proposal) else 0

    def with_oldest(
        self, proposal: Proposal, elected: Appraised, count: int, allowance: int
    ) -> Appraised:
        """Those elected, and so many of the others that were read longest ago.

        What these are worth is not asked: it would be by what is believed of keys left alone.
        """
        others = proposal.inside & (proposal.fetched != NEVER)
        others[elected.rows] = False
        rows = np.flatnonzero(others)
        count = min(count, allowance - len(elected.rows), len(rows))
        if count <= 0:
            return elected
        fetched = proposal.at("fetched", rows)
        last = np.partition(fetched, count - 1)[count - 1]
        older, level = rows[fetched < last], rows[fetched == last]
        # Rows come in any order.
        older = proposal.places.best_of(older, len(older))
        older = older[np.argsort(proposal.at("fetched", older), kind="stable")]
        level = proposal.places.best_of(level, count - len(older))
        found = np.concatenate([older, level])
        return elected.and_more(found, np.zeros(len(found)))

    def _all_compared(self, proposal: Proposal, allowance: int) -> Appraised:
        """The first rows of all, and a few that are drawn from those never asked for.

        What is known of values would else come from keys that the stream speaks of most.
        """
        drawn = _new(self._explored(proposal, allowance))
        ranked = self._ranked(replace(proposal, most=allowance), new_too=True)
        others = ~np.isin(ranked.rows, drawn.rows)
        both = drawn.and_more(ranked.rows[others], ranked.worth[others])
        return Appraised(both.rows[:allowance], both.worth[:allowance])

    def _explored(self, proposal: Proposal, allowance: int) -> IntArray:
        """Rows drawn at random from those never asked for, for a small share of the look-ups."""
        new = (proposal.asked == NEVER) & proposal.inside
        if proposal.nominated is not None:
            new &= proposal.nominated
        rows = np.flatnonzero(new)
        if len(rows) <= allowance:
            return rows[:0]
        rng = np.random.default_rng([self._settings.seed, proposal.window, 2])
        count = int(allowance * EXPLORED + rng.random())
        if not count:
            return rows[:0]
        # By the time of their last events: rows come in any order.
        lot = _shuffled(proposal.at("last_event", rows), int(rng.integers(2**62)))
        rows, lot = rows[lot >= (least := nth_greatest(lot, count))], lot[lot >= least]
        return np.unique([self._of_lot(proposal, rows[lot == each]) for each in np.unique(lot)])

    def _of_lot(self, proposal: Proposal, rows: IntArray) -> int:
        """The one of these rows that has the smallest key."""
        return int(rows[np.argsort(proposal.at("keys", rows), kind="stable")[0]])

    def _all_of(self, proposal: Proposal) -> Appraised:
        """As :meth:`elect`, whatever the allowance is."""
        new = _new(self._never_asked(proposal, len(proposal)))
        ranked = self._ranked(proposal)
        elected = new.and_more(ranked.rows, ranked.worth)
        if not self._settings.reads_every_key:
            return elected
        left = proposal.inside.copy()
        left[elected.rows] = False
        rest = np.flatnonzero(left)
        order = np.argsort(proposal.at("keys", rest), kind="stable")
        return elected.and_more(rest[order], np.zeros(len(rest)))

    def _never_asked(self, proposal: Proposal, most: int) -> IntArray:
        """The best keys of the window that were never asked for."""
        rows = np.flatnonzero((proposal.asked == NEVER) & proposal.inside)
        if proposal.nominated is not None:
            rows = rows[proposal.nominated[rows]]
        return proposal.places.best_of(rows, min(most, len(rows)))

    @property
    def _must_rank(self) -> bool:
        """Whether the policy has to be asked, even if nothing is left for its choice."""
        policy = self._learners.policy
        return self._puts_off or getattr(policy, "learns_by_ranking", True)

    @property
    def _puts_off(self) -> bool:
        """Whether fetches that promise too little are put off for later windows."""
        policy = self._learners.policy
        carries = self._purse.budget.carry_over
        return carries and isinstance(policy, Worth) and policy.values.moves

    def _ranked(self, proposal: Proposal, *, new_too: bool = False) -> Appraised:
        """The policy's choice of the others, without what is put off for later windows."""
        policy = self._learners.policy
        if self._puts_off and isinstance(policy, Worth):
            # The purse wants to know of all that is offered.
            offered = policy.appraise(replace(proposal, most=None, new_first=not new_too))
            most = self._purse.worthwhile(offered.worth)
            return Appraised(offered.rows[:most], offered.worth[:most])
        if isinstance(policy, Worth):
            found = policy.appraise(proposal)
        else:
            rows = policy.rank(proposal)
            found = Appraised(rows, np.full(len(rows), np.nan))
        if new_too:
            return found
        old = ~proposal.inside[found.rows] | (proposal.at("asked", found.rows) != NEVER)
        return Appraised(found.rows[old], found.worth[old])


def _new(rows: IntArray) -> Appraised:
    """Keys that come before all others: never asked for, or drawn."""
    return Appraised(rows, np.full(len(rows), np.inf))


def _shuffled(times: IntArray, seed: int) -> IntArray:
    """Lots, one for each time, in no order."""
    # Imported late: the compiler takes half a second to load.
    from topwater.replica.unseen_kernels import lots

    return lots(times, np.uint64(seed))
