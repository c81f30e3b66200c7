"""A grid of all objects of the window: against every cell and every object looked at."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from topwater.model import FloatArray
from topwater.standing.costs import (
    ABSOLUTE,
    EUCLIDEAN,
    LARGEST,
    LINEAR,
    SQUARES,
    cost_of,
)
from topwater.standing.kernel_records import CostRule
from topwater_lab.rivals.window_grid import (
    CELL,
    Grid,
    Listing,
    cell_of,
    count_cells,
    least_cost,
    list_cells,
    sort_gaps,
    store,
    store_all,
    watch,
    watch_all,
)

ROWS, PARTS = 200, 4


def grid_over(columns: FloatArray, room: int = 2_000) -> Grid:
    d = len(columns)
    edges = np.tile(np.linspace(0.0, 1.0, PARTS + 1), (d, 1))
    strides = PARTS ** np.arange(d - 1, -1, -1)
    cells = PARTS**d
    grid = Grid(
        np.full(d, PARTS),
        strides,
        edges,
        np.full(d, float(PARTS)),
        np.zeros(cells, CELL),
        np.empty((d, room)),
        np.empty(room, np.int64),
        np.zeros(1, np.int64),
        np.zeros((cells + 1, 2), np.uint64),
    )
    count_cells(grid, columns, 0, columns.shape[1])
    return grid


@pytest.fixture
def columns() -> FloatArray:
    return np.random.default_rng(1).random((2, ROWS))


def test_every_object_is_in_its_cell(columns: FloatArray) -> None:
    grid = grid_over(columns)
    store_all(grid, columns, 0, ROWS, 11)
    seen = []
    for number, cell in enumerate(grid.cells):
        for at in range(cell["base"] + cell["head"], cell["base"] + cell["tail"]):
            row = int(grid.seqs[at]) - 11
            x, y = (int(value * PARTS) for value in columns[:, row])
            assert number == PARTS * x + y == cell_of(grid, columns, row)
            assert grid.objects[:, at].tolist() == columns[:, row].tolist()
            seen.append(row)
    assert sorted(seen) == list(range(ROWS))


def test_a_full_cell_takes_the_place_of_the_old_or_a_longer_stretch() -> None:
    same = np.full((1, 60), 0.5)
    grid = grid_over(same[:, :1], room=60)
    number, stored = cell_of(grid, same, 0), 0
    for row in range(60):
        stored += int(store(grid, number, same, row, row + 1, alive=max(1, row - 3)))
    assert stored == 60
    cell = grid.cells[number]
    held = grid.seqs[cell["base"] + cell["head"] : cell["base"] + cell["tail"]].tolist()
    assert held[-5:] == [56, 57, 58, 59, 60]
    assert not all(store(grid, number, same, 0, 100 + at, alive=1) for at in range(60))


@pytest.mark.parametrize("kind", [EUCLIDEAN, LARGEST, ABSOLUTE, SQUARES, LINEAR])
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_cells_within_a_bound_are_listed(columns: FloatArray, kind: int, share: float) -> None:
    rng, grid = np.random.default_rng(kind), grid_over(columns)
    rule = CostRule(kind, 0, rng.random(2), rng.random(2) - (0.5 if kind == LINEAR else 0.0))
    gaps, adds = np.zeros((2, PARTS)), np.zeros((2, PARTS), np.int64)
    sort_gaps(grid, rule, gaps, adds)
    listing = Listing(
        np.empty(16, np.int64),
        np.empty(16),
        np.empty(2, np.int64),
        np.empty(2),
        np.empty(2, np.int64),
    )
    n, _ = list_cells(grid.parts, kind, gaps, adds, np.nan, np.inf, listing)
    lowest = dict(zip(listing.cells[:n].tolist(), listing.bounds[:n].tolist(), strict=True))
    assert sorted(lowest) == list(range(PARTS**2))
    assert least_cost(kind, gaps, 0.0, 0) == min(lowest.values())
    for row in range(ROWS):
        assert lowest[cell_of(grid, columns, row)] <= cost_of(rule, columns, row)
    bound = float(np.quantile(list(lowest.values()), share, method="lower"))
    n, beyond = list_cells(grid.parts, kind, gaps, adds, np.nan, bound, listing)
    assert set(listing.cells[:n].tolist()) == {cell for cell in lowest if lowest[cell] <= bound}
    assert beyond <= min((low for low in lowest.values() if low > bound), default=np.inf)


def test_queries_watch_cells_by_a_bit_each() -> None:
    watched = np.zeros((5, 2), np.uint64)
    watch_all(watched, np.array([1, 3]), 70, True)
    watch(watched, 3, 2, True)
    watch(watched, 1, 70, False)
    on = {
        (cell, q)
        for cell, q in itertools.product(range(5), range(128))
        if _watches(watched, cell, q)
    }
    assert on == {(3, 70), (3, 2)}


def _watches(watched: np.ndarray, cell: int, q: int) -> bool:
    return bool(int(watched[cell, q // 64]) >> q % 64 & 1)
