"""The slow way: every window sorted at every step, and the result stream by its definition."""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray


def streams(kind: str, rng: np.random.Generator, size: int, dimensions: int) -> FloatArray:
    """Coordinates in the order of arrival: random, tied, rising, falling, or in waves."""
    at = rng.random((dimensions, size))
    if kind == "tied":
        return np.round(at * 3) / 3
    if kind == "rising":
        return np.sort(at, axis=1)
    if kind == "falling":
        return np.sort(at, axis=1)[:, ::-1].copy()
    if kind == "waves":
        return (np.sin(np.arange(size) / 17) + 0.2 * at + 2) / 4
    return at


def results_of(
    costs: FloatArray, stamps: IntArray, k: int, width: int, born: int = 1
) -> set[tuple[int, int]]:
    """(position, step) of every object when it first is one of the k best; positions from 1."""
    seen: dict[int, int] = {}
    for step in range(born - 1, len(costs)):
        for row in top(costs[: step + 1], stamps, k, width, born):
            seen.setdefault(row + 1, step + 1)
    return set(seen.items())


def top(costs: FloatArray, stamps: IntArray, k: int, width: int, born: int = 1) -> list[int]:
    """The rows of the k best at the last step, best first; of equal costs the later first."""
    rows = np.arange(len(costs))
    last = stamps[len(costs) - 1] if len(costs) else 0
    inside = rows[(stamps[: len(costs)] > last - width) & (rows >= born - 1)]
    inside = inside[~np.isnan(costs[inside])]
    best: list[int] = inside[np.lexsort((-inside, costs[inside]))][:k].tolist()
    return best
