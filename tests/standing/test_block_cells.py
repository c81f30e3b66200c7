"""Cells of a block: every row is in one, and a query finds through them what a scan finds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.standing_arrays import room_to_work
from topwater.standing.block_cells import cell_along, gather, reach_along, sort_into_cells
from topwater.standing.block_index import BlockIndex
from topwater.standing.costs import (
    ABSOLUTE,
    EUCLIDEAN,
    LARGEST,
    LINEAR,
    SQUARES,
    cost_of,
    costs_of,
)
from topwater.standing.kernel_records import CostRule

ROWS = 400


def test_every_row_is_in_its_cell_once_and_in_order() -> None:
    columns = np.random.default_rng(1).random((2, ROWS))
    edges = np.array([[0.3, 0.6], [0.5, 0.9]])
    starts, order, cell_of = (
        np.zeros(10, np.int64),
        np.empty(ROWS, np.int64),
        np.empty(ROWS, np.int64),
    )
    sort_into_cells(columns, 50, ROWS, edges, starts, order, cell_of)
    for cell in range(9):
        inside = [
            row
            for row in range(50, ROWS)
            if 3 * np.sum(edges[0] < columns[0, row]) + np.sum(edges[1] < columns[1, row]) == cell
        ]
        assert order[starts[cell] : starts[cell + 1]].tolist() == inside
    assert cell_along(edges, 1, 0.7) == 1


@pytest.mark.parametrize("kind", [EUCLIDEAN, LARGEST, ABSOLUTE, SQUARES, LINEAR])
@pytest.mark.parametrize("share", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("indexed", [True, "auto", False])
def test_through_cells_all_are_found(kind: int, share: float, indexed: bool) -> None:
    rng = np.random.default_rng(kind)
    columns, work = rng.random((2, ROWS)), room_to_work(2)
    rule = CostRule(kind, 0, rng.random(2), np.array([0.7, -0.4 if kind == LINEAR else 0.2]))
    costs = np.empty(ROWS)
    costs_of(rule, columns, 0, ROWS, costs)
    bound = float(np.quantile(costs, share, method="lower"))
    block = BlockIndex(2, indexed).block(columns, np.arange(1, ROWS + 1), 1, 0, ROWS)
    n = gather(rule, block, 20, 390, bound, work)
    expected = [row for row in range(20, 390) if costs[row] <= bound]
    assert work.hits.rows[:n].tolist() == expected
    assert np.array_equal(work.hits.costs[:n], costs[expected])


@pytest.mark.parametrize("kind", [EUCLIDEAN, LARGEST, ABSOLUTE, SQUARES])
def test_what_is_beyond_the_reach_costs_more(kind: int) -> None:
    rule = CostRule(kind, 0, np.array([0.4]), np.array([2.0]))
    low, high = reach_along(rule, 0, 0.09, 0.0)
    outside = np.array([[low - 1e-6, high + 1e-6, low + 1e-6, high - 1e-6]])
    beyond = [cost_of(rule, outside, row) > 0.09 for row in range(4)]
    assert beyond == [True, True, False, False]
