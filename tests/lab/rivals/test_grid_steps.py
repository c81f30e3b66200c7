"""The steps over a grid: wherever they have to stop, they go on with the same results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.rival_scene import fed_engine, scene_of
from tests.support.standing_steps import results_of
from topwater.standing.costs import EUCLIDEAN
from topwater.standing.engines import NumericQuery
from topwater.standing.kernel_records import FED, FULL, RESULT
from topwater_lab.rivals.grid_engine import Gridded
from topwater_lab.rivals.grid_steps import feed_grid

ROWS, K, WIDTH = 250, 3, 40


@pytest.mark.parametrize("skyband", [False, True])
def test_a_full_table_of_results_is_emptied_and_goes_on(skyband: bool) -> None:
    columns = np.random.default_rng(1).random((2, ROWS))
    stamps, engine = np.arange(1, ROWS + 1), Gridded(skyband, cells=4)
    engine.admit(0, NumericQuery(EUCLIDEAN, 0, np.full(2, 0.5), np.ones(2), K, WIDTH, 1))
    engine._fit(columns, stamps, 1, ROWS)
    engine._cursor[:] = 1
    scene = scene_of(engine, columns, skyband=skyband)
    small = scene._replace(space=scene.space._replace(results=np.zeros(K + 3, RESULT)))
    seen: list[tuple[int, int]] = []
    ended, calls = FULL, 0
    while ended != FED:
        ended, _, size = feed_grid(small)
        found = small.space.results[:size]
        seen += zip(found["seq"].tolist(), found["step"].tolist(), strict=True)
        calls += 1
    costs = ((columns - 0.5) ** 2).sum(axis=0)
    assert set(seen) == results_of(costs, stamps, K, WIDTH)
    assert len(seen) == len(set(seen))
    assert calls > 3


def test_when_all_rows_are_done_nothing_happens() -> None:
    columns = np.random.default_rng(2).random((2, ROWS))
    engine = fed_engine(columns, K, WIDTH)
    assert feed_grid(scene_of(engine, columns)) == (FED, 0, 0)
