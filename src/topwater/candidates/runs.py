"""A run is the ranked best k of one pane: all that any exact list can ever need of it.

Everything in a pane is in the same windows, so an item with k better ones in its own pane is in
no answer. Reducing a pane to its run is therefore exact, whatever list comes after.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from topwater.model import Arrivals, BoolArray, FloatArray, IntArray, Items, KeyArray

_WORTH_SORTING = 128
"""Items per pane from which a NumPy call per pane pays off."""

KeysAt = Callable[[KeyArray], KeyArray]


def reduce(
    arrivals: Arrivals,
    k: int,
    *,
    floors: FloatArray | None = None,
    hint: FloatArray | None = None,
    keys_at: KeysAt | None = None,
) -> Arrivals:
    """Each pane's best k, ranked.  One comparison for almost every item.

    Parameters
    ----------
    arrivals
        Items grouped by pane, in any order inside a pane.
    k
        How many to keep per pane.
    floors
        Per pane, a score below which items are known to be useless.
    hint
        From :func:`no_hint`, for a stream of batches: makes the next one cheaper.
    keys_at
        Given when ``items.key`` holds stand-ins (row numbers) and not the keys: turns some of
        them into keys. Only items that are kept, or tied, are ever looked up.

    Examples
    --------
    >>> from topwater.windows import counting
    >>> items = Items(np.array([3.0, 9.0, 4.0, 1.0]), np.arange(1, 5), np.array([7, 8, 9, 5]))
    >>> reduce(counting(4, 2).group(items), k=1).items.key.tolist()
    [8, 9]
    """
    from topwater.candidates.panes_kernels import (
        best_rows,  # late: loading the compiler takes a second
    )

    items = arrivals.items
    # No pane has more rows than the largest, however large k is.
    largest = int(np.diff(arrivals.bounds).max(initial=1))
    k = min(k, largest)
    if floors is None:
        floors = np.full(len(arrivals.panes), -np.inf)
    hint = no_hint() if hint is None else hint
    if 3 * k >= largest and len(items) >= _WORTH_SORTING * max(1, len(arrivals.panes)):
        rows, sizes, tied = _sorted_rows(items, arrivals.bounds, k)
    else:
        rows, sizes, tied = best_rows(items.score, items.time, arrivals.bounds, floors, k, hint)
    if tied.any():
        rows = _settle_ties(arrivals, rows, sizes, tied, k, keys_at)
    kept = items.take(rows)
    if keys_at is not None:
        kept = Items(kept.score, kept.time, keys_at(kept.key))
    full = sizes > 0
    return Arrivals(arrivals.panes[full], _bounds(sizes[full]), kept)


def _sorted_rows(items: Items, bounds: IntArray, k: int) -> tuple[IntArray, IntArray, BoolArray]:
    """What ``best_rows`` gives, for panes that are kept almost whole: NumPy sorts faster."""
    parts, tied = [], np.zeros(len(bounds) - 1, bool)
    for j, (start, end) in enumerate(pairwise(bounds.tolist())):
        score, time = items.score[start:end], items.time[start:end]
        order = np.argsort(-score)
        ranked = score[order[: k + 1]]
        if (ranked[1:] == ranked[:-1]).any():
            order = np.lexsort((-time, -score))
            here = order[: k + 1]
            same = (score[here[1:]] == score[here[:-1]]) & (time[here[1:]] == time[here[:-1]])
            tied[j] = same.any()
        parts.append(start + order[:k])
    sizes = np.minimum(np.diff(bounds), k)
    return np.concatenate(parts), sizes, tied


def merge(left: Arrivals, right: Arrivals, k: int) -> Arrivals:
    """The runs of two sets of arrivals together."""
    if not len(left) or not len(right):
        return left if len(left) else right
    if left.panes[-1] < right.panes[0]:
        return _chain(left, right)
    if left.panes[-1] == right.panes[0]:
        # The usual overlap: the newest pane goes on in the next batch.
        head, tail = split(left, int(left.panes[-1]) - 1)
        first, rest = split(right, int(right.panes[0]))
        both = Items.concat([tail.items, first.items]).ranked().take(slice(k))
        middle = Arrivals(tail.panes, _bounds(np.array([len(both)])), both)
        return _chain(_chain(head, middle), rest)
    items = Items.concat([left.items, right.items])
    panes = np.concatenate([pane_column(left), pane_column(right)])
    order = np.lexsort((items.key, -items.time, -items.score, panes))
    panes = panes[order]
    starts = np.flatnonzero(np.concatenate(([True], panes[1:] != panes[:-1])))
    sizes = np.diff(starts, append=len(panes))
    ranked = Arrivals(panes[starts], _bounds(sizes), items.take(order))
    kept = ranked.items.take(rank_column(ranked) < k)
    return Arrivals(ranked.panes, _bounds(np.minimum(sizes, k)), kept)


def split(arrivals: Arrivals, pane: int) -> tuple[Arrivals, Arrivals]:
    """The arrivals up to and with ``pane``, and those after it."""
    at = int(np.searchsorted(arrivals.panes, pane, side="right"))
    cut = int(arrivals.bounds[at])
    return (
        Arrivals(arrivals.panes[:at], arrivals.bounds[: at + 1], arrivals.items.take(slice(cut))),
        Arrivals(
            arrivals.panes[at:], arrivals.bounds[at:] - cut, arrivals.items.take(slice(cut, None))
        ),
    )


def pane_column(arrivals: Arrivals) -> IntArray:
    """The pane of each item."""
    return np.repeat(arrivals.panes, np.diff(arrivals.bounds))


def rank_column(arrivals: Arrivals) -> IntArray:
    """The place of each item in its run, from 0 on."""
    return np.arange(len(arrivals)) - np.repeat(arrivals.bounds[:-1], np.diff(arrivals.bounds))


def no_hint() -> FloatArray:
    """What is expected of the scores before any was seen."""
    return np.full(1, -np.inf)


def nothing() -> Arrivals:
    """No arrivals."""
    return Arrivals(np.empty(0, np.int64), np.zeros(1, np.int64), Items.empty())


def _chain(left: Arrivals, right: Arrivals) -> Arrivals:
    if not len(left) or not len(right):
        return left if len(left) else right
    return Arrivals(
        np.concatenate([left.panes, right.panes]),
        np.concatenate([left.bounds, right.bounds[1:] + left.bounds[-1]]),
        Items.concat([left.items, right.items]),
    )


def _bounds(sizes: IntArray) -> IntArray:
    bounds = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds


def _settle_ties(
    arrivals: Arrivals,
    rows: IntArray,
    sizes: IntArray,
    tied: np.ndarray[tuple[int], np.dtype[np.bool_]],
    k: int,
    keys_at: KeysAt | None,
) -> IntArray:
    """Let the keys decide, in the panes where score and time do not."""
    items = arrivals.items
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    for j in np.flatnonzero(tied):
        last = parts[j][-1]
        start, end = arrivals.bounds[j], arrivals.bounds[j + 1]
        score, time = items.score[start:end], items.time[start:end]
        high = (score > items.score[last]) | (
            (score == items.score[last]) & (time >= items.time[last])
        )
        among = start + np.flatnonzero(high)
        some = items.take(among)
        key = some.key if keys_at is None else keys_at(some.key)
        parts[j] = among[np.lexsort((key, -some.time, -some.score))[:k]]
    return np.concatenate(parts)
