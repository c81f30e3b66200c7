"""Stretches of windows that hold something, against a plain set of windows."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from topwater.monitor.filled_windows import FilledWindows
from topwater.windows import Windows

SPANS = [Windows(10, 10), Windows(9, 3), Windows(5, 2), Windows(100, 60)]


def spread(filled: FilledWindows, current: int, until: int) -> list[tuple[int, bool]]:
    """Each window from one to another, and whether it holds something."""
    return [
        (window, holds)
        for holds, first, last in filled.between(current, until)
        for window in range(first, last + 1)
    ]


@given(
    windows=st.sampled_from(SPANS),
    batches=st.lists(st.sets(st.integers(0, 60), min_size=1), max_size=4),
    expired=st.integers(-1, 12),
    length=st.integers(0, 30),
)
def test_it_is_the_set_of_windows_that_hold_a_pane(
    windows: Windows, batches: list[set[int]], expired: int, length: int
) -> None:
    filled, right = FilledWindows(windows), set()
    for panes in batches:
        filled.note(np.array(sorted(panes)))
        for pane in panes:
            first, last = windows.span_of(pane)
            right |= set(range(first, last + 1))
    filled.expire(expired)
    right = {window for window in right if window > expired}
    assert bool(filled) == bool(right)
    if right:
        assert (filled.first, filled.last) == (min(right), max(right))
    span = range(expired + 1, expired + 2 + length)
    found = spread(filled, span[0], span[-1])
    assert found == [(window, window in right) for window in span]


def test_stretches_that_touch_are_one() -> None:
    filled = FilledWindows(Windows(10, 10))
    for pane in (3, 9, 4, 8):
        filled.note(np.array([pane]))
    assert filled.snapshot() == [[3, 4], [8, 9]]
    filled.note(np.array([5, 6, 7]))
    assert filled.snapshot() == [[3, 9]]


def test_far_ahead_costs_no_more_than_near() -> None:
    filled = FilledWindows(Windows(10, 1))
    filled.note(np.array([0, 10**12]))
    assert len(filled.snapshot()) == 2
    assert len(list(filled.between(0, 10**12))) == 3


def test_nothing_came() -> None:
    filled = FilledWindows(Windows(10, 10))
    filled.note(np.empty(0, np.int64))
    assert not filled
    assert list(filled.between(4, 6)) == [(False, 4, 6)]


@pytest.mark.parametrize(
    ("window", "left"),
    [(2, [[3, 4], [9, 9]]), (3, [[4, 4], [9, 9]]), (4, [[9, 9]]), (9, [])],
)
def test_a_snapshot_goes_on(window: int, left: list[list[int]]) -> None:
    filled = FilledWindows(Windows(10, 10), [[3, 4], [9, 9]])
    filled.expire(window)
    again = FilledWindows(Windows(10, 10), filled.snapshot())
    assert again.snapshot() == left
