"""Numbers that belong to slots, kept for those of which something is known or was learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.key_slots import grown

_LEAST = 16
_MANY = 4_096
"""The number of slots for which what is found is kept until others are asked for."""


class SlotRows:
    """Which row of some columns belongs to a slot. Row 0 is shared by all that have none.

    So a column is read for any slots by ``column[rows.of(slots)]``, and row 0 holds what is to be
    read where nothing is known.

    Examples
    --------
    >>> rows = SlotRows()
    >>> rows.enter(np.array([30, 7])).tolist(), rows.of(np.array([7, 8, 30])).tolist()
    ([1, 2], [2, 0, 1])
    >>> rows.leave(np.array([30])).tolist(), len(rows)
    ([1], 1)
    """

    def __init__(self) -> None:
        self._row_of = np.zeros(_LEAST, np.int32)
        self._free = np.empty(0, np.int64)
        self.size = 1
        """How many rows there are, used or free, the first one included."""

    def __len__(self) -> int:
        return self.size - 1 - len(self._free)

    def of(self, slots: IntArray) -> npt.NDArray[np.int32]:
        """The row of each slot.  O(slots)."""
        if slots.max(initial=-1) < len(self._row_of):
            return np.asarray(self._row_of[slots])
        inside = slots < len(self._row_of)
        return np.where(inside, self._row_of[np.where(inside, slots, 0)], 0)

    def enter(self, slots: IntArray) -> IntArray:
        """Give rows to slots that have none; which."""
        beyond = int(slots.max(initial=-1)) + 1
        if beyond > len(self._row_of):
            self._row_of = grown(self._row_of, max(beyond, 2 * len(self._row_of)), 0)
        missing = len(slots) - len(self._free)
        if missing > 0:
            added = np.arange(self.size + missing - 1, self.size - 1, -1)
            self._free = np.concatenate([added, self._free])
            self.size += missing
        cut = len(self._free) - len(slots)
        rows = self._free[cut:][::-1]
        self._row_of[slots], self._free = rows, self._free[:cut]
        return rows

    def slots(self) -> IntArray:
        """All slots that have a row, ascending.  O(slots)."""
        return np.flatnonzero(self._row_of)

    def leave(self, slots: IntArray) -> IntArray:
        """Take the rows of these slots, which have some; which."""
        rows = self._row_of[slots].astype(np.int64)
        self._row_of[slots] = 0
        self._free = np.concatenate([self._free, rows[::-1]])
        return rows


class WatchedRows(SlotRows):
    """Rows that know their slots, and when they were last written.

    Whoever keeps a copy asks for :meth:`written` since it looked last; any number of them may.

    Attributes
    ----------
    slot_of
        The slot of each row, as long as it has one.

    Examples
    --------
    >>> rows = WatchedRows()
    >>> column = SlotColumn(rows, np.int64, 0)
    >>> at = rows.enter(np.array([30, 7])); column.reserve(rows.size)
    >>> before = rows.look()
    >>> column[np.array([7])] = 5
    >>> rows.slot_of[rows.written(before)].tolist()
    [7]
    """

    def __init__(self) -> None:
        super().__init__()
        # The last slots that were asked for, and their rows: of a large window all are, and often.
        self._asked: Any = None
        self._found = np.empty(0, np.int32)
        self.slot_of: npt.NDArray[np.int32] = np.zeros(_LEAST, np.int32)
        self._when: npt.NDArray[np.int32] = np.zeros(_LEAST, np.int32)
        self._looks = 1

    def of(self, slots: IntArray) -> npt.NDArray[np.int32]:
        """The row of each slot: to be read, not written.  O(slots), unless just asked for."""
        if slots.size < _MANY:
            return super().of(slots)
        if slots is not self._asked:
            self._asked, self._found = slots, super().of(slots)
        return self._found

    def leave(self, slots: IntArray) -> IntArray:
        """Take the rows of these slots, which have some; which."""
        self._asked = None
        return super().leave(slots)

    def enter(self, slots: IntArray) -> IntArray:
        """Give rows to slots that have none; which."""
        self._asked = None
        rows = super().enter(slots)
        if self.size > len(self.slot_of):
            size = max(self.size, 2 * len(self.slot_of))
            self.slot_of, self._when = grown(self.slot_of, size, 0), grown(self._when, size, 0)
        self.slot_of[rows] = slots
        return rows

    def touch(self, rows: Any) -> None:
        """Note that something was written into these rows."""
        self._when[rows] = self._looks

    def look(self) -> int:
        """A number for what was written so far."""
        self._looks += 1
        return self._looks

    def written(self, look: int = 0) -> IntArray:
        """The rows that were written after a look; all that ever were if there was none."""
        found = np.flatnonzero(self._when[: self.size] >= max(1, look))
        return found[found > 0]


class SlotColumn:
    """One column, read and written by slot. Only slots that have a row are written.

    Parameters
    ----------
    rows
        Which row belongs to a slot.
    dtype, empty
        Of the numbers, and what a slot has of which nothing is known.

    Attributes
    ----------
    writes
        How often something was written: who derives something from it sees if that is out of date.
    """

    def __init__(self, rows: WatchedRows, dtype: npt.DTypeLike, empty: float) -> None:
        self._rows = rows
        self.empty = empty
        self.writes = 0
        self.data: npt.NDArray[Any] = np.full(_LEAST, empty, dtype)
        """By row; those that are free hold what is empty."""

    def __getitem__(self, slots: Any) -> Any:
        return self.data[self._rows.of(slots)]

    def __setitem__(self, slots: Any, numbers: Any) -> None:
        self.put(self._rows.of(slots), numbers)

    def put(self, rows: Any, numbers: Any) -> None:
        """Write by row."""
        self.writes += 1
        self.data[rows] = numbers
        self._rows.touch(rows)

    def reserve(self, size: int) -> None:
        """Make room for this many rows."""
        if size > len(self.data):
            self.writes += 1
            self.data = grown(self.data, max(size, 2 * len(self.data)), self.empty)


class SlotTable:
    """A row of numbers for each slot of which something was learnt; the others have none.

    Parameters
    ----------
    name
        Of its column in the snapshot.
    width
        Numbers in a row.
    empty
        What a row holds before anything was learnt.
    dtype
        How numbers are kept. They are rounded when they are written, so that a restart, which
        reads what was written, goes on with the same ones.

    Examples
    --------
    >>> table = SlotTable("sums", 2)
    >>> table.add(np.array([3]), np.array([[1.0, 2.0]]))
    >>> table.at(np.array([3, 0])).tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """

    def __init__(
        self, name: str, width: int, empty: float = 0.0, dtype: npt.DTypeLike = np.float64
    ) -> None:
        self.name = name
        self.width = width
        self.empty = empty
        self._rows = SlotRows()
        self._data: npt.NDArray[Any] = np.full((1, width), empty, dtype)

    @property
    def bytes_per_key(self) -> int:
        """What a slot of which something was learnt takes."""
        return self._data.itemsize * self.width + 4

    def slots(self) -> IntArray:
        """All slots of which something was learnt, ascending.  O(slots)."""
        return self._rows.slots()

    def holds(self, slots: IntArray) -> BoolArray:
        """Of which of these slots something was learnt."""
        return np.not_equal(self._rows.of(slots), 0)

    def at(self, slots: IntArray) -> FloatArray:
        """The rows of these slots."""
        return self._data.take(self._rows.of(slots), axis=0).astype(np.float64)

    def rows(self, slots: IntArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Which rows belong to these slots, and all rows, to be read: the first is empty."""
        return self._rows.of(slots), self._data

    def put(self, slots: IntArray, rows: FloatArray) -> None:
        """Write the rows of these slots, which are distinct."""
        new = slots[~self.holds(slots)]
        if len(new):
            self._rows.enter(new)
            if self._rows.size > len(self._data):
                size = max(self._rows.size, 2 * len(self._data), _LEAST)
                self._data = grown(self._data, size, self.empty)
        self._data[self._rows.of(slots)] = rows

    def add(self, slots: IntArray, rows: FloatArray) -> None:
        """Add to the rows of these slots, which are distinct."""
        self.put(slots, self.at(slots) + rows)

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        if len(self._rows):
            self._rows.leave(slots[self.holds(slots)])

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """One column, in the order of ``slots``; an empty list where nothing was learnt."""
        held = self.holds(slots)
        ends = np.concatenate([[0], np.cumsum(np.where(held, self.width, 0))])
        rows = self._data[self._rows.of(slots[held])].ravel()
        return {self.name: pa.LargeListArray.from_arrays(ends.astype(np.int64), rows)}

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such a column."""
        column = table.column(self.name).combine_chunks()
        held = np.asarray(pc.list_value_length(column)) > 0
        flat = np.asarray(column.flatten())
        self.put(slots[held], flat.reshape(-1, self.width))
