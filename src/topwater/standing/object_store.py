"""The objects that standing queries share: the recent ones whole, the referred ones by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topwater.model import FloatArray, IntArray, KeyArray

_SPARE = 1 << 16


class Store:
    """Rows in the order of arrival. The object in row r has position ``origin + r``, from 1.

    Rows that no engine will read again are dropped now and then; of those that are still referred
    to, time and key stay.

    Attributes
    ----------
    columns
        One row per column of the objects, then one per score that is computed beforehand.
    origin, size
        The position of the first row, and how many rows there are.
    named
        Objects have times or keys of their own; else their positions say it all.
    """

    def __init__(self, width: int) -> None:
        self.columns: FloatArray = np.empty((width, _SPARE))
        self.positions: IntArray = np.arange(1, _SPARE + 1)
        self.times: IntArray = np.empty(_SPARE, np.int64)
        self.keys: KeyArray | None = None
        self.named = False
        self.origin = 1
        self.size = 0
        self._kept: IntArray = np.empty(0, np.int64)
        self._kept_times: IntArray = np.empty(0, np.int64)
        self._kept_keys: KeyArray = np.empty(0, np.int64)

    def append(
        self, columns: Sequence[FloatArray], times: IntArray | None, keys: KeyArray | None
    ) -> None:
        """Bring new rows. Without times or keys, positions stand for them."""
        new = len(columns[0])
        self.named |= times is not None or keys is not None
        self._grow(self.size + new, len(columns))
        rows = slice(self.size, self.size + new)
        for at, column in enumerate(columns):
            self.columns[at, rows] = column
        self.times[rows] = self.positions[rows] if times is None else times
        if keys is not None and self.keys is None:
            self.keys = self.positions.astype(keys.dtype if keys.dtype != object else object)
        if self.keys is not None:
            given = self.positions[rows] if keys is None else keys
            if given.dtype == object and self.keys.dtype != object:
                self.keys = self.keys.astype(object)
            self.keys[rows] = given
        self.size += new

    def drop(self, rows: int, held: IntArray) -> None:
        """Forget the first rows, but for time and key of the objects held."""
        held = np.unique(held)
        held = held[held < self.origin + rows]
        times, keys = self.describe(held)
        self._kept, self._kept_times, self._kept_keys = held, times, keys
        left = self.size - rows
        for array in (*self.columns, self.times, self.keys):
            if array is not None:
                array[:left] = array[rows : self.size]
        self.origin += rows
        self.size = left
        self.positions += rows

    def describe(self, positions: IntArray) -> tuple[IntArray, KeyArray]:
        """The times and keys of objects at these positions, in rows or kept."""
        if not self.named:
            return positions.copy(), positions.copy()
        rows = positions - self.origin
        recent = rows >= 0
        times = np.empty(len(positions), np.int64)
        times[recent] = self.times[rows[recent]]
        at = np.searchsorted(self._kept, positions[~recent])
        times[~recent] = self._kept_times[at]
        if self.keys is None:
            return times, positions.copy()
        keys = np.empty(len(positions), self.keys.dtype)
        keys[recent] = self.keys[rows[recent]]
        if len(at):
            if self._kept_keys.dtype == object:
                keys = keys.astype(object)
            keys[~recent] = self._kept_keys[at]
        return times, keys

    def __len__(self) -> int:
        return self.size + len(self._kept)

    def snapshot(self) -> dict[str, Any]:
        """All that :meth:`restore` needs."""
        keys = None if self.keys is None else self.keys[: self.size].copy()
        return {
            "columns": self.columns[:, : self.size].copy(),
            "times": self.times[: self.size].copy(),
            "keys": keys,
            "origin": self.origin,
            "named": self.named,
            "kept": self._kept,
            "kept_times": self._kept_times,
            "kept_keys": self._kept_keys,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self.origin, self.size, self.keys = state["origin"], 0, None
        self.columns = np.empty((state["columns"].shape[0], _SPARE))
        self.times = np.empty(_SPARE, np.int64)
        self.positions = np.arange(self.origin, self.origin + _SPARE)
        self._kept, self._kept_times = state["kept"], state["kept_times"]
        self._kept_keys = state["kept_keys"]
        self.append(state["columns"], state["times"], state["keys"])
        self.named = state["named"]

    def _grow(self, size: int, width: int) -> None:
        wide, long = self.columns.shape
        if size <= long and width <= wide:
            return
        long = max(long, 2 * size) if size > long else long
        columns = np.empty((max(wide, width), long))
        columns[:wide, : self.size] = self.columns[:, : self.size]
        times = np.empty(long, np.int64)
        times[: self.size] = self.times[: self.size]
        self.columns, self.times = columns, times
        self.positions = np.arange(self.origin, self.origin + long)
        if self.keys is not None:
            keys = np.empty(long, self.keys.dtype)
            keys[: self.size] = self.keys[: self.size]
            self.keys = keys
