"""The compiled passes over unseen keys, against looking at every cell by itself."""

from __future__ import annotations

import numpy as np

from topwater.replica.unseen_kernels import ends_of_cells, lots


def test_the_best_and_the_least_row_of_each_cell_are_found() -> None:
    rng = np.random.default_rng(1)
    of_row = rng.integers(0, 30, 2_000).astype(np.int32)
    scores, others = rng.integers(0, 9, 2_000) / 3.0, rng.random(2_000)
    count, first, last = ends_of_cells(of_row, 31, scores, others)
    for cell in range(30):
        rows = np.flatnonzero(of_row == cell)
        assert count[cell] == len(rows)
        assert first[cell] == max(rows, key=lambda row: (scores[row], others[row]))
        assert last[cell] == min(rows, key=lambda row: (scores[row], others[row]))
    assert (count[30], first[30], last[30]) == (0, -1, -1)


def test_equal_times_have_equal_lots_and_others_have_others() -> None:
    times = np.arange(-1_000, 1_000)
    drawn = lots(times, np.uint64(5))
    assert (drawn >= 0).all()
    assert len(np.unique(drawn)) == len(times)
    assert np.array_equal(lots(times[::-1].copy(), np.uint64(5))[::-1], drawn)
    assert abs(np.corrcoef(times, drawn)[0, 1]) < 0.1
    assert not np.array_equal(lots(times, np.uint64(6)), drawn)
