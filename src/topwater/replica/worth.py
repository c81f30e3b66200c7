"""`worth`, the default policy: what is knowing a value worth, to this answer and the next ones?"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray, Millis
from topwater.replica.appraisal import Appraisal, Appraised
from topwater.replica.beliefs import RateBeliefs, ValueModel, seconds_since
from topwater.replica.look_ups import Polls
from topwater.replica.policies import PolicyEntry, rankers
from topwater.replica.proposals import Proposal
from topwater.replica.store import NEVER
from topwater.replica.utility import Aim


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
        self.values = ValueModel()

    @property
    def bytes_per_key(self) -> int:
        """What a key that was polled takes."""
        return self.rates.bytes_per_key

    def rank(self, proposal: Proposal) -> IntArray:
        """The rows that are worth a fetch, most worthwhile first."""
        return self.appraise(proposal).rows

    def appraise(self, proposal: Proposal) -> Appraised:
        """The same, with what each is worth."""
        wanted = proposal.inside
        if proposal.new_first:
            wanted = wanted & (proposal.asked != NEVER)
        return Appraisal(self, proposal).best(np.flatnonzero(wanted), proposal.most)

    def stale(
        self, slots: IntArray, now: Millis, fetched: IntArray, hinted: IntArray
    ) -> FloatArray:
        """The probability that a value differs by now from what was fetched."""
        return self.rates.stale(self.rates.of(slots), seconds_since(fetched, now), hinted)

    def observe(self, polls: Polls) -> None:
        """Learn how values change."""
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


rankers.add(
    "worth", PolicyEntry(Worth, by_rows=False), "what knowing a value is worth to the answers"
)
