"""What is believed of values not fetched lately: are they stale, and what could they be now?

Per key, a distribution over change rates, learnt from its own polls and a prior pooled from all
keys. Shared by all keys, a model of how a value moves when it changes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, FloatArray, IntArray, Millis
from topwater.replica.look_ups import Polls
from topwater.replica.slot_columns import SlotTable
from topwater.replica.store import NEVER

_MINUTE: Millis = 60_000
_RATES = 24
_PRIOR_WEIGHT = 2.0
_CHANCES = (0.0, 0.05, 0.15, 0.35, 0.65, 0.95)
_GREATEST = 1e140


class RateBeliefs:
    """A distribution over ways to change for each key, with a prior that all keys share.

    A way to change is a rate λ and, where events are taken for hints, the chance h that a window
    with an event of the key brings a change. After t seconds and m such windows a value is still
    the same with probability e^(−λt)·(1 − h)^m.

    Complexity: O(24) a poll, and O(24) a key to tell how stale it is; six times that with hints.

    Parameters
    ----------
    step
        How far windows move, in milliseconds: no poll can tell more than a few changes a step.
    hints
        Whether events may tell of changes. Without, all chances are 0.

    Attributes
    ----------
    grid
        The rates, in changes per second: from once a day, or in 1,440 steps if that is longer,
        to four a minute, or a step if that is shorter.
    chances
        Of a change with an event, one for each rate of the grid.
    pooled
        The sum of what is believed of all keys polled.
    """

    def __init__(self, step: Millis = _MINUTE, *, hints: bool = False) -> None:
        seconds = step / 1_000
        slowest, fastest = min(1 / 86_400, 1 / 1_440 / seconds), max(1 / 15, 4 / seconds)
        rates = np.geomspace(slowest, fastest, _RATES)
        chances = np.array(_CHANCES if hints else _CHANCES[:1])
        self.grid: FloatArray = np.tile(rates, len(chances))
        self.chances: FloatArray = np.repeat(chances, _RATES)
        size = len(self.grid)
        self._log = SlotTable("rate_log", size)
        self._share = SlotTable("rate_share", size)
        self.pooled = np.zeros(size)

    @property
    def bytes_per_key(self) -> int:
        """What a key that was polled takes."""
        return self._log.bytes_per_key + self._share.bytes_per_key

    @property
    def prior(self) -> FloatArray:
        """What is believed of a key that was never polled."""
        # Each polled key adds one to the sum of the pooled shares.
        pooled = _PRIOR_WEIGHT / len(self.grid) + self.pooled
        return np.asarray(pooled / pooled.sum())

    @property
    def hints(self) -> bool:
        """Whether events may tell of changes."""
        return bool(self.chances.any())

    def learnt(self, slots: IntArray) -> BoolArray:
        """Of which slots something was learnt; the others are all believed to change alike."""
        return self._log.holds(slots)

    def of(self, slots: IntArray) -> FloatArray:
        """One row of probabilities per slot."""
        log = self._log.at(slots)
        weights = self.prior * np.exp(log - log.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def stale(self, beliefs: FloatArray, seconds: FloatArray, hinted: IntArray) -> FloatArray:
        """The probability that a value differs by now, so long and so many hints after a fetch."""
        return np.asarray((beliefs * self._worn(seconds, hinted)).sum(axis=1))

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

    def observe(self, polls: Polls) -> None:
        """Learn whether values changed."""
        slots = polls.slots
        wear = self._wear(np.maximum(polls.seconds, 1e-3), polls.hinted)
        evidence = -wear
        changed = np.flatnonzero(polls.changed)
        evidence[changed] = np.log(-np.expm1(evidence[changed]))
        self._log.add(slots, evidence)
        fresh = self.of(slots)
        self.pooled += (fresh - self._share.at(slots)).sum(axis=0)
        self._share.put(slots, fresh)

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        slots = slots[self._share.holds(slots)]
        self.pooled -= self._share.at(slots).sum(axis=0)
        self._log.reset(slots)
        self._share.reset(slots)

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""
        return self._log.snapshot(slots) | self._share.snapshot(slots)

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""
        self._log.restore(table, slots)
        self._share.restore(table, slots)

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


class ValueModel:
    """How a value moves when it changes: x' = μ + ρ(x − μ) + ε.

    ρ is learnt from pairs of old and new values, started at a half with the weight of eight
    pairs; μ starts as the mean of the replica; ε is drawn from the residuals seen.
    """

    pairs = 8.0
    ring = 400

    def __init__(self) -> None:
        self._sums: FloatArray | None = None
        self._residuals = np.empty(0)
        self._last_quantiles: tuple[FloatArray, FloatArray] | None = None

    @property
    def learnt(self) -> bool:
        """Whether a change was observed."""
        return self._sums is not None and self._sums[0] > self.pairs

    @property
    def moves(self) -> bool:
        """Whether values are known to differ, from each other or from what they were."""
        return bool(np.any(self._residuals != 0))

    def start(self, values: FloatArray) -> None:
        """Begin with the values that the replica holds."""
        # Sorted, because sums depend on the order, and a restart changes it.
        values = np.sort(_moderate(values[np.isfinite(values)]))
        if not len(values):
            return
        with np.errstate(over="ignore"):
            mean, spread = float(values.mean()), float(values.var())
        # Sums: weight, mean, covariance, variance.
        self._sums = np.array([self.pairs, mean, 0.5 * self.pairs * spread, self.pairs * spread])
        self._residuals = np.quantile(values - mean, _middles(32))

    @property
    def mean(self) -> float:
        """What values come back to."""
        return 0.0 if self._sums is None else float(self._sums[1])

    @property
    def memory(self) -> float:
        """ρ: how much of its distance to the mean a value keeps when it changes."""
        sums = [0.0] if self._sums is None else self._sums.tolist()
        if sums[-1] <= 0 or not all(map(math.isfinite, sums)):
            return 0.5
        return min(max(sums[2] / sums[3], 0.0), 1.0)

    def observe(self, polls: Polls) -> None:
        """Learn from the values that changed."""
        moved = polls.changed & np.isfinite(polls.before) & np.isfinite(polls.after)
        if not moved.any():
            return
        before, after = _moderate(polls.before[moved]), _moderate(polls.after[moved])
        if self._sums is None:
            self.start(after)
            return
        residuals = after - (self.mean + self.memory * (before - self.mean))
        self._residuals = np.append(self._residuals, residuals)[-self.ring :]
        weight, mean = self._sums[0], self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            self._sums[2] += ((before - mean) * (after - mean)).sum()
            self._sums[3] += ((before - mean) ** 2).sum()
        self._sums[0] = weight + len(after)
        self._sums[1] = mean + float((after - mean).sum()) / self._sums[0]

    def could_be(self, values: FloatArray, count: int) -> FloatArray:
        """For each value, what it could be after a change: ``count`` equally likely ones."""
        return self._expected(values)[:, None] + self._quantiles(count)[None, :]

    def range_of(self, values: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        """For each value, the least and the greatest of these."""
        expected, quantiles = self._expected(values), self._quantiles(count)
        return expected + quantiles.min(), expected + quantiles.max()

    def draw(
        self, values: FloatArray, times: int, wanted: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """Random draws of what values could be after a change.

        Parameters
        ----------
        values, times
            The values, and how often all of them are drawn, one time after the other.
        wanted
            Which of these draws are.
        rng
            Gives the same draws, whatever is wanted.
        """
        noise = self._residuals if len(self._residuals) else np.zeros(1)
        drawn = rng.integers(0, len(noise), size=times * len(values))[wanted]
        return np.asarray(self._expected(values)[wanted % len(values)] + noise[drawn])

    def snapshot(self) -> dict[str, Any]:
        """For JSON."""
        sums = None if self._sums is None else self._sums.tolist()
        return {"sums": sums, "residuals": self._residuals.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """What :meth:`snapshot` gave."""
        self._sums = None if state["sums"] is None else np.array(state["sums"])
        self._residuals = np.array(state["residuals"], np.float64)

    def _expected(self, values: FloatArray) -> FloatArray:
        return np.asarray(self.mean + self.memory * (values - self.mean))

    def _quantiles(self, count: int) -> FloatArray:
        if not len(self._residuals):
            return np.zeros(1)
        last = self._last_quantiles
        # The residuals are never written, but replaced.
        if last is None or last[0] is not self._residuals or len(last[1]) != count:
            last = self._residuals, np.quantile(self._residuals, _middles(count))
            self._last_quantiles = last
        return last[1]


def seconds_since(fetched: IntArray, now: Millis) -> FloatArray:
    """How long ago each value was fetched; for ever, if it never was."""
    return np.where(fetched == NEVER, np.inf, (now - fetched) / 1_000)


def _moderate(values: FloatArray) -> FloatArray:
    """Values whose sums and squares are numbers."""
    return np.clip(values, -_GREATEST, _GREATEST)


def _middles(count: int) -> FloatArray:
    return (np.arange(count) + 0.5) / count
