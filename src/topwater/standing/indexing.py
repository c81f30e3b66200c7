"""The cells of one block of objects, and how fine they are."""

from __future__ import annotations

from typing import Literal

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing.cells import ALWAYS, NO_INDEX, WHERE_IT_PAYS, sort_into_cells

BLOCK = 4096
"""Rows that are fed to one query before the next one has its turn; they stay in the cache."""

Indexed = bool | Literal["auto"]
_MODES: dict[Indexed, int] = {False: NO_INDEX, True: ALWAYS, "auto": WHERE_IT_PAYS}
_MOST_CELLS = 20_000
_FRESH = 64


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
        self.edges: FloatArray = np.zeros((dimensions, slices - 1))
        self.starts: IntArray = np.zeros(slices**dimensions + 1, np.int64)
        self.order: IntArray = np.empty(BLOCK, np.int64)
        self.least: FloatArray = np.zeros(dimensions)
        self.most: FloatArray = np.zeros(dimensions)
        self.block = 0
        self._cell_of: IntArray = np.empty(BLOCK, np.int64)
        self._sorted = 0

    def sort(self, columns: FloatArray, first: int, end: int) -> None:
        """Take the rows from ``first`` to ``end`` for the block."""
        if self.mode == NO_INDEX:
            return
        if self._sorted % _FRESH == 0:
            shares = np.arange(1, self.edges.shape[1] + 1) / (self.edges.shape[1] + 1)
            seen = columns[: self.dimensions, first:end]
            self.edges = np.ascontiguousarray(np.quantile(seen, shares, axis=1).T)
        self._sorted += 1
        self.block = first
        sort_into_cells(
            columns,
            first,
            end,
            self.edges,
            self.starts,
            self.order,
            self._cell_of,
            self.least,
            self.most,
        )
