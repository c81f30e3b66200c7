"""The search from a query outwards, and which cells it watches."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.rival_scene import fed_engine, scene_of
from tests.support.standing_arrays import top_of
from topwater.standing.costs import EUCLIDEAN, costs_of
from topwater.standing.kernel_records import NEVER, CostRule
from topwater_lab.rivals.grid_search import Scene, search, watch_anew
from topwater_lab.rivals.window_grid import cell_of

ROWS, WIDTH = 300, 120
MIDDLE = CostRule(EUCLIDEAN, 0, np.full(2, 0.5), np.ones(2))


def watches(scene: Scene, cell: int) -> bool:
    marked = scene.grid.watched[cell, 0] | scene.grid.watched[len(scene.grid.cells), 0]
    return bool(int(marked) & 1)


@pytest.mark.parametrize("known", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_a_search_fills_the_top_with_the_best_of_the_window(known: int, seed: int) -> None:
    columns = np.random.default_rng(seed).random((2, ROWS))
    scene = scene_of(fed_engine(columns, 5, WIDTH), columns)
    bag, pool = scene.watchers.bags[0], scene.watchers.pool
    before = top_of(bag, pool)
    bag["size"], bag["oldest"] = known, NEVER
    search(0, scene, ROWS - WIDTH + 1)
    costs = np.empty(ROWS)
    costs_of(MIDDLE, columns, 0, ROWS, costs)
    inside = range(ROWS - WIDTH, ROWS)
    best = sorted(inside, key=lambda row: costs[row])[:5]
    assert top_of(bag, pool) == before == [(costs[row], row + 1) for row in best]
    assert scene.watchers.queries[0]["searches"] > 0


def test_a_query_watches_the_cells_that_its_bound_reaches() -> None:
    columns = np.random.default_rng(4).random((2, ROWS))
    scene = scene_of(fed_engine(columns, 3, WIDTH), columns)
    watchers, query = scene.watchers, scene.watchers.queries[0]
    costs = np.empty(ROWS)
    costs_of(MIDDLE, columns, 0, ROWS, costs)
    for bound in (0.01, np.inf, 0.2, 0.001):
        query["bound"] = bound
        watch_anew(0, query, scene.grid, watchers.gaps[0], watchers.adds[0], scene.listing)
        for row in np.flatnonzero(costs <= bound):
            assert watches(scene, cell_of(scene.grid, columns, int(row)))
        assert query["watched"] == bound
    watched = sum(watches(scene, cell) for cell in range(len(scene.grid.cells)))
    assert query["cells"] == watched < len(scene.grid.cells)
