"""Values that change at known times: the remote side, as only an evaluation can see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from topwater.errors import QueryError
from topwater.model import FloatArray, IntArray, KeyArray, Millis


@dataclass(frozen=True, slots=True)
class Steps:
    """One step function per key, from snapshots of some keys at some times.

    Reads see the newest snapshot *strictly before* the time asked for; before a key's first
    snapshot they see that one. O(log rows) a read.

    Parameters
    ----------
    times, keys, values
        The snapshots, sorted by key, then by time.
    columns
        All values of each snapshot by their names, where there are several: numbers and texts.
        ``values`` is the first column of numbers.

    Examples
    --------
    >>> steps = Steps.of(np.array([0, 0, 60]), np.array([7, 8, 7]), np.array([1.0, 2.0, 3.0]))
    >>> [steps.at(np.array([7, 8]), at).tolist() for at in (0, 60, 61)]
    [[1.0, 2.0], [1.0, 2.0], [3.0, 2.0]]
    >>> steps.changes_after(np.array([7, 8]), 10).tolist()
    [60.0, inf]
    """

    times: IntArray
    keys: IntArray
    values: FloatArray
    columns: Mapping[str, KeyArray] = field(default_factory=dict)
    distinct: IntArray = field(init=False, repr=False)
    _starts: IntArray = field(init=False, repr=False)
    _places: IntArray = field(init=False, repr=False)
    _changes: IntArray = field(init=False, repr=False)
    _span: Millis = field(init=False, repr=False)
    _origin: Millis = field(init=False, repr=False)

    def __post_init__(self) -> None:
        distinct, starts, rows = np.unique(self.keys, return_index=True, return_inverse=True)
        origin = int(self.times.min())
        span = int(self.times.max()) - origin + 2
        # Key by key on one line, so that a single bisection finds any key at any time.
        places = rows * span + (self.times - origin)
        changes = np.flatnonzero(np.diff(self.values, prepend=np.nan) != 0)
        changes = changes[~np.isin(changes, starts)]
        for name, value in (
            ("distinct", distinct),
            ("_starts", starts.astype(np.int64)),
            ("_places", places),
            ("_changes", changes),
            ("_span", span),
            ("_origin", origin),
        ):
            object.__setattr__(self, name, value)

    @staticmethod
    def of(
        times: IntArray,
        keys: IntArray,
        values: IntArray | FloatArray,
        columns: Mapping[str, KeyArray] | None = None,
    ) -> Steps:
        """Steps from snapshots in any order."""
        order = np.lexsort((times, keys))
        ordered = {name: column[order] for name, column in (columns or {}).items()}
        return Steps(times[order], keys[order], np.asarray(values, np.float64)[order], ordered)

    def __len__(self) -> int:
        return len(self.times)

    def at(self, keys: IntArray, at: Millis) -> FloatArray:
        """The value of each key just before ``at``."""
        return np.asarray(self.values[self.newest(keys, at)])

    def newest(self, keys: IntArray, at: Millis) -> IntArray:
        """The place of the snapshot of each key that is seen at ``at``."""
        rows = self._rows(keys)
        newest = np.searchsorted(self._places, self._place(rows, at)) - 1
        return np.asarray(np.maximum(newest, self._starts[rows]))

    def changes_after(self, keys: IntArray, at: Millis) -> FloatArray:
        """When each key's value changes next, at ``at`` or later, in milliseconds; or never."""
        rows = self._rows(keys)
        found = np.searchsorted(self._places[self._changes], self._place(rows, at))
        due = np.full(len(rows), np.inf)
        inside = found < len(self._changes)
        change = self._changes[found[inside]]
        due[inside] = np.where(
            self.keys[change] == self.distinct[rows[inside]], self.times[change], np.inf
        )
        return due

    def rates(self) -> FloatArray:
        """The changes per second of each distinct key, over the whole time."""
        rows = np.searchsorted(self.distinct, self.keys[self._changes])
        seconds = max(1, self._span - 2) / 1_000
        return np.bincount(rows, minlength=len(self.distinct)) / seconds

    @property
    def extent(self) -> tuple[float, float]:
        """The least and the greatest value."""
        return float(self.values.min()), float(self.values.max())

    @property
    def complete_at(self) -> Millis:
        """When the first snapshots of all keys are there."""
        return int(self.times[self._starts].max())

    def _rows(self, keys: IntArray) -> IntArray:
        rows = np.searchsorted(self.distinct, keys)
        known = self.distinct[np.minimum(rows, len(self.distinct) - 1)] == keys
        if not np.all(known):
            raise QueryError(
                f"nothing is known of key {np.asarray(keys)[~known][0]}",
                field="remote",
                fix="every key of the stream needs at least one snapshot",
            )
        return rows

    def _place(self, rows: IntArray, at: Millis) -> IntArray:
        inside = min(max(at - self._origin, 0), self._span - 1)
        return np.asarray(rows * self._span + inside)
