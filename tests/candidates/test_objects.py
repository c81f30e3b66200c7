"""Objects and traces: what is known of a pane after most of it was forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.changing_lists import ACQUATOP, AT_9, PAIRS, world
from topwater.candidates.objects import (
    Candidates,
    Objects,
    Traces,
    certainty,
    in_turn,
    places,
    stack,
    sure,
)
from topwater.candidates.rescorable import build
from topwater.model import Items
from topwater.testing import rows
from topwater.windows import Windows


@pytest.mark.parametrize("name", PAIRS)
def test_rows_of_stream_parts(name: str) -> None:
    """Two columns: the score is their sum, weighted by the remote value."""
    lst = build(name, Windows(10, 10), 1, 0)
    stream = np.array([[1.0, 5.0], [4.0, 3.0]])
    items = Objects(stream.sum(axis=1), np.array([1, 2]), np.array([7, 8]), stream)
    lst.add(Windows(10, 10).group(items))
    lst.rescore(np.array([8]), lambda parts, _: parts[:, 0], None)
    assert rows(lst.top(0)) == [(4, 2, 8)]
    assert not lst.exact(0)
    assert lst.top(0).stream.tolist() == [[4.0, 3.0]]
    memory = lst.snapshot()
    assert build(name, Windows(10, 10), 1, 0, memory=memory).top(0).stream.shape == (1, 2)


@pytest.mark.parametrize("name", PAIRS)
def test_what_was_forgotten_lies_between_two_stream_parts(name: str) -> None:
    """All but E. Of W1 = (4, 13] C, with 6, D and F; of W2 = (7, 16] only F, with 4."""
    lst, all_of_it = build(name, ACQUATOP, 1), world()
    assert lst.forgotten(0) is None
    all_of_it.arrive(AT_9, lst)
    for window, parts in enumerate([(1, 6), (2, 6), (4, 4)]):
        assert np.array_equal(lst.forgotten(window) or (), parts)
    assert lst.forgotten(3) is None
    again = build(name, ACQUATOP, 1, memory=lst.snapshot())
    assert np.array_equal(again.forgotten(1) or (), (2, 6))


def test_places_and_traces() -> None:
    assert places(np.array([5, 3, 9]), np.array([9, 4, 3])).tolist() == [2, -1, 1]
    assert places(np.array([], np.int64), np.array([1])).tolist() == [-1]
    assert Traces.none().ceiling(0) is None


def candidates(*found: tuple[float, float, int, str]) -> Candidates:
    """(score, the most it may be, time, key) of each."""
    score, most, time, key = (list(column) for column in zip(*found, strict=True))
    low, high = np.array(score, float), np.array(most, float)
    vague = np.zeros(len(found), np.bool_)
    return Candidates(low, np.array(time), np.array(key, object), low, high, high, vague)


ALIVE = candidates((9, 9, 1, "a"), (7, 7, 2, "b"), (5, 8, 3, "c"))


@pytest.mark.parametrize(
    ("k", "ceiling", "right"),
    [
        (1, None, "ranking"),
        (2, None, "nothing"),
        (3, None, "set"),
        (4, None, "set"),
        (1, (-9.5, -1, "z"), "nothing"),
        (1, (-8.5, -1, "z"), "ranking"),
        (3, (-4.0, -1, "z"), "set"),
        (4, (-1.0, -1, "z"), "nothing"),
    ],
)
def test_what_is_certain_of_the_best(k: int, ceiling: Any, right: str) -> None:
    """c may have 8 and so be better than b; what was forgotten is no better than the ceiling."""
    assert certainty(ALIVE, ceiling, k) == right


def test_what_was_lost_is_the_best_of_each_pane_with_the_greatest_part() -> None:
    gone = candidates((3, 3, 1, "x"), (4, 4, 2, "y"), (4, 4, 2, "w"), (1, 6, 9, "z"))
    found = Traces.lost(np.array([0, 0, 0, 3]), gone)
    assert (found.pane.tolist(), found.key.tolist()) == ([0, 3], ["w", "z"])
    assert (found.most.tolist(), found.high.tolist()) == ([4, 6], [4, 6])
    assert found.ceiling(0) == (-6.0, -9, "z")
    assert found.ceiling(4) is None
    assert found.forgot_some_of(np.array([0, 1, 3])).tolist() == [True, False, True]


def test_arrivals_are_put_in_the_order_of_time_and_equal_times_stay() -> None:
    windows = Windows(10, 10)
    found = Items(np.array([1.0, 2.0, 3.0]), np.array([5, 3, 5]), np.array([1, 2, 3]))
    assert in_turn(windows.group(found)).key.tolist() == [2, 1, 3]


def test_empty_parts_do_not_decide_the_type_of_the_keys() -> None:
    assert stack([sure(Items.empty()), ALIVE]).key.dtype == object
    assert stack([ALIVE, ALIVE.take(slice(1))]).key.tolist() == ["a", "b", "c", "a"]
    assert len(stack([sure(Items.empty())])) == 0
