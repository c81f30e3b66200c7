"""`worth`, the default policy: what is knowing a value worth, to this answer and the next ones?"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray, Millis
from topwater.replica.appraisal import Appraisal, Appraised
from topwater.replica.look_ups import Polls
from topwater.replica.policies import PolicyEntry, rankers
from topwater.replica.population import Population
from topwater.replica.possible_values import Moved, Passed
from topwater.replica.proposals import Proposal
from topwater.replica.rate_beliefs import RateBeliefs, seconds_since
from topwater.replica.store import NEVER, Replica
from topwater.replica.utility import Aim
from topwater.replica.ways_to_move import WaysToMove


class Worth:
    """Ranks keys by the value of the information that a fetch brings.

    Deterministic. O(keys) a window, and O(32) for each key that could change its answer; see
    :class:`~topwater.replica.appraisal.Appraisal`.

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

    learns_by_ranking = False

    def __init__(self, seed: int = 0, aim: Aim = "relevance") -> None:
        self.seed = seed
        self.aim: Aim = aim
        self.rates = RateBeliefs()
        self.values = WaysToMove()

    @property
    def bytes_per_key(self) -> int:
        """What a key that was polled takes."""
        return self.rates.bytes_per_key + self.values.bytes_per_key

    def rank(self, proposal: Proposal) -> IntArray:
        """The rows that are worth a fetch, most worthwhile first."""
        return self.appraise(proposal).rows

    def appraise(self, proposal: Proposal) -> Appraised:
        """The same, with what each is worth."""
        wanted = proposal.inside
        if proposal.new_first:
            wanted = wanted & (proposal.asked != NEVER)
        elif proposal.nominated is not None:
            wanted = wanted & (proposal.nominated | (proposal.asked != NEVER))
        return Appraisal(self, proposal).best(np.flatnonzero(wanted), proposal.most)

    def stale(
        self, slots: IntArray, now: Millis, fetched: IntArray, hinted: IntArray
    ) -> FloatArray:
        """The probability that a value has changed since it was fetched."""
        seconds = seconds_since(fetched, now)
        return self.rates.stale(self.rates.of(slots, seconds), seconds, hinted)

    def moved(self, slots: IntArray, values: FloatArray, passed: Passed) -> Moved:
        """What values could be now, if they have changed."""
        moved = self.values.at(slots, values, passed.changes, passed.seconds)
        unseen = np.isinf(passed.seconds)
        if not unseen.any() or not passed.population.usable:
            return moved
        return moved.with_unseen(unseen, passed.population.draws, passed.times)

    def passed(self, slots: IntArray, now: Millis, replica: Replica, of: Population) -> Passed:
        """What has happened to values since they were read."""
        seconds, hinted = seconds_since(replica.fetched[slots], now), replica.hints[slots]
        stale, changes = np.zeros(len(slots)), np.ones(len(slots))
        # Those that were read just now are as they were.
        old = np.flatnonzero((seconds != 0.0) | (hinted != 0))
        if len(old):
            slots, since, hinted = slots[old], seconds[old], hinted[old]
            beliefs = self.rates.of(slots, since)
            stale[old] = found = self.rates.stale(beliefs, since, hinted)
            changes[old] = self.rates.changes(beliefs, since, hinted, found)
        return Passed(seconds, stale, changes, of)

    def observe(self, polls: Polls) -> None:
        """Learn how values change."""
        beliefs = self.rates.of(polls.slots, polls.seconds)
        stale = self.rates.stale(beliefs, polls.seconds, polls.hinted)
        changes = self.rates.changes(beliefs, polls.seconds, polls.hinted, stale)
        self.values.observe(polls, changes)
        self.rates.observe(polls, beliefs)

    def pool(self, slots: IntArray) -> None:
        """Find anew what all keys share, from what was learnt of these."""
        self.rates.pool(slots)
        self.values.pool(slots)

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        self.rates.reset(slots)
        self.values.reset(slots)

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""
        return self.rates.snapshot(slots) | self.values.snapshot(slots)

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""
        self.rates.restore(table, slots)
        self.values.restore(table, slots)


rankers.add(
    "worth",
    PolicyEntry(Worth, by_rows=False, weighs=True),
    "what knowing a value is worth to the answers",
)
