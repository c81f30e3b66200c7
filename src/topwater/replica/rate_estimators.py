"""How often does a value change? Estimates from polls that only say "changed" or "not"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, FloatArray, IntArray, KeyArray
from topwater.protocols import Registry
from topwater.replica.slot_columns import SlotTable

START_RATE = 1 / 60
"""Changes per second of a key of which nothing is known."""

_HALF = 0.5
_BLOCK = 1_024
"""Keys looked at together: what is computed of them stays in the cache."""


class RateEstimator(Protocol):
    """Changes per second of each key, learnt from polls.

    Contract
    --------
    E1. ``observe(slots, seconds, changed)`` takes one poll per slot: so long after the last one,
        and whether the value differed.
    E2. ``rates(slots)`` is finite and positive. A key never polled is taken to change once a
        minute, and one that was never seen to change ever more rarely: at 0 it would never be
        polled again.
    E3. ``reset(slots)`` forgets: the slots belong to other keys now.
    """

    def observe(self, slots: IntArray, seconds: FloatArray, changed: BoolArray) -> None:
        """Learn from polls."""

    def rates(self, slots: IntArray) -> FloatArray:
        """Changes per second."""

    def reset(self, slots: IntArray) -> None:
        """Forget what was learnt of these slots."""

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""


class Interval(SlotTable):
    """Observed changes by observed time, as ACQUA counts; blind to changes between two polls.

    Examples
    --------
    >>> interval = Interval()
    >>> interval.observe(np.array([0]), np.array([10.0]), np.array([True]))
    >>> interval.observe(np.array([0]), np.array([10.0]), np.array([False]))
    >>> interval.rates(np.array([0])).tolist()
    [0.03]
    """

    def __init__(self) -> None:
        super().__init__("interval", 2)

    def observe(self, slots: IntArray, seconds: FloatArray, changed: BoolArray) -> None:
        """Learn from polls."""
        self.add(slots, np.column_stack([changed, seconds]))

    def rates(self, slots: IntArray) -> FloatArray:
        """Changes per second."""
        changes, seconds = self.at(slots).T
        return np.asarray((changes + _HALF) / (seconds + _HALF / START_RATE))


class Irregular:
    """The rate that makes irregular polls most likely (Cho and Garcia-Molina, TOIT 2003).

    Polls at uneven distances: a change after a long time says less than one after a short time.
    The likelihood is kept on a grid of rates, so a poll costs O(rates) and no history is kept;
    half a poll of each outcome at the mean distance takes the bias out of short histories.

    Examples
    --------
    >>> cho = Irregular()
    >>> for _ in range(50):
    ...     cho.observe(np.array([0]), np.array([10.0]), np.array([True]))
    ...     cho.observe(np.array([0]), np.array([10.0]), np.array([False]))
    >>> bool(abs(cho.rates(np.array([0]))[0] - np.log(2) / 10) < 0.004)
    True
    """

    grid: FloatArray = np.geomspace(1 / 864_000, 4.0, 200)

    def __init__(self) -> None:
        self._log = SlotTable("irregular_log", len(self.grid))
        self._polls = SlotTable("irregular_polls", 3)

    @property
    def bytes_per_key(self) -> int:
        """What a key that was polled takes."""
        return self._log.bytes_per_key + self._polls.bytes_per_key

    def observe(self, slots: IntArray, seconds: FloatArray, changed: BoolArray) -> None:
        """Learn from polls."""
        self._log.add(slots, log_likelihood(self.grid, seconds, changed))
        self._polls.add(slots, np.column_stack([np.ones(len(slots)), seconds, changed]))

    def rates(self, slots: IntArray) -> FloatArray:
        """Changes per second.  O(slots), and O(rates) for each that was polled."""
        rates = np.repeat(_unchanged(np.zeros(1)), len(slots))
        polled = np.flatnonzero(self._polls.holds(slots))
        for start in range(0, len(polled), _BLOCK):
            block = polled[start : start + _BLOCK]
            rates[block] = self._likeliest(slots[block])
        return rates

    def _likeliest(self, slots: IntArray) -> FloatArray:
        polls, seconds, changes = self._polls.at(slots).T
        log = self._log.at(slots)
        mean = ratio(seconds, polls, otherwise=1.0)
        for outcome in (True, False):
            log = log + 0.5 * log_likelihood(self.grid, mean, np.full(len(slots), outcome))
        best: FloatArray = self.grid[np.argmax(log, axis=1)]
        return np.where(changes > 0, best, _unchanged(seconds))

    def reset(self, slots: IntArray) -> None:
        """Forget what was learnt of these slots."""
        self._log.reset(slots)
        self._polls.reset(slots)

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""
        return self._log.snapshot(slots) | self._polls.snapshot(slots)

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""
        self._log.restore(table, slots)
        self._polls.restore(table, slots)


class Forgetting(SlotTable):
    """Recent polls weigh more: for rates that move.

    Parameters
    ----------
    half_life
        Number of polls of a key after which an old poll counts half.
    """

    def __init__(self, half_life: float = 10.0) -> None:
        super().__init__("forgetting", 3)
        self._decay = 0.5 ** (1.0 / half_life)

    def observe(self, slots: IntArray, seconds: FloatArray, changed: BoolArray) -> None:
        """Learn from polls."""
        polled = np.column_stack([np.ones(len(slots)), seconds, changed])
        self.put(slots, self.at(slots) * self._decay + polled)

    def rates(self, slots: IntArray) -> FloatArray:
        """Changes per second."""
        polls, seconds, changes = self.at(slots).T
        share = (polls - changes + 0.5) / (polls + 0.5)
        mean = np.maximum(ratio(seconds, polls, otherwise=1.0), 1e-3)
        moving = -np.log(np.minimum(share, 1.0)) / mean
        return np.where(changes > 0, moving, _unchanged(seconds))


class Known:
    """Rates that need no estimate, because they are given.

    Parameters
    ----------
    known
        Changes per second by key, the key as text; 0 for never.
    keys
        The keys in slots of the replica.
    """

    def __init__(self, known: Mapping[str, float], keys: Callable[[IntArray], KeyArray]) -> None:
        self._known = known
        self._keys = keys

    def observe(self, slots: IntArray, seconds: FloatArray, changed: BoolArray) -> None:
        """Nothing to learn."""

    def rates(self, slots: IntArray) -> FloatArray:
        """Changes per second; a key of which nothing is known changes once a minute."""
        keys = self._keys(slots).tolist()
        return np.array([self._known.get(str(key), START_RATE) for key in keys], np.float64)

    def reset(self, slots: IntArray) -> None:
        """Nothing to forget."""

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:  # noqa: ARG002
        """Nothing to keep."""
        return {}

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Nothing was kept."""


def _unchanged(seconds: FloatArray) -> FloatArray:
    """The rate of keys that were never seen to change, watched for so long."""
    return np.asarray(_HALF / (seconds + _HALF / START_RATE))


def ratio(over: FloatArray, under: FloatArray, *, otherwise: float) -> FloatArray:
    """``over / under``, and ``otherwise`` where there is nothing to divide by."""
    whole = np.full(len(over), otherwise)
    np.divide(over, under, out=whole, where=under > 0)
    return whole


def log_likelihood(rates: FloatArray, seconds: FloatArray, changed: BoolArray) -> FloatArray:
    """Of polls, one row each, under each rate, one column each."""
    exponent = np.maximum(seconds, 1e-3)[:, None] * rates[None, :]
    return np.where(changed[:, None], np.log(-np.expm1(-exponent)), -exponent)


estimators: Registry[Any] = Registry("estimator")
estimators.add("interval", Interval, "observed changes by observed time")
estimators.add("irregular", Irregular, "most likely rate for polls at uneven distances")
estimators.add("forgetting", Forgetting, "the same with recent polls weighing more")
