"""An item as a tuple that sorts best first, and the way between columns and such tuples."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwater.model import Arrivals, Items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Rank: TypeAlias = tuple[float, int, Any]
"""(-score, -time, key): the better of two items has the smaller rank."""


def ranks(items: Items) -> Iterator[Rank]:
    """The rank of each item, in the order of the items.

    Examples
    --------
    >>> items = Items(np.array([5.0, 7.0]), np.array([1, 2]), np.array([10, 20]))
    >>> min(ranks(items))
    (-7.0, -2, 20)
    """
    return zip((-items.score).tolist(), (-items.time).tolist(), items.key.tolist(), strict=True)


def items_of(ordered: Iterable[tuple[Any, ...]], key_dtype: npt.DTypeLike) -> Items:
    """The items behind ranks; what follows the first three places is left aside.

    Examples
    --------
    >>> items_of([(-7.0, -2, 20)], np.int64)
    Items(score=array([7.]), time=array([2]), key=array([20]))
    """
    rows = list(ordered)
    return Items(
        np.array([-row[0] for row in rows], np.float64),
        np.array([-row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], key_dtype),
    )


def by_pane(arrivals: Arrivals) -> Iterator[tuple[int, Items]]:
    """Each pane with its items."""
    spans = pairwise(arrivals.bounds.tolist())
    for pane, (first, last) in zip(arrivals.panes.tolist(), spans, strict=True):
        yield pane, arrivals.items.take(slice(first, last))


def feed(
    items: Items, insert: Callable[[Rank], None], bound: Callable[[], float], chunk: int
) -> None:
    """Insert items one by one, in order; what lies below a bound that only rises goes in bulk.

    Parameters
    ----------
    items
        What arrives.
    insert
        Takes one item. It may refuse it; it must refuse every score below ``bound()``.
    bound
        The score below which nothing gets in at this moment.
    chunk
        How many items to look at before asking for the bound again; doubles each time, because
        the bound rises ever more slowly.
    """
    first = 0
    while first < len(items):
        part = items.take(slice(first, first + chunk))
        for rank in ranks(part.take(part.score >= bound())):
            insert(rank)
        first += chunk
        chunk *= 2


def best(items: Items, k: int) -> Items:
    """The k best, best first.  O(n + k log k) unless many scores tie with the k-th."""
    if len(items) > 2 * k:
        kth = np.partition(items.score, len(items) - k)[len(items) - k]
        items = items.take(items.score >= kth)
    return items.ranked().take(slice(0, k))


def rows(items: Items) -> Iterator[tuple[float, int, object]]:
    """(score, time, key) of each item, as Python values."""
    return zip(items.score.tolist(), items.time.tolist(), items.key.tolist(), strict=True)
