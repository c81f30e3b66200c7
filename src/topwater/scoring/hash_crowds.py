"""Whole numbers that crowd in Arrow's hash table, which then takes minutes for a million of them.

Arrow's ``group_by`` multiplies a whole number by a constant, and places it by the bytes above the
lower four, the lowest of them first. Multiples of 2^40 have nothing in that byte, and other
numbers can be made to have the same in all four: they stand in one place of the table, and each is
compared with those before it.
"""

from __future__ import annotations

import numpy as np

from topwater.model import BoolArray, IntArray

_MULTIPLIER = np.uint64(11_400_714_785_074_694_791)
_FEWEST, _FEWEST_DRAWN, _MOST_DRAWN, _PER_DRAWN = 1_024, 256, 4_096, 32
_FEWEST_DISTINCT = 64
_FULL = 0.875
"""How full the table is at most."""

_PUSHED_ON = 9.0
"""By how many places for those drawn they are pushed on, if they crowd; it is 3 if chance places
them."""

_DRAWS = np.sort(np.random.default_rng(40).random(_MOST_DRAWN))
"""Where rows are drawn. Evenly spaced ones could crowd where the others do not."""


def crowd(keys: IntArray) -> bool:
    """Whether many of these keys stand in few places of Arrow's table, by some of them.

    Of some thousands of them it is computed how far they are from their places. O(1).

    Examples
    --------
    >>> numbers = np.arange(100_000)
    >>> crowd(numbers), crowd(numbers << 22), crowd(numbers << 40)
    (False, False, True)
    """
    if len(keys) < _FEWEST:
        return False
    size = min(max(len(keys) // _PER_DRAWN, _FEWEST_DRAWN), _MOST_DRAWN)
    draws = _DRAWS[:: _MOST_DRAWN // size]
    drawn = np.sort(keys[(draws * len(keys)).astype(np.int64)])
    drawn = drawn[_differs(drawn)]
    if len(drawn) < _FEWEST_DISTINCT:
        return False
    hashed = (drawn.view(np.uint64) * _MULTIPLIER >> np.uint64(32)).astype(np.uint32).byteswap()
    # Those before a key that find its place taken go on to the next free one, and so must it.
    room = np.sort(hashed) * (len(hashed) / _FULL / 2.0**32)
    spare = np.arange(len(hashed)) - room
    return bool(np.mean(spare - np.minimum.accumulate(spare)) > _PUSHED_ON)


def _differs(ordered: IntArray) -> BoolArray:
    """Which of sorted numbers are not like the one before."""
    return np.append(True, ordered[1:] != ordered[:-1])
