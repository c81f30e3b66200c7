"""Objects and traces: what is known of a pane after most of it was forgotten."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.changing_lists import ACQUATOP, AT_9, PAIRS, world
from topwater.candidates.objects import (
    Objects,
    Traces,
    places,
)
from topwater.candidates.rescorable import build
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
