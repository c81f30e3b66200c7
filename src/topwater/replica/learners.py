"""All that learn from look-ups: the policy, what is believed of values, and change rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray
from topwater.replica.look_ups import Polls
from topwater.replica.noise import NoiseWatch
from topwater.replica.policies import PolicyEntry
from topwater.replica.rate_beliefs import RateBeliefs
from topwater.replica.rate_estimators import Known, RateEstimator, estimators
from topwater.replica.slot_columns import SlotTable
from topwater.replica.store import TOLD, Replica
from topwater.replica.terms import Terms
from topwater.replica.worth import Worth

SAMPLE = 4_096
"""How many keys it takes to find what all keys have in common."""

_ODD = np.uint64(0x9E3779B97F4A7C15)


class Learners:
    """What was learnt of the keys, by their slots in the replica.

    Parameters
    ----------
    terms, replica
        What is ranked, and whose slots these are.
    entry
        How the policy is made.

    Attributes
    ----------
    policy
        Ranks what is proposed.
    beliefs
        What values could be by now. It serves the answer's estimates under every policy; the
        policy ``worth`` elects by the same.
    rates
        Estimated change rates, if the policy needs them.
    noise
        Whether values are another number at each look.
    said
        What the stream said of each key when it was first looked up; see
        :mod:`~topwater.replica.likeness`.
    """

    def __init__(self, terms: Terms, replica: Replica, entry: PolicyEntry) -> None:
        settings = terms.settings
        self._replica = replica
        self.policy = entry.make(settings.seed)
        self.beliefs = self.policy if isinstance(self.policy, Worth) else Worth(settings.seed)
        self.beliefs.aim = settings.aim
        self.noise = NoiseWatch()
        self.said = SlotTable("said", 1, empty=np.nan, dtype=np.float16)
        self.beliefs.rates = RateBeliefs(terms.windows.step, hints=settings.hint)
        self.rates: RateEstimator | None = None
        if entry.needs_rates and settings.estimator is not None:
            self.rates = _estimator(settings.estimator, replica)

    @property
    def bytes_per_key(self) -> int:
        """What all of them keep for a key that was polled."""
        return sum(getattr(part, "bytes_per_key", 0) for part in self.parts())

    def observe(self, polls: Polls) -> None:
        """Learn from look-ups of keys that were known before."""
        told = polls.hinted >= TOLD
        if told.any():
            # That these are others was told, and says nothing of how often they change untold.
            self.learn_moves(polls.at(told & polls.changed))
            polls = polls.at(~told)
        if not len(polls.slots):
            return
        self.noise.observe(polls)
        self.policy.observe(polls)
        if self.beliefs is not self.policy:
            self.beliefs.observe(polls)
        if self.rates is not None:
            self.rates.observe(polls.slots, polls.seconds, polls.changed)
        self.beliefs.pool(self._sample())

    def learn_moves(self, polls: Polls) -> None:
        """Learn how values move from notices, each of which is one change."""
        if len(polls.slots):
            self.beliefs.values.observe(polls, np.ones(len(polls.slots)))

    def _sample(self) -> IntArray:
        """Of the slots that were polled, as many as tell what all have in common."""
        slots = self.beliefs.rates.polled()
        if len(slots) <= SAMPLE:
            return slots
        # By arrival: slots are numbered otherwise after a restart.
        shuffled = self._replica.arrival[slots].astype(np.uint64) * _ODD
        return np.asarray(slots[shuffled < np.uint64(SAMPLE / len(slots) * 2.0**64)])

    def hear(self, slots: IntArray, said: FloatArray) -> None:
        """Keep what the stream says of keys that are looked up for the first time."""
        self.said.put(slots, said[:, None])

    def meet(self, values: FloatArray) -> None:
        """Learn from new keys' values, as long as no change was observed; of all that is known."""
        known = self.beliefs.values
        if not known.learnt:
            known.start(values)
        else:
            known.admit(values)

    def reset(self, slots: IntArray) -> None:
        """The slots belong to other keys now."""
        for part in self.parts():
            part.reset(slots)

    def columns(self, slots: IntArray) -> dict[str, pa.Array]:
        """What was learnt of these slots, as columns for the replica's table."""
        columns: dict[str, pa.Array] = {}
        for part in self.parts():
            columns |= part.snapshot(slots)
        return columns

    def facts(self) -> dict[str, Any]:
        """The few numbers that were learnt of all keys together, for JSON."""
        return {
            "values": self.beliefs.values.facts(),
            "rates": self.beliefs.rates.prior.tolist(),
            "noise": self.noise.snapshot(),
        }

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over what :meth:`columns` gave."""
        for part in self.parts():
            part.restore(table, slots)

    def restore_facts(self, meta: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self.beliefs.values.restore_facts(meta["values"])
        self.beliefs.rates.prior = np.array(meta["rates"])
        self.noise.restore(meta["noise"])

    def parts(self) -> list[Any]:
        """Each of them once."""
        parts: list[Any] = [self.policy, self.said]
        if self.beliefs is not self.policy:
            parts.append(self.beliefs)
        return parts if self.rates is None else [*parts, self.rates]


def _estimator(given: str | Mapping[str, Mapping[str, float]], replica: Replica) -> RateEstimator:
    if isinstance(given, Mapping):
        return Known(given["known"], replica.keys)
    made: RateEstimator = estimators[given]()
    return made
