"""Arrays laid out for vectors."""

from __future__ import annotations

import numpy as np

from topwater.standing.lanes import aligned


def test_aligned_arrays_begin_at_a_line() -> None:
    for shape in ((3,), (5, 64), (2, 7)):
        for dtype in (np.float32, np.float64):
            array = aligned(shape, dtype)
            assert (array.shape, array.dtype, array.ctypes.data % 64) == (shape, dtype, 0)
