"""How many rows a form handles, and how answers are put in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.peer_job import job_by_hand
from topwater_lab.bench.core_grid import Point
from topwater_lab.bench.peer_job import (
    all_windows,
    by_window,
    columns,
    each_window,
    scanned,
    skimmed,
    tree,
)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(scanned, 7.5), (each_window, 157.5), (skimmed, 9_037.5), (all_windows, 657.5)],
)
def test_rows_of_three_windows_of_ten_panes(
    rows: Callable[[Point, int], float], expected: float
) -> None:
    assert rows(Point(100, 10, 5), 3) == expected


def test_a_tree_has_one_level_at_least() -> None:
    assert tree(Point(10, 10, 5), 2) == 5 + 0.25 * 15 * 5
    assert tree(Point(40, 10, 5), 2) == 5 + 0.25 * 30 * 5 * 2


def test_windows_are_put_in_order_and_their_rows_stay_as_they_are() -> None:
    window, score = np.array([1, 0, 1, 0]), np.array([0.9, 0.5, 0.1, 0.7])
    found = by_window(window, score, np.array([1, 2, 3, 4]))
    assert [column.tolist() for column in found] == [[0.5, 0.7, 0.9, 0.1], [2, 4, 1, 3]]


def test_every_object_has_the_number_of_its_pane() -> None:
    job = job_by_hand()
    assert job.slides == 3
    found = columns(job.fresh)
    assert found["pane"].tolist() == [1, 1, 2, 2, 3, 3]
    assert found["pane"].dtype == np.int32
    assert found["key"].tolist() == [1, 2, 3, 4, 5, 6]
