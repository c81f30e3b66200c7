"""ScoreGrid: the k best, however scores grow and batches are cut."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.candidates.published.score_grid import ScoreGrid
from topwater.model import Items


def items(scores: list[float], first: int = 0) -> Items:
    numbers = np.arange(first, first + len(scores))
    return Items(np.array(scores, np.float64), numbers, numbers)


def test_the_grid_grows_with_the_scores() -> None:
    grid = ScoreGrid()
    everything: list[float] = []
    for pane, batch in enumerate([[3.0, 3.0], [4.0], [-1e300, 7.0], [1.7e308, -1.7e308], [0.0]]):
        grid.insert(pane, items(batch))
        everything += batch
        grid.check()
        assert grid.best(4).score.tolist() == sorted(everything, reverse=True)[:4]
    grid.remove_before(3)
    grid.check()
    assert grid.best(9).score.tolist() == [1.7e308, 0.0, -1.7e308]


def test_the_grid_holds_few_segments_however_batches_are_cut() -> None:
    grid = ScoreGrid()
    for number in range(1000):
        grid.insert(0, items([float(number % 37)], number))
    grid.check()
    assert len(grid) == 1000
    assert sum(1 for _ in grid._segments()) <= 10


def test_an_empty_grid() -> None:
    grid = ScoreGrid()
    assert len(grid.best(3)) == 0
    grid.insert(0, items([5e-324, 0.0]))
    grid.remove_before(1)
    grid.check()
    assert len(grid.best(3)) == 0


def test_panes_are_told_apart_and_leave_together() -> None:
    grid = ScoreGrid()
    for pane in (2, 0, 1):
        grid.insert(pane, items([float(pane), 9.0 - pane], first=10 * pane))
    assert sorted(grid.items(1, 2).key.tolist()) == [10, 11, 20, 21]
    grid.remove_before(1)
    assert sorted(grid.items().key.tolist()) == [10, 11, 20, 21]
    assert grid.best(1).score.tolist() == [8.0]


def test_check_notices_a_wrong_count() -> None:
    grid = ScoreGrid()
    grid.insert(0, items([1.0, 2.0]))
    grid._counts[0] += 1
    with pytest.raises(AssertionError, match="counts of the cells"):
        grid.check()
