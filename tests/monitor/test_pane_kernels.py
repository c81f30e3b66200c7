"""The loops over panes' rows: each against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.monitor.pane_kernels import begin_anew, enter, gather, leave, merge, weigh
from topwater.monitor.pane_rows import LAST, MAX, MIN, SUM, Columns, Rows

HOW = np.array([SUM, MIN, MAX, LAST], np.int8)
KEYS = 7


def drawn_rows(seed: int, size: int) -> Rows:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-4, 5, (size, 4)).astype(np.float64)
    return Rows(rng.integers(0, KEYS, size, np.int32), rng.integers(0, 3, size), numbers)


def first(rows: Rows, count: int) -> Rows:
    return Rows(rows.slots[:count], rows.time[:count], rows.numbers[:count])


def merged(rows: Rows) -> dict[int, tuple[int, list[float]]]:
    """The slow twin: per slot the last time and the four columns."""
    found: dict[int, tuple[int, list[float]]] = {}
    for slot, time, new in zip(*(each.tolist() for each in rows), strict=True):
        if slot not in found:
            found[slot] = time, new
            continue
        before, old = found[slot]
        last = max((before, old[3]), (time, new[3]))
        numbers = [old[0] + new[0], min(old[1], new[1]), max(old[2], new[2]), last[1]]
        found[slot] = last[0], numbers
    return found


def told(rows: Rows) -> dict[int, tuple[int, list[float]]]:
    times = zip(rows.time.tolist(), rows.numbers.tolist(), strict=True)
    return dict(zip(rows.slots.tolist(), times, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_merged_in_place_and_give_up_their_slots(seed: int) -> None:
    rows = drawn_rows(seed, seed)
    right, came = merged(rows), rows.slots.copy()
    place, uses = np.full(KEYS, -1, np.int32), np.zeros(KEYS, np.int32)
    np.add.at(uses, came, 1)
    count = merge(rows, HOW, place, uses)
    assert told(first(rows, count)) == right
    assert list(dict.fromkeys(came.tolist())) == rows.slots[:count].tolist()
    assert (place == -1).all()
    assert uses.tolist() == np.isin(np.arange(KEYS), came).astype(int).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_what_enters_is_there_and_what_leaves_is_gone(seed: int) -> None:
    panes = [drawn_rows(seed * 9 + pane, 6) for pane in range(3)]
    for at, rows in enumerate(panes):
        count = merge(rows, HOW, np.full(KEYS, -1, np.int32), np.empty(0, np.int32))
        panes[at] = first(rows, count)._replace(time=rows.time[:count] + 10 * at)
    columns = Columns(np.zeros(KEYS, np.int32), np.zeros(KEYS, np.int64), np.zeros((KEYS, 4)))
    keys = sum(enter(rows, HOW, columns) for rows in panes)
    keys -= leave(panes[0], HOW == SUM, columns)
    slots, time, numbers = np.empty(keys, np.int64), np.empty(keys, np.int64), np.empty((4, keys))
    gather(columns, slots, time, numbers)
    right = merged(Rows(*(np.concatenate(each) for each in zip(*panes[1:], strict=True))))
    found = told(Rows(slots, time, numbers.T))  # type: ignore[arg-type]
    assert found.keys() == right.keys()
    for slot, (last, values) in found.items():
        # The least and the greatest are merged anew by whoever takes panes away.
        assert (last, values[0], values[3]) == (
            right[slot][0],
            right[slot][1][0],
            right[slot][1][3],
        )


def test_a_column_begins_with_what_changes_nothing() -> None:
    columns = Columns(np.ones(1, np.int32), np.ones(1, np.int64), np.ones((1, 4)))
    begin_anew(np.array([True, True, True, False]), HOW, columns)
    assert columns.numbers.tolist() == [[0.0, np.inf, -np.inf, 1.0]]


def test_only_whole_amounts_have_a_weight() -> None:
    bulk = np.empty(4)
    weigh(np.array([[1.0, 0.5, np.inf, -3.0], [-2.0, 1.0, 0.0, 0.0]]), bulk)
    assert bulk.tolist() == [3.0, np.inf, np.inf, 3.0]
    weigh(np.full((2, 4), 1e308), bulk)
    assert (bulk == np.inf).all(), "numbers that can't be added up"
