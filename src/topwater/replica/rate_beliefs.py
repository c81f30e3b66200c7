"""How often values change: for each key a distribution over rates, with a prior that all share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, FloatArray, IntArray, Millis
from topwater.replica.look_ups import Polls
from topwater.replica.slot_columns import SlotTable
from topwater.replica.store import NEVER, TOLD

_MINUTE: Millis = 60_000
_RATES = 24
_PRIOR_WEIGHT = 2.0
_CHANCES = (0.0, 0.05, 0.15, 0.35, 0.65, 0.95)
_HOUR, _STEPS = 3_600.0, 60
"""After how long what a key was like is half forgotten, and the least number of steps for it."""

_LEAST_LOG = -40.0
_PARTS = 2.0**30
"""Shares are added up as whole numbers of these: then their order does not matter."""


class RateBeliefs:
    """A distribution over ways to change for each key, with a prior that all keys share.

    A way to change is a rate λ and, where events are taken for hints, the chance h that a window
    with an event of the key brings a change. After t seconds and m such windows a value is still
    the same with probability e^(−λt)·(1 − h)^m.

    What was learnt of a key fades: with time it is believed to be like the others again. The prior
    is found by expectation and maximisation, one step a window.

    Complexity: O(24) a poll, and O(24) a key to tell how stale it is; six times that with hints.

    Parameters
    ----------
    step
        How far windows move, in milliseconds: no poll can tell more than a few changes a step.
    hints
        Whether events may hint at changes. Without, all chances are 0.

    Attributes
    ----------
    grid
        The rates, in changes per second: from once a day, or in 1,440 steps if that is longer,
        to four a minute, or a step if that is shorter.
    chances
        Of a change with an event, one for each rate of the grid.
    prior
        What is believed of a key that was never polled.
    told
        Whether there may be keys of which it was told that their values are others by now.
    """

    def __init__(self, step: Millis = _MINUTE, *, hints: bool = False) -> None:
        seconds = step / 1_000
        slowest, fastest = min(1 / 86_400, 1 / 1_440 / seconds), max(1 / 15, 4 / seconds)
        rates = np.geomspace(slowest, fastest, _RATES)
        chances = np.array(_CHANCES if hints else _CHANCES[:1])
        self.grid: FloatArray = np.tile(rates, len(chances))
        self.chances: FloatArray = np.repeat(chances, _RATES)
        self._fades = max(_HOUR, _STEPS * seconds)
        size = len(self.grid)
        self._log = SlotTable("rates", size, dtype=np.float16)
        self.prior: FloatArray = np.full(size, 1.0 / size)
        self.told = False

    @property
    def bytes_per_key(self) -> int:
        """What a key that was polled takes."""
        return self._log.bytes_per_key

    @property
    def hints(self) -> bool:
        """Whether events may hint at changes."""
        return bool(self.chances.any())

    def learnt(self, slots: IntArray) -> BoolArray:
        """Of which slots something was learnt; the others are all believed to change alike."""
        return self._log.holds(slots)

    def polled(self) -> IntArray:
        """All slots of which something was learnt."""
        return self._log.slots()

    def of(self, slots: IntArray, seconds: FloatArray | None = None) -> FloatArray:
        """One row of probabilities per slot, so long after its last poll; or right after it."""
        own = self._log.at(slots)
        np.exp(own, out=own)
        # Not a matrix product: what it gives for a key depends on how many others there are.
        own *= self.prior
        own /= own.sum(axis=1, keepdims=True)
        if seconds is None:
            return np.asarray(own)
        kept = np.exp(-seconds / self._fades)[:, None]
        own *= kept
        own += (1.0 - kept) * self.prior
        return np.asarray(own)

    def stale(self, beliefs: FloatArray, seconds: FloatArray, hinted: IntArray) -> FloatArray:
        """The probability that a value has changed, by its age and the hints since."""
        found = np.asarray((beliefs * self._worn(seconds, hinted)).sum(axis=1))
        return np.where(hinted >= TOLD, 1.0, found) if self.told else found

    def changes(
        self, beliefs: FloatArray, seconds: FloatArray, hinted: IntArray, stale: FloatArray
    ) -> FloatArray:
        """How many changes there were by then, if there was one; they are stale as likely as this.

        Of a value that was never read, one.
        """
        read = np.isfinite(seconds)
        hinted = hinted % TOLD if self.told else hinted
        wear = (beliefs * self._wear(np.where(read, seconds, 0.0), hinted)).sum(axis=1)
        return np.where(read, np.maximum(1.0, wear / np.maximum(stale, 1e-300)), 1.0)

    def survives(self, beliefs: FloatArray, seconds: FloatArray, events: FloatArray) -> FloatArray:
        """The probability that a value fetched now is right after each of some times.

        Parameters
        ----------
        beliefs
            One row a key.
        seconds
            The times, one a column of the result.
        events
            How many windows with events of each key (a row) are expected until each time.
        """
        if not self.hints:
            same = np.exp(-np.outer(seconds, self.grid))
            # Not a matrix product: what it gives for a key depends on how many others there are.
            return np.stack([(beliefs * each).sum(axis=1) for each in same], axis=1)
        same = np.exp(-np.outer(seconds, self.grid))[None] * (
            np.exp(events[:, :, None] * np.log1p(-self.chances))
        )
        return np.asarray((beliefs[:, None, :] * same).sum(axis=2))

    def observe(self, polls: Polls, believed: FloatArray | None = None) -> None:
        """Learn whether values changed.

        ``believed`` is what was believed when they were read, if that is known already.
        """
        slots = polls.slots
        seconds = np.maximum(polls.seconds, 1e-3)
        evidence = -self._wear(seconds, polls.hinted)
        changed = np.flatnonzero(polls.changed)
        evidence[changed] = np.log(-np.expm1(evidence[changed]))
        if believed is None or not np.array_equal(seconds, polls.seconds):
            believed = self.of(slots, seconds)
        before = np.log(np.maximum(believed, 1e-300) / self.prior)
        likely = before + evidence
        likely -= likely.max(axis=1, keepdims=True)
        self._log.put(slots, np.maximum(likely, _LEAST_LOG))

    def pool(self, slots: IntArray) -> None:
        """Find the prior anew, from what is believed of these slots: an EM step."""
        shares = np.rint(self.of(slots) * _PARTS).astype(np.int64).sum(axis=0) / _PARTS
        pooled = _PRIOR_WEIGHT / len(self.grid) + shares
        self.prior = np.asarray(pooled / pooled.sum())

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        self._log.reset(slots)

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""
        return self._log.snapshot(slots)

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""
        self._log.restore(table, slots)

    def _worn(self, seconds: FloatArray, hinted: IntArray) -> FloatArray:
        """The probability of a change: a row a key, a column a way to change."""
        if self.hints:
            return -np.expm1(-self._wear(seconds, hinted))
        # Windows are fetched for as a whole, so there are few times.
        times, which = np.unique(seconds, return_inverse=True)
        return -np.expm1(-np.outer(times, self.grid))[which]

    def _wear(self, seconds: FloatArray, hinted: IntArray) -> FloatArray:
        """−log of the probability that nothing changed: a row a key, a column a way to change."""
        wear = np.outer(seconds, self.grid)
        return wear - np.outer(hinted, np.log1p(-self.chances)) if self.hints else wear


def seconds_since(fetched: IntArray, now: Millis) -> FloatArray:
    """How long ago each value was fetched; for ever, if it never was."""
    return np.where(fetched == NEVER, np.inf, (now - fetched) / 1_000)
