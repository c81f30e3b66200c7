"""Rows of numbers by slot: they come when asked for, go when reset, and survive a restart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from topwater.replica.slot_columns import SlotColumn, SlotTable, WatchedRows


def slots(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def test_rows_are_empty_until_they_are_written() -> None:
    table = SlotTable("sums", 2, empty=-1.0)
    assert table.at(slots(9, 0)).tolist() == [[-1, -1], [-1, -1]]
    table.put(slots(4), np.array([[1.0, 2.0]]))
    assert table.at(slots(3, 4, 100)).tolist() == [[-1, -1], [1, 2], [-1, -1]]
    assert table.at(slots()).shape == (0, 2)


def test_adding_goes_on_from_what_is_there() -> None:
    table = SlotTable("sums", 1, empty=10.0)
    for _ in range(3):
        table.add(slots(2, 0), np.array([[1.0], [5.0]]))
    assert table.at(slots(0, 1, 2)).tolist() == [[25], [10], [13]]


def test_what_is_read_is_a_copy() -> None:
    table = SlotTable("sums", 1)
    table.at(slots(0))[:] = 7.0
    assert table.at(slots(0)).tolist() == [[0]]


def test_growing_keeps_what_is_there() -> None:
    table = SlotTable("sums", 1)
    for slot in range(50):
        table.put(slots(slot), np.array([[float(slot)]]))
    assert table.at(np.arange(50)).ravel().tolist() == list(range(50))


def test_slots_never_reached_may_be_reset() -> None:
    table = SlotTable("sums", 1, empty=3.0)
    table.reset(slots(1_000))
    table.put(slots(0, 1), np.array([[1.0], [2.0]]))
    table.reset(slots(1, 1_000))
    assert table.at(slots(0, 1)).tolist() == [[1], [3]]


@pytest.mark.parametrize("width", [1, 3])
def test_a_restart_may_number_slots_anew(width: int) -> None:
    table, again = SlotTable("sums", width), SlotTable("sums", width)
    rows = np.arange(3.0 * width).reshape(3, width)
    table.put(slots(7, 2, 5), rows)
    again.restore(pa.table(table.snapshot(slots(5, 7))), slots(0, 1))
    assert again.at(slots(0, 1)).tolist() == rows[[2, 0]].tolist()
    assert list(table.snapshot(slots())) == ["sums"]


def test_slots_that_were_only_read_or_reset_take_no_room() -> None:
    table = SlotTable("sums", 100)
    table.at(np.arange(1_000_000))
    table.reset(np.arange(1_000_000))
    assert (len(table._rows), table._data.shape) == (0, (1, 100))
    for slot in range(0, 1_000_000, 1_000):
        table.put(slots(slot), np.ones((1, 100)))
        table.reset(slots(slot - 1_000) if slot else slots())
    assert len(table._rows) == 1
    assert len(table._data) < 64
    assert table.holds(slots(999_000, 998_000)).tolist() == [True, False]


def test_a_restart_takes_rows_of_one_length_as_they_were_written_before() -> None:
    flat = pa.array([1.0, 2.0, 3.0, 4.0])
    again = SlotTable("sums", 2)
    again.restore(pa.table({"sums": pa.FixedSizeListArray.from_arrays(flat, 2)}), slots(5, 3))
    assert again.at(slots(3, 5)).tolist() == [[3, 4], [1, 2]]


def test_a_snapshot_has_nothing_of_what_was_not_learnt() -> None:
    table, again = SlotTable("sums", 2, empty=7.0), SlotTable("sums", 2, empty=7.0)
    table.put(slots(1), np.array([[1.0, 2.0]]))
    column = table.snapshot(slots(0, 1, 2))["sums"]
    assert column.to_pylist() == [[], [1.0, 2.0], []]
    again.restore(pa.table({"sums": column}), slots(0, 1, 2))
    assert again.at(slots(0, 1, 2)).tolist() == [[7, 7], [1, 2], [7, 7]]
    assert again.holds(slots(0, 1, 2)).tolist() == [False, True, False]


def test_rows_know_their_slots_and_when_they_were_written() -> None:
    watched = WatchedRows()
    column = SlotColumn(watched, np.int64, 0)
    seen = 0
    for many in range(1, 60):
        new = slots(*range(100 * many, 100 * many + many))
        rows = watched.enter(new)
        column.reserve(watched.size)
        column.put(rows, many)
        assert watched.written(seen).tolist() == sorted(rows.tolist())
        assert watched.slot_of[watched.of(new)].tolist() == new.tolist()
        seen = watched.look()
        column.put(watched.leave(new[::2]), 0)  # others take these rows
        assert sorted(watched.written(seen)) == sorted(rows[::2])
        seen = watched.look()
        assert not len(watched.written(seen))
    assert len(watched.written()) == watched.size - 1


def test_rows_that_were_asked_for_are_found_anew_when_slots_come_or_go() -> None:
    watched = WatchedRows()
    many = np.arange(10_000)
    assert not watched.of(many).any()
    watched.enter(slots(7, 9_000))
    assert np.flatnonzero(watched.of(many)).tolist() == [7, 9_000]
    watched.leave(slots(7))
    assert np.flatnonzero(watched.of(many)).tolist() == [9_000]
    assert watched.of(many) is watched.of(many)
    assert np.flatnonzero(watched.of(many[::-1])).tolist() == [999]
