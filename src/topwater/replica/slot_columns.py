"""Numbers that belong to the replica's slots, kept by whoever learns them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray


class SlotTable:
    """A row of numbers for each slot; rows come into being when they are asked for.

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

    def at(self, slots: IntArray) -> FloatArray:
        """The rows of these slots."""
        self._reach(slots)
        return np.asarray(self._rows[slots])

    def put(self, slots: IntArray, rows: FloatArray) -> None:
        """Write the rows of these slots."""
        self._reach(slots)
        self._rows[slots] = rows

    def add(self, slots: IntArray, rows: FloatArray) -> None:
        """Add to the rows of these slots, which are distinct."""
        self.put(slots, self.at(slots) + rows)

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        self._rows[slots[slots < len(self._rows)]] = self.empty

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """One column, in the order of ``slots``."""
        return {self.name: pa.FixedSizeListArray.from_arrays(self.at(slots).ravel(), self.width)}

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such a column."""
        flat = table.column(self.name).combine_chunks().flatten()
        self.put(slots, np.asarray(flat).reshape(len(slots), self.width))

    def _reach(self, slots: IntArray) -> None:
        more = int(slots.max(initial=-1)) + 1 - len(self._rows)
        if more > 0:
            more = max(more, len(self._rows))
            self._rows = np.concatenate([self._rows, np.full((more, self.width), self.empty)])
