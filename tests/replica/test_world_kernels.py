"""The places of some keys in some worlds, against sorting the worlds."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.replica.world_kernels import places_among


@pytest.mark.parametrize(("worlds", "n"), [(1, 1), (3, 2), (20, 9), (7, 130)])
def test_places_are_those_of_a_stable_sort(worlds: int, n: int) -> None:
    rng = np.random.default_rng(n)
    scores = np.where(rng.random((worlds, n)) < 0.2, -np.inf, rng.integers(0, 5, (worlds, n)))
    world, column = (each.ravel() for each in np.indices((worlds, n)))
    places = places_among(scores, world, column).reshape(worlds, n)
    for row, found in zip(scores, places, strict=True):
        assert np.argsort(found).tolist() == np.argsort(-row, kind="stable").tolist()


def test_of_no_keys_there_are_no_places() -> None:
    none = np.empty(0, np.int64)
    assert places_among(np.zeros((2, 3)), none, none).tolist() == []
