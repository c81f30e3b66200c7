"""The n-th greatest of many numbers: that of sorting them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.replica.number_order import SortedNumbers, nth_greatest, quantiles

SHAPES: dict[str, Any] = {
    "random": lambda rng, n: rng.random(n),
    "heavy": lambda rng, n: np.exp(9 * rng.random(n)),
    "whole": lambda rng, n: rng.integers(0, 5, n),
    "equal": lambda _, n: np.full(n, 2.5),
    "nearly equal": lambda rng, n: np.where(rng.random(n) < 0.001, rng.random(n), 0.5),
    "ascending": lambda _, n: np.arange(n) * 1.0,
    "descending": lambda _, n: -np.arange(n) * 1.0,
    "in step": lambda _, n: np.where(np.arange(n) % (n // 4_096 or 1) == 0, 9.0, np.arange(n)),
    "out of step": lambda _, n: np.where(np.arange(n) % (n // 4_096 or 1) == 0, -9.0, 1.0),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.9, -np.inf, rng.random(n)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 10, 4_096, 4_097, 50_000])
def test_it_is_the_nth_of_all_sorted(shape: str, size: int) -> None:
    numbers = SHAPES[shape](np.random.default_rng(size), size)
    descending = np.sort(numbers)[::-1]
    for nth in {1, 2, 500, size // 2, size - 1, size} & set(range(1, size + 1)):
        assert nth_greatest(numbers, nth) == descending[nth - 1], nth


@pytest.mark.parametrize("seed", range(6))
def test_numbers_stay_sorted_while_their_column_changes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers, column = SortedNumbers(), np.full(3, np.nan)
    for _ in range(60):
        size = int(rng.choice([len(column), len(column), 2 * len(column), 5]))
        column = np.concatenate([column, np.full(size, np.nan)])[: min(size, 300)]
        many = rng.random() < 0.2
        moved = rng.random(len(column)) < (0.9 if many else 0.05)
        drawn = rng.choice([np.nan, np.inf, 0.0, -0.0, 1.0, 2.5, -3.0, rng.random()], len(column))
        column = np.where(moved, drawn, column)
        right = np.sort(column[np.isfinite(column)])
        found = numbers.update(column)
        assert found.tolist() == right.tolist()
        assert found.mean() == right.mean() if len(right) else True


@pytest.mark.parametrize("count", [1, 2, 7, 256, 1_024])
def test_quantiles_are_those_of_numpy_to_the_bit(count: int) -> None:
    rng = np.random.default_rng(count)
    shares = np.concatenate([[0.0, 0.5, 1.0], rng.random(40)])
    for numbers in (rng.normal(size=count), np.round(rng.normal(size=count)), np.zeros(count)):
        numbers.sort()
        assert np.array_equal(quantiles(numbers, shares), np.quantile(numbers, shares))
