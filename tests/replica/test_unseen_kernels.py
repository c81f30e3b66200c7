"""The compiled pass over unseen keys, against looking at every cell by itself."""

from __future__ import annotations

import numpy as np

from topwater.replica.unseen_kernels import best_of_cells


def test_the_best_row_of_each_cell_is_found() -> None:
    rng = np.random.default_rng(1)
    of_row = rng.integers(0, 30, 2_000)
    scores, others = rng.integers(0, 9, 2_000) / 3.0, rng.random(2_000)
    first = best_of_cells(of_row, 31, scores, others)
    for cell in range(30):
        rows = np.flatnonzero(of_row == cell)
        best = max(rows, key=lambda row: (scores[row], others[row]))
        assert first[cell] == best
    assert first[30] == -1
