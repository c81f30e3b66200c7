"""What is taken for a key's remote value: what the replica remembers, or the usual one."""

from __future__ import annotations

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray, KeyArray
from topwater.problems import FAILED, NEVER
from topwater.replica.likeness import Likeness
from topwater.replica.number_order import SortedNumbers
from topwater.replica.population import Population
from topwater.replica.slot_columns import SlotTable
from topwater.replica.store import NEVER as UNASKED
from topwater.replica.store import Replica

_NOWHERE: IntArray = np.array([2**40])
"""A slot that no key has."""


class RemoteValues:
    """The remote values that scores are made of.

    A key that was never fetched counts as the median of the known values; one that the remote side
    does not know has the default, or NaN where there is none.

    Parameters
    ----------
    replica
        What is remembered.
    default
        The value of keys that the remote side does not know.
    said
        What the stream said of keys that were looked up.
    """

    def __init__(
        self, replica: Replica, default: float | None = None, said: SlotTable | None = None
    ) -> None:
        self._replica = replica
        self._default = default
        self._said = said
        self._edition: tuple[int, int] | None = None
        self._by_row = np.empty(0)
        self._known = SortedNumbers()
        self._population = Population(np.empty(0))
        self._middle = 0.0

    def of_slots(self, slots: IntArray) -> FloatArray:
        """The value of the key in each slot.  O(slots), and O(keys known) if they changed."""
        self._renew()
        return np.asarray(self._by_row[self._replica.rows(slots)])

    @property
    def population(self) -> Population:
        """What the value of a key that was never read could be."""
        self._renew()
        return self._population

    def _renew(self) -> None:
        if self._edition != self._replica.edition:
            known = self._known.update(self._replica.value.data)
            # A copy: the numbers are moved when they are next updated.
            self._population = self._of(known.copy())
            self._by_row = self._taken()
            self._edition = self._replica.edition

    def _of(self, known: FloatArray) -> Population:
        """What these values say of others, by what the stream said of their keys."""
        self._middle = Population(known).median
        if self._said is None:
            return Population(known)
        value = self._replica.value.data
        rows = np.flatnonzero(np.isfinite(value))
        said = self._said.at(self._replica.watched.slot_of[rows].astype(np.int64))[:, 0]
        likeness = Likeness.of(said, value[rows])
        if not likeness.is_clear:
            return Population(known)
        return Population(np.sort(value[rows] / likeness.times(said)), likeness)

    def _taken(self) -> FloatArray:
        """What is taken for the value in each row of the replica."""
        value = self._replica.value.data
        if self._default is not None:
            value = np.where(np.isnan(value), self._default, value)
        return np.where(self._replica.fetched.data == UNASKED, self._typical(), value)

    def shown(self, slots: IntArray) -> FloatArray:
        """The same for an answer's rows; NaN where nothing is known, and 0 is only assumed."""
        values = self.of_slots(slots)
        if self._default is not None or self._replica.holds_numbers:
            return values
        return np.full(len(values), np.nan)

    def lacking(self, slots: IntArray) -> BoolArray:
        """Which keys are not results, because the remote side has no value for them.  O(slots)."""
        if self._default is not None:
            return np.zeros(len(slots), np.bool_)
        return np.asarray(self._replica.known(slots) & np.isnan(self._replica.value[slots]))

    def assumed(self, slots: IntArray) -> list[str | None]:
        """Why each value is not one that the source gave; None if it is."""
        number = np.isfinite(self._replica.value[slots]).tolist()
        known = self._replica.known(slots)
        tried = np.not_equal(self._replica.asked[slots], UNASKED)
        usual = np.where(known, "not_found", np.where(tried, FAILED, NEVER)).tolist()
        why = self._replica.reasons(slots)
        return [
            None if given else reason or otherwise
            for given, reason, otherwise in zip(number, why, usual, strict=True)
        ]

    def of_keys(self, keys: KeyArray) -> FloatArray:
        """The value of each key; asking enters none of them."""
        slots = self._replica.find(keys)
        met = slots >= 0
        values = np.full(len(keys), np.nan)
        values[met] = self.of_slots(slots[met])
        if not met.all():
            values[~met] = self.of_slots(_NOWHERE)
        return values

    def _typical(self) -> float:
        """The median of the values known."""
        if not len(self._population.known):
            return self._default or 0.0
        return self._middle
