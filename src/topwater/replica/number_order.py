"""The n-th greatest of many numbers, and all of them in order, without sorting them again."""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray

_FEW = 4_096
_SAMPLE = 4_096
_SHARE = 8


def nth_greatest(numbers: FloatArray | IntArray, nth: int) -> float:
    """The number that is exceeded by fewer than ``nth`` others, and reached by ``nth``, from 1.

    A sample of them tells about where it is, so few are left to be partitioned. NumPy's
    partition alone moves all numbers, and takes ten times as long where most are equal.  O(n).

    Parameters
    ----------
    numbers
        At least ``nth`` of them, without NaN.
    nth
        Which one.

    Examples
    --------
    >>> nth_greatest(np.array([5.0, 1.0, 4.0, 4.0]), 3)
    4.0
    """
    if len(numbers) <= _FEW:
        return _partitioned(numbers, nth)
    sample = numbers[:: max(1, len(numbers) // _SAMPLE)]
    wanted = min(len(sample), 2 * nth * len(sample) // len(numbers) + 16)
    about = _partitioned(sample, wanted)
    above = numbers[numbers > about]
    if len(above) >= nth:
        return _partitioned(above, nth)
    if np.count_nonzero(numbers == about) >= nth - len(above):
        return about
    return _partitioned(numbers, nth)


def _partitioned(numbers: FloatArray | IntArray, nth: int) -> float:
    at = len(numbers) - nth
    # A whole number stays one: large ones don't fit a float.
    found: float = np.partition(numbers, at)[at].item()
    return found


def quantiles(ascending: FloatArray, shares: FloatArray) -> FloatArray:
    """What these shares of sorted numbers lie below: as NumPy's, in a tenth of the time.

    Examples
    --------
    >>> quantiles(np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.25, 0.75, 1.0])).tolist()
    [1.0, 1.5, 3.0, 4.0]
    """
    last = len(ascending) - 1
    places = shares * last
    below = np.floor(places)
    share, at = places - below, below.astype(np.int64)
    low, high = ascending[at], ascending[np.minimum(at + 1, last)]
    apart = high - low
    return np.where(share >= 0.5, high - apart * (1.0 - share), low + apart * share)


class SortedNumbers:
    """The finite numbers of a column, sorted; what changed since the last time is moved.

    Examples
    --------
    >>> numbers = SortedNumbers()
    >>> numbers.update(np.array([3.0, np.nan, 1.0])).tolist()
    [1.0, 3.0]
    >>> numbers.update(np.array([3.0, 2.0, 5.0])).tolist()
    [2.0, 3.0, 5.0]
    """

    def __init__(self) -> None:
        self._column = self._sorted = np.empty(0)

    def update(self, column: FloatArray) -> FloatArray:
        """The numbers of a column by now.  O(column), and O(log) for each that changed."""
        old = np.full(len(column), np.nan)
        old[: len(self._column)] = self._column[: len(column)]
        gone = self._column[len(column) :]
        moved = np.flatnonzero((old != column) & ~(np.isnan(old) & np.isnan(column)))
        if len(moved) * _SHARE > len(column):
            self._sorted = np.sort(column[np.isfinite(column)])
        else:
            gone = np.concatenate([old[moved], gone])
            self._sorted = _without(self._sorted, gone[np.isfinite(gone)])
            come = np.sort(column[moved])
            come = come[np.isfinite(come)]
            self._sorted = np.insert(self._sorted, np.searchsorted(self._sorted, come), come)
        self._column = column.copy()
        return self._sorted


def _without(numbers: FloatArray, gone: FloatArray) -> FloatArray:
    """Sorted numbers without some of them, each once."""
    gone = np.sort(gone)
    # Of equals, one after the other.
    again = np.arange(len(gone)) - np.searchsorted(gone, gone)
    return np.delete(numbers, np.searchsorted(numbers, gone) + again)
