"""One remote value of a join: what is remembered of it, and what was learnt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray, KeyArray, Millis
from topwater.replica.joins.join import Join
from topwater.replica.joins.uses import Aged
from topwater.replica.key_slots import KeySlots
from topwater.replica.learners import Learners
from topwater.replica.look_ups import Polls
from topwater.replica.noise import Noise
from topwater.replica.policies import resolve
from topwater.replica.possible_values import Moved
from topwater.replica.rate_beliefs import seconds_since
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.remote_values import RemoteValues
from topwater.replica.store import Replica
from topwater.replica.terms import Terms
from topwater.scoring import Score
from topwater.windows import Windows


class Frame(NamedTuple):
    """What all values of a query have in common: the ranking that they are for."""

    score: Score
    windows: Windows
    k: int
    seed: int


class Asked(NamedTuple):
    """Entries that were asked for, distinct: for which window, at what time, and their events."""

    slots: IntArray
    window: int
    now: Millis
    last_event: IntArray


class Drifts(NamedTuple):
    """What values of some entries could be now: how likely they moved, and where to."""

    value: FloatArray
    stale: FloatArray
    moved: Moved


class ValueStore:
    """Remembers one value of each entry, and learns how it changes.

    Parameters
    ----------
    join, name
        Whose value it is, and what it is called.
    frame
        The ranking.
    index
        Gives entries their slots; all values of a join have the same.
    """

    def __init__(self, join: Join, name: str, frame: Frame, index: KeySlots) -> None:
        entry, _ = resolve("worth")
        settings = RefreshSettings(
            name, default=join.default_of(name), seed=frame.seed, hint=join.hint
        )
        self.name = name
        self._noise = None if join.noise is None else Noise.of(join.noise)
        self.replica = replica = Replica()
        replica.index = index
        self.values = RemoteValues(replica, settings.default)
        terms = Terms(settings, frame.score, frame.windows, frame.k)
        self.learners = Learners(terms, replica, entry)
        replica.learnt = self.learners.bytes_per_key

    def take_in(self, asked: Asked, values: FloatArray, good: BoolArray, why: KeyArray) -> None:
        """Remember what came for entries, ``good`` or not, and learn from it."""
        slots, replica = asked.slots, self.replica
        replica.enter(slots, asked.window, asked.now, asked.last_event)
        again = replica.known(slots)[good]
        before, fetched, hinted = replica.value[slots], replica.fetched[slots], replica.hints[slots]
        if self._noise is not None:
            values = np.where(self._noise.hides(before, values), before, values)
        replica.miss(slots[~good], asked.now, why[~good])
        changed = replica.put(slots[good], values[good], asked.now, why[good])
        polls = Polls(
            now=asked.now,
            slots=slots[good][again],
            seconds=(asked.now - fetched[good][again]) / 1_000,
            changed=changed[again],
            before=before[good][again],
            after=values[good][again],
            hinted=hinted[good][again],
        )
        self.learners.observe(polls)
        if not again.all():
            self.learners.meet(replica.numbers())

    def drifts(self, slots: IntArray, now: Millis) -> Drifts:
        """What the values of some entries could be now."""
        beliefs, replica = self.learners.beliefs, self.replica
        value = self.values.of_slots(slots)
        usual = np.where(np.isnan(value), beliefs.values.mean, value)
        passed = beliefs.passed(slots, now, replica, self.values.population)
        return Drifts(value, passed.stale, beliefs.moved(slots, usual, passed))

    def aged(self, slots: IntArray, now: Millis) -> Aged:
        """How long ago the values of some entries were read, and the hints since."""
        replica = self.replica
        return Aged(slots, seconds_since(replica.fetched[slots], now), replica.hints[slots])

    def forget(self, slots: IntArray) -> None:
        """Remember nothing of these entries."""
        self.replica.forget(slots)
        self.learners.reset(slots)

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        return {"arrivals": self.replica.arrivals, **self.learners.facts()}

    def restore_facts(self, meta: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self.learners.restore_facts(meta)
        self.replica.arrivals = meta["arrivals"]
