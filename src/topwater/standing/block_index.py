"""What all queries share of a block: a copy in single precision, and its cells."""

from __future__ import annotations

from typing import Literal

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing.block_cells import ALWAYS, NO_INDEX, WHERE_IT_PAYS, sort_into_cells
from topwater.standing.coarse_scan import narrow_block, narrow_columns
from topwater.standing.kernel_records import Block

BLOCK = 1 << 14
"""Rows that are fed to one query before the next one has its turn.

Small enough to stay in the cache, and large enough that thousands of queries, which do not, need
not be fetched for a few objects each.
"""

Indexed = bool | Literal["auto"]
_MODES: dict[Indexed, int] = {False: NO_INDEX, True: ALWAYS, "auto": WHERE_IT_PAYS}
_MOST_CELLS = 20_000
_FRESH = 16
_MANY = 1_000
"""With fewer queries it takes longer to sort a block than to look through all of it."""


class BlockIndex:
    """Sorts a block of objects into cells, with borders at the quantiles of each column.

    The borders are taken anew now and then; whether they are good or bad changes the speed only.

    Parameters
    ----------
    dimensions
        How many columns the objects have.
    indexed
        Whether queries use it: all, none, or each where it pays.
    cells
        How many slices along each column, if that is not too many cells in all; by default so
        many that a cell has a few objects.
    """

    def __init__(self, dimensions: int, indexed: Indexed, cells: int | None = None) -> None:
        self.mode = _MODES[indexed]
        self.dimensions = dimensions
        most = _MOST_CELLS if cells else BLOCK // 4
        slices = max(2, min(cells or most, int(most ** (1 / dimensions) + 1e-9)))
        self._edges: FloatArray = np.zeros((dimensions, slices - 1))
        self._starts: IntArray = np.zeros(slices**dimensions + 1, np.int64)
        self._order: IntArray = np.empty(BLOCK, np.int64)
        self._least: FloatArray = np.zeros(dimensions)
        self._most: FloatArray = np.zeros(dimensions)
        self._narrow = narrow_columns(dimensions, BLOCK)
        self._cell_of: IntArray = np.empty(BLOCK, np.int64)
        self._sorted = 0

    def block(
        self,
        columns: FloatArray,
        stamps: IntArray,
        origin: int,
        first: int,
        end: int,
        queries: int = _MANY,
    ) -> Block:
        """Take the rows from ``first`` to ``end`` for the block, on behalf of this many queries."""
        narrow_block(columns, first, end, self._least, self._most, self._narrow)
        few = self.mode == WHERE_IT_PAYS and queries < _MANY
        mode = NO_INDEX if few else self.mode
        if mode != NO_INDEX:
            self._sort(columns, first, end)
        return Block(
            columns,
            stamps,
            origin,
            first,
            end,
            self._narrow,
            self._least,
            self._most,
            mode,
            self._edges,
            self._starts,
            self._order,
        )

    def _sort(self, columns: FloatArray, first: int, end: int) -> None:
        """Bring the rows of a block into cells; their borders are those of an earlier block."""
        if self._sorted % _FRESH == 0:
            slices = self._edges.shape[1] + 1
            shares = np.arange(1, slices) / slices
            seen = columns[: self.dimensions, first:end]
            self._edges = np.ascontiguousarray(np.quantile(seen, shares, axis=1).T)
        self._sorted += 1
        sort_into_cells(columns, first, end, self._edges, self._starts, self._order, self._cell_of)
