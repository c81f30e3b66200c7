"""Who is fetched: the first of those proposed, as far as the purse reaches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topwater.model import IntArray
from topwater.replica.budget import Purse
from topwater.replica.learners import Learners
from topwater.replica.proposals import Proposal
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.store import NEVER
from topwater.replica.worth import Worth


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

    def elect(self, proposal: Proposal, allowance: int) -> IntArray:
        """The first distinct rows that may be spent on; keys never asked for come first.

        A key whose first fetch failed is left to the policy: keys that always fail would keep
        all others from being fetched. Without a limit the rest of the window follows, as what a
        policy leaves out would be kept for nothing.
        """
        settings = self._settings
        if settings.reads_nothing:
            return np.empty(0, np.int64)
        if settings.reads_every_key or settings.reads_all_candidates:
            return self._all_of(proposal)
        new = self._never_asked(proposal, allowance)
        if len(new) >= allowance and not self._must_rank:
            return new
        ranked = self._ranked(replace(proposal, most=allowance, new_first=True))
        return np.concatenate([new, ranked])[:allowance]

    def _all_of(self, proposal: Proposal) -> IntArray:
        """As :meth:`elect`, whatever the allowance is."""
        new = self._never_asked(proposal, len(proposal))
        elected = np.concatenate([new, self._ranked(proposal)])
        if not self._settings.reads_every_key:
            return elected
        left = proposal.inside.copy()
        left[elected] = False
        rest = np.flatnonzero(left)
        order = np.argsort(proposal.at("keys", rest), kind="stable")
        return np.concatenate([elected, rest[order]])

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

    def _ranked(self, proposal: Proposal) -> IntArray:
        """The policy's choice of the others, without what is put off for later windows."""
        policy = self._learners.policy
        if self._puts_off and isinstance(policy, Worth):
            # The purse wants to know of all that is offered.
            offered = policy.appraise(replace(proposal, most=None, new_first=True))
            return offered.rows[: self._purse.worthwhile(offered.worth)]
        ranked = policy.rank(proposal)
        new = proposal.inside[ranked] & (proposal.at("asked", ranked) == NEVER)
        return np.asarray(ranked[~new])
