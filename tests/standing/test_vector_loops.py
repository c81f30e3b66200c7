"""Masks of 64 objects by loops: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.standing import vector_loops
from topwater.standing.lanes import LANES, aligned


def mask(bits: np.ndarray) -> int:
    return sum(1 << at for at, bit in enumerate(bits.tolist()) if bit)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_masks_are_those_of_numpy(dtype: type[np.floating], dimensions: int) -> None:
    """Coordinates are halves, so that nothing is rounded."""
    rng = np.random.default_rng(dimensions)
    columns = aligned((dimensions, 3 * LANES), dtype)
    columns[:] = rng.integers(-8, 8, columns.shape) / 2
    point: np.ndarray = (rng.integers(-8, 8, dimensions) / 2).astype(dtype)
    bound: Any = dtype(6)
    near = ((columns - point[:, None]) ** 2).sum(axis=0) <= bound
    for row in (0, 17, 2 * LANES):
        there = slice(row, row + LANES)
        assert vector_loops.squares_within(columns, row, point, bound) == mask(near[there])
        low = columns[0] <= bound
        assert vector_loops.not_above(columns[0], row, bound) == mask(low[there])
        if dimensions == 2:
            plane = vector_loops.squares_within_plane(columns, row, point[0], point[1], bound)
            assert plane == mask(near[there])


def test_the_lowest_bit_is_found() -> None:
    assert [vector_loops.lowest(np.uint64(1 << at)) for at in range(64)] == list(range(64))
    assert vector_loops.lowest(np.uint64(0b1011000)) == 3
