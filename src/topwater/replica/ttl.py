"""What people use today: a cache whose entries expire, as a policy among the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from topwater.replica.places import first_by
from topwater.windows import millis

if TYPE_CHECKING:
    from topwater.model import IntArray, Millis
    from topwater.replica.look_ups import Polls
    from topwater.replica.proposals import Proposal

USUAL: Millis = 300_000
"""How long an entry lives if nothing else is said."""


class TimeToLive:
    """TTL: what is read after its time is fetched anew, in the order in which keys are met.

    Entries that have not expired are left alone, so it may spend less than the budget. Where
    more have expired than may be fetched, the others are read as they are. Keys are met in the
    order of their last events, as a cache in front of the stream would meet them.

    Parameters
    ----------
    ttl
        How long an entry lives, in milliseconds.
    """

    learns_by_ranking = False

    def __init__(self, ttl: Millis = USUAL) -> None:
        self.ttl = ttl

    @staticmethod
    def of(span: str) -> TimeToLive:
        """One whose entries live so long.

        Examples
        --------
        >>> TimeToLive.of("2 min").ttl
        120000
        """
        return TimeToLive(millis(span, field="policy"))

    def rank(self, proposal: Proposal) -> IntArray:
        """What has expired, in the order of the stream."""
        # A fetch that failed counts too, or keys that always fail would take the whole budget.
        expired = proposal.inside & (proposal.now - proposal.asked >= self.ttl)
        return first_by(proposal.last_event, np.flatnonzero(expired), proposal.most)

    def observe(self, polls: Polls) -> None:
        """Nothing to learn."""

    def reset(self, slots: IntArray) -> None:
        """Nothing to forget."""

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:  # noqa: ARG002
        """Nothing to keep."""
        return {}

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Nothing was kept."""
