"""Numbers that belong to the replica's slots, kept by whoever learns them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import BoolArray, FloatArray, IntArray

_NOWHERE = -1


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

    Examples
    --------
    >>> table = SlotTable("sums", 2)
    >>> table.add(np.array([3]), np.array([[1.0, 2.0]]))
    >>> table.at(np.array([3, 0])).tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """

    def __init__(self, name: str, width: int, empty: float = 0.0) -> None:
        self.name = name
        self.width = width
        self.empty = empty
        self._rows = np.empty((0, width))
        self._row_of = np.empty(0, np.int32)
        self._free = np.empty(0, np.int32)

    @property
    def bytes_per_key(self) -> int:
        """What a slot of which something was learnt takes."""
        return 8 * self.width + 4

    def holds(self, slots: IntArray) -> BoolArray:
        """Of which of these slots something was learnt."""
        return np.not_equal(self._places(slots), _NOWHERE)

    def at(self, slots: IntArray) -> FloatArray:
        """The rows of these slots."""
        places = self._places(slots)
        held = places != _NOWHERE
        if held.all():
            return np.asarray(self._rows[places])
        rows = np.full((len(slots), self.width), self.empty)
        rows[held] = self._rows[places[held]]
        return rows

    def put(self, slots: IntArray, rows: FloatArray) -> None:
        """Write the rows of these slots, which are distinct."""
        new = slots[~self.holds(slots)]
        if len(new):
            self._enter(new)
        self._rows[self._row_of[slots]] = rows

    def add(self, slots: IntArray, rows: FloatArray) -> None:
        """Add to the rows of these slots, which are distinct."""
        self.put(slots, self.at(slots) + rows)

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        known = slots[self.holds(slots)]
        self._free = np.concatenate([self._free, self._row_of[known]])
        self._row_of[known] = _NOWHERE

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """One column, in the order of ``slots``; an empty list where nothing was learnt."""
        held = self.holds(slots)
        ends = np.concatenate([[0], np.cumsum(np.where(held, self.width, 0))])
        rows = self.at(slots[held]).ravel()
        return {self.name: pa.LargeListArray.from_arrays(ends.astype(np.int64), rows)}

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such a column."""
        column = table.column(self.name).combine_chunks()
        held = np.asarray(pc.list_value_length(column)) > 0
        flat = np.asarray(column.flatten())
        self.put(slots[held], flat.reshape(-1, self.width))

    def _places(self, slots: IntArray) -> npt.NDArray[np.int32]:
        """The row of each slot."""
        if len(slots) and int(slots.max()) >= len(self._row_of):
            inside = slots < len(self._row_of)
            places = np.full(len(slots), _NOWHERE, np.int32)
            places[inside] = self._row_of[slots[inside]]
            return places
        return np.asarray(self._row_of[slots])

    def _enter(self, slots: IntArray) -> None:
        """Give rows to slots that have none."""
        beyond = int(slots.max()) + 1 - len(self._row_of)
        if beyond > 0:
            more = np.full(max(beyond, len(self._row_of)), _NOWHERE, np.int32)
            self._row_of = np.concatenate([self._row_of, more])
        missing = len(slots) - len(self._free)
        if missing > 0:
            size, more_rows = len(self._rows), max(missing, len(self._rows), 16)
            self._rows = np.concatenate([self._rows, np.empty((more_rows, self.width))])
            added = np.arange(size + more_rows - 1, size - 1, -1, dtype=np.int32)
            self._free = np.concatenate([added, self._free])
        cut = len(self._free) - len(slots)
        self._row_of[slots], self._free = self._free[cut:], self._free[:cut]
