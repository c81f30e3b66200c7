"""What was learnt of how each key moves: a row of numbers, which knows the scale it is kept on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.possible_values import COUNT
from topwater.replica.proportions import values_of
from topwater.replica.slot_columns import SlotTable

SEEN, MEAN, RESIDUALS, PACED, PACES, SIZE, LOG = 0, 1, 2, 3, 4, 5, 5 + COUNT
_GREATEST_KEPT = 1e38
_LEAST_LEVEL = 1e-30


class KeyMoves:
    """Rows of keys, each on the scale of values, or on that of their logarithms.

    When another scale is taken, rows stay as they are kept, and are converted when they are read:
    so a state of which only what changed is written is the same as one that is written anew. The
    sign of the first number says which scale it is.

    Attributes
    ----------
    powers
        Whether rows are read and written for logarithms.
    """

    def __init__(self) -> None:
        self.powers = False
        self._table = SlotTable("moves", 5 + 2 * COUNT, dtype=np.float32)
        # Whether there may be rows of both scales.
        self._mixed = False

    @property
    def bytes_per_key(self) -> int:
        """What a key that was polled takes."""
        return self._table.bytes_per_key

    def holds(self, slots: IntArray) -> BoolArray:
        """Of which of these slots something was learnt."""
        return self._table.holds(slots)

    def take(self, *, powers: bool) -> None:
        """Read and write rows on this scale from now on."""
        self._mixed |= powers != self.powers
        self.powers = powers

    def read(self, slots: IntArray) -> FloatArray:
        """The rows of these slots."""
        return self._converted(self._table.at(slots))

    def write(self, slots: IntArray, keys: FloatArray) -> None:
        """Keep the rows of these slots, which are distinct."""
        keys = np.clip(keys, -_GREATEST_KEPT, _GREATEST_KEPT)
        if self.powers:
            keys[:, SEEN] *= -1.0
        self._table.put(slots, keys)

    def rows(self, slots: IntArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Which rows belong to these slots, and all rows; how often one was seen, but for its sign.

        O(slots); and O(keys that were polled), as long as there are some on the other scale.
        """
        rows, keys = self._table.rows(slots)
        if self._mixed:
            self._mixed = bool(self._other(keys).any())
        if self._mixed:
            keys = self._converted(keys.astype(np.float64)).astype(np.float32)
        return rows, keys

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        self._table.reset(slots)

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""
        return self._table.snapshot(slots)

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""
        self._table.restore(table, slots)
        self._mixed = True

    def _other(self, keys: npt.NDArray[Any]) -> BoolArray:
        """Which rows are kept on the other scale."""
        return np.asarray(keys[:, SEEN] > 0 if self.powers else keys[:, SEEN] < 0)

    def _converted(self, keys: FloatArray) -> FloatArray:
        """All on the scale that is taken: about the same, for values near to a key's."""
        other = self._other(keys)
        keys[:, SEEN] = np.abs(keys[:, SEEN])
        if not other.any():
            return keys
        mean = keys[other, MEAN]
        level = np.maximum(mean, _LEAST_LEVEL) if self.powers else values_of(mean)
        times = 1.0 / level if self.powers else level
        keys[other, MEAN] = np.log(level) if self.powers else level
        keys[other, PACES] *= times
        keys[other, SIZE : SIZE + COUNT] *= times[:, None]
        # As they will be kept.
        keys = np.clip(keys, -_GREATEST_KEPT, _GREATEST_KEPT)
        return keys.astype(np.float32).astype(np.float64)
