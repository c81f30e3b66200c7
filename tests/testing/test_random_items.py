"""Random items: where they lie, that they tie, and how batches are cut."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.testing import WINDOWS, best_first, random_cuts, random_items, rows
from topwater.windows import Windows


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@pytest.mark.parametrize("keys", ["int", "str"])
def test_each_item_is_in_its_pane(windows: Windows, keys: str) -> None:
    panes = np.array([3, 0, 0, 17, 3])
    found = random_items(np.random.default_rng(1), windows, panes, keys=keys)  # type: ignore[arg-type]
    assert windows.pane_of(found.time).tolist() == panes.tolist()
    assert {type(key) for key in found.key.tolist()} == {int if keys == "int" else str}


def test_windows_overlap_evenly_unevenly_and_not_at_all_over_time_and_counts() -> None:
    assert {windows.by for windows in WINDOWS} == {"time", "count"}
    assert any(windows.width % windows.step for windows in WINDOWS)
    assert {1, 3} < {windows.overlap for windows in WINDOWS}
    assert min(windows.start for windows in WINDOWS) < 0


def test_many_tie_and_some_are_equal() -> None:
    found = rows(random_items(np.random.default_rng(2), Windows(9, 3), np.zeros(500, np.int64)))
    assert len({score for score, _, _ in found}) == 12
    assert len(set(found)) < len(found)


def test_a_drift_moves_scores_from_pane_to_pane() -> None:
    panes = np.repeat([0, 100], 50)
    found = random_items(np.random.default_rng(3), Windows(9, 3), panes, drift=2.0)
    assert found.score[50:].min() > found.score[:50].max()


def test_one_seed_gives_the_same_items() -> None:
    one, other = (
        rows(random_items(np.random.default_rng(4), Windows(9, 3), np.arange(9))) for _ in range(2)
    )
    assert one == other


def test_cuts_lose_nothing_and_some_are_empty() -> None:
    rng = np.random.default_rng(5)
    found = random_items(rng, Windows(9, 3), np.arange(7))
    sizes = set()
    for _ in range(50):
        parts = list(random_cuts(rng, found))
        assert [row for part in parts for row in rows(part)] == rows(found)
        sizes |= {len(part) for part in parts}
    assert {0, 7} <= sizes


def test_the_total_order() -> None:
    right = [(2.0, 1, 5), (1.0, 9, 7), (1.0, 8, 3), (1.0, 8, 4)]
    assert best_first(reversed(right)) == right
