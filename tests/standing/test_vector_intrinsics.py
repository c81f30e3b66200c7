"""Masks of 64 objects by explicit vectors: those of the loops."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from topwater.standing import vector_intrinsics, vector_loops
from topwater.standing.lanes import LANES
from topwater.standing.vector_intrinsics import not_above


@pytest.mark.parametrize("seed", range(5))
def test_masks_are_those_of_the_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = (rng.integers(-8, 8, (2, LANES)) / 2).astype(np.float32)
    columns[0, rng.integers(LANES, size=3)] = np.nan
    point, bound = np.array([0.5, 1.0], np.float32), np.float32(rng.integers(1, 40) / 4)
    found, expected = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
    vector_intrinsics.masks(columns, point, bound, found)
    vector_loops.masks(columns, point, bound, expected)
    assert found.tolist() == expected.tolist()


def test_precisions_are_not_mixed() -> None:
    @njit
    def mixed(values: np.ndarray, bound: float) -> int:
        mask: int = not_above(values, 0, bound)
        return mask

    with pytest.raises(TypeError, match="takes values, a place and a bound"):
        mixed(np.zeros(LANES, np.float32), 1.0)
