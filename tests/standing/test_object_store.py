"""Rows are forgotten; of those still referred to, time and key stay."""

from __future__ import annotations

import numpy as np

from topwater.standing.object_store import Store


def test_positions_stand_for_what_was_not_given() -> None:
    store = Store(1)
    store.append([np.array([1.0, 2.0])], None, None)
    times, keys = store.describe(np.array([2, 1]))
    assert (times.tolist(), keys.tolist(), store.named) == ([2, 1], [2, 1], False)


def test_dropped_rows_are_known_by_name_while_they_are_held() -> None:
    store = Store(1)
    store.append([np.arange(5.0)], np.array([10, 20, 30, 40, 50]), np.array(list("abcde"), object))
    store.drop(3, np.array([2, 2, 5]))
    assert (store.origin, store.size, len(store)) == (4, 2, 3)
    assert store.columns[0, :2].tolist() == [3.0, 4.0]
    times, keys = store.describe(np.array([5, 2, 4]))
    assert (times.tolist(), keys.tolist()) == ([50, 20, 40], ["e", "b", "d"])


def test_a_snapshot_goes_on() -> None:
    store, other = Store(2), Store(2)
    store.append([np.arange(4.0), np.ones(4)], np.arange(4), np.arange(100, 104))
    store.drop(2, np.array([1]))
    other.restore(store.snapshot())
    for each in (store, other):
        each.append([np.zeros(1), np.zeros(1)], np.array([9]), np.array(["x"], object))
        times, keys = each.describe(np.array([1, 3, 5]))
        assert (times.tolist(), keys.tolist()) == ([0, 2, 9], [100, 102, "x"])


def test_rows_grow_in_both_directions() -> None:
    store, many = Store(1), 1 << 17
    store.append([np.zeros(3)], None, None)
    store.append([np.ones(many), np.full(many, 2.0)], None, None)
    assert store.columns.shape[0] == 2
    assert store.columns[0, 3 + many - 1] == 1.0
    assert store.columns[1, 3] == 2.0
