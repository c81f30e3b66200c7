"""Who is fetched: the first of those proposed, as far as the purse reaches."""

from __future__ import annotations

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
        if self._settings.reads_nothing:
            return np.empty(0, np.int64)
        unknown = np.flatnonzero((proposal.asked == NEVER) & proposal.inside)
        unknown = unknown[np.argsort(proposal.position[unknown], kind="stable")]
        elected = np.concatenate([unknown, self._ranked(proposal, unknown)])
        if self._settings.reads_every_key:
            rest = np.flatnonzero(proposal.inside)
            return np.concatenate([elected, rest[~np.isin(rest, elected)]])
        return elected if self._settings.reads_all_candidates else elected[:allowance]

    def _ranked(self, proposal: Proposal, unknown: IntArray) -> IntArray:
        """The policy's choice of the others, without what is put off for later windows."""
        policy = self._learners.policy
        ranked = policy.rank(proposal)
        ranked = ranked[~np.isin(ranked, unknown)]
        if not isinstance(policy, Worth) or not self._purse.budget.carry_over:
            return ranked
        if not policy.values.moves:
            return ranked
        return ranked[: self._purse.worthwhile(policy.worth(proposal)[ranked])]
