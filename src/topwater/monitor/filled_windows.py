"""Which windows hold something: stretches of them, few even when there are many windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from topwater.model import IntArray
from topwater.windows import Windows


class FilledWindows:
    """The windows that hold something, as pairs of the first and the last in a row.

    Examples
    --------
    >>> filled = FilledWindows(Windows(10, 10))
    >>> filled.note(np.array([3, 4, 9]))
    >>> filled.snapshot()
    [[3, 4], [9, 9]]
    >>> list(filled.between(2, 5))
    [(False, 2, 2), (True, 3, 4), (False, 5, 5)]
    """

    def __init__(self, windows: Windows, stretches: Iterable[Iterable[int]] = ()) -> None:
        self._windows = windows
        self._pairs = [(first, last) for first, last in stretches]

    def __bool__(self) -> bool:
        return bool(self._pairs)

    @property
    def first(self) -> int:
        """The first window that holds something."""
        return self._pairs[0][0]

    @property
    def last(self) -> int:
        """The last window that holds something."""
        return self._pairs[-1][1]

    def first_from(self, window: int | None) -> int | None:
        """The first of them, or the first that is not before ``window``."""
        for first, last in self._pairs:
            if window is None or last >= window:
                return first if window is None else max(first, window)
        return None

    def note(self, panes: IntArray) -> None:
        """Something came in these panes, which ascend."""
        # A step between two panes that is longer than a window leaves windows with neither.
        gaps = np.flatnonzero(self._windows.leaves_gap(panes)) + 1
        found = [
            (self._windows.span_of(int(row[0]))[0], self._windows.span_of(int(row[-1]))[1])
            for row in np.split(panes, gaps)
            if len(row)
        ]
        self._pairs = _joined([*self._pairs, *found])

    def expire(self, window: int) -> None:
        """Forget the windows up to this one."""
        later = [pair for pair in self._pairs if pair[1] > window]
        self._pairs = [(max(first, window + 1), last) for first, last in later]

    def between(self, current: int, until: int) -> Iterator[tuple[bool, int, int]]:
        """All windows from one to another, as stretches that hold something or nothing."""
        for first, last in self._pairs:
            if current < first:
                yield False, current, min(until, first - 1)
            if until < first:
                return
            yield True, max(current, first), min(until, last)
            current = last + 1
            if until < current:
                return
        yield False, current, until

    def snapshot(self) -> list[list[int]]:
        """For JSON, and for a new one."""
        return [[first, last] for first, last in self._pairs]


def _joined(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs in order, with those that touch made one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if joined and first <= joined[-1][1] + 1:
            first, last = joined[-1][0], max(last, joined.pop()[1])
        joined.append((first, last))
    return joined
