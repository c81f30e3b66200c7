"""Worked examples from papers, as streams. The figures give the order of scores only."""

from __future__ import annotations

import numpy as np

from topwater.model import Arrivals, Items
from topwater.windows import Windows, counting

YANG = counting(16, 4)
"""Figures 1 to 5 of Yang et al., EDBT 2011; k is 3."""

_TOLD = {1: 90, 6: 85, 14: 80, 7: 75, 15: 70, 16: 65, 17: 95, 18: 60, 20: 55}

PRIPUZIC = counting(6, 1)
"""Figure 1 of Pripužić et al., on top-k/w queries; k is 1, and the smallest score wins there."""

_DISTANCES = [3, 1, 2, 7, 5, 9, 4, 7.5, 6, 11, 10]


def yang(first: int, last: int) -> Arrivals:
    """Objects ``first`` to ``last``; the key of an object is its number."""
    numbers = np.arange(first, last + 1)
    scores = np.array([_TOLD.get(int(n), 50 - n) for n in numbers], np.float64)
    return YANG.group(Items(scores, numbers, numbers))


def pripuzic(number: int) -> Arrivals:
    """One object, its distance turned into a score."""
    return arrivals(PRIPUZIC, (-_DISTANCES[number - 1], number, number))


def arrivals(windows: Windows, *rows: tuple[float, int, int]) -> Arrivals:
    """(score, time, key) of each item, grouped by pane."""
    scores, times, keys = (list(column) for column in zip(*rows, strict=True))
    return windows.group(
        Items(np.array(scores, np.float64), np.array(times, np.int64), np.array(keys, np.int64))
    )
