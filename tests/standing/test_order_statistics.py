"""The k least costs so far, and the cost that a given number are not above: against sorting."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.standing_arrays import skyband
from topwater.standing.order_statistics import nearly_selected, select, undominated


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_from_the_youngest_back_the_heap_lets_the_skyband_in(k: int, seed: int) -> None:
    costs = np.random.default_rng(seed).integers(0, 20, 60) / 4.0
    heap, size, let_in = np.empty(k + 1), 0, []
    for at in range(len(costs) - 1, -1, -1):
        if undominated(heap, size, k, costs[at]):
            size = min(size + 1, k)
            let_in.append(at)
    assert let_in[::-1] == skyband(costs.tolist(), k)


@pytest.mark.parametrize("seed", range(10))
def test_a_selected_value_has_its_rank(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 12, 40) / 3.0
    expected, rank = np.sort(values), int(rng.integers(40))
    assert select(values, 40, rank) == expected[rank]
    assert np.array_equal(np.sort(values), expected)


@pytest.mark.parametrize("spread", [1.0, 1e-300, 0.0])
def test_nearly_so_many_are_not_above(spread: float) -> None:
    values = spread * np.random.default_rng(1).random(100)
    pivot = nearly_selected(values.copy(), 100, 20, 24)
    count = int(np.sum(values <= pivot))
    assert 20 <= count <= (24 if spread else 100)
