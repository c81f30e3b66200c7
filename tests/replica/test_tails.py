"""What lies beyond the greatest of some values: ends of any kind are continued as they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from topwater.model import FloatArray
from topwater.replica.tails import Tail

Draw = Callable[[np.random.Generator, int], FloatArray]

ENDS: dict[str, tuple[Draw, Callable[[FloatArray], FloatArray]]] = {
    "bounded": (lambda rng, n: rng.uniform(0, 5, n), lambda x: np.clip(1 - x / 5, 0, 1)),
    "exponential": (lambda rng, n: rng.exponential(3, n), lambda x: np.exp(-x / 3)),
    "a power law": (lambda rng, n: rng.pareto(1.2, n) + 1, lambda x: x**-1.2),
    "below zero": (lambda rng, n: -9 + rng.exponential(1, n), lambda x: np.exp(-x - 9)),
}


def tail(values: FloatArray, most: int) -> Tail:
    return Tail.of(np.sort(values)[-most:])


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("chance", [0.5, 0.1])
def test_a_value_is_exceeded_as_often_as_is_said(name: str, chance: float) -> None:
    """Compared with how often the greatest is."""
    draw, above = ENDS[name]
    found, last = np.empty(60), np.empty(60)
    for seed in range(60):
        values = draw(np.random.default_rng(seed), 1_000)
        end = tail(values, 90)
        found[seed] = above(end.beyond(np.array([chance])))[0]
        last[seed] = above(np.array([end.last]))[0]
    # A bounded end is not known to a tenth of what is left of it.
    low = 0.1 if name == "bounded" else 0.7
    assert low * chance < found.mean() / last.mean() < 2.0 * chance


def test_rarer_values_lie_farther() -> None:
    rng = np.random.default_rng(1)
    for values in (rng.normal(0, 1, 300), rng.lognormal(0, 4, 300), 1e-9 * rng.random(300)):
        found = tail(values, 50).beyond(np.exp2(-np.arange(40.0)))
        assert found[0] >= values.max() * (1 - 1e-9)
        assert (np.diff(found) >= 0).all()
        assert np.isfinite(found).all()


def test_of_equal_values_none_lies_beyond() -> None:
    assert Tail.of(np.full(9, 7.0)).beyond(np.array([0.5, 1e-9])).tolist() == [7.0, 7.0]
    assert Tail.of(np.array([3.0])).beyond(np.array([0.5])).tolist() == [3.0]


def test_one_value_above_all_others_is_enough() -> None:
    found = Tail.of(np.array([1.0, 1.0, 1.0, 2.0])).beyond(np.array([0.5, 1e-6]))
    assert (found >= 2.0 - 1e-9).all()
    assert np.isfinite(found).all()
