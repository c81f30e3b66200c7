"""Random items to try lists with, and windows of every shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from topwater.model import (
    IntArray,
    Items,
)
from topwater.windows import Windows, counting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


KeyKind: TypeAlias = Literal["int", "str"]
Row: TypeAlias = tuple[float, int, object]
"""(score, time, key)"""

WINDOWS = (
    Windows(9, 3, start=1),
    Windows(5, 2),
    Windows(100, 60),
    Windows(100, 60, start=-130),
    Windows(7, 1),
    Windows(10, 10),
    Windows(1, 1),
    counting(12, 3),
    counting(6),
)
"""Overlapping evenly and unevenly, by one, not at all, over time and over counts."""


def random_items(
    rng: np.random.Generator,
    windows: Windows,
    panes: IntArray,
    *,
    keys: KeyKind = "int",
    levels: int = 12,
    drift: float = 0.0,
) -> Items:
    """One random item in each of ``panes``; many of them tie, and some are equal.

    Parameters
    ----------
    rng
        The source of randomness.
    windows
        They say where panes lie.
    panes
        The pane of each item, in the order in which the items are to come.
    keys
        Whole numbers, or strings in an object array.
    levels
        How many different scores there are, before the drift.
    drift
        By how much scores rise from pane to pane; negative if later items score lower.

    Examples
    --------
    >>> items = random_items(np.random.default_rng(1), Windows(9, 3), np.array([4, 0]))
    >>> Windows(9, 3).pane_of(items.time).tolist()
    [4, 0]
    """
    n = len(panes)
    opens = windows.start + panes * windows.pane
    scores = rng.integers(levels, size=n) - levels / 3 + drift * panes
    names = rng.integers(-3, 8, size=n)
    return Items(
        scores.astype(np.float64),
        (opens + rng.integers(1, windows.pane + 1, size=n)).astype(np.int64),
        names.astype(str).astype(object) if keys == "str" else names.astype(np.int64),
    )


def random_cuts(rng: np.random.Generator, items: Items) -> Iterator[Items]:
    """The items in order, as batches of random sizes, some of them empty."""
    cuts = np.sort(rng.integers(0, len(items) + 1, size=rng.integers(0, 6)))
    for first, last in zip([0, *cuts], [*cuts, len(items)], strict=True):
        yield items.take(slice(int(first), int(last)))


def rows(items: Items) -> list[Row]:
    """(score, time, key) of each item, as Python values."""
    return list(zip(items.score.tolist(), items.time.tolist(), items.key.tolist(), strict=True))


def best_first(found: Iterable[Row]) -> list[Row]:
    """The total order: score descending, then the younger, then the smaller key."""
    return sorted(found, key=lambda row: (-row[0], -row[1], row[2]))
