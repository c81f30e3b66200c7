"""The inner loops of the columns of panes and windows, compiled.

Rows are those of one pane: a slot, the time of the key's last event, and one number a column.
Columns are merged each in its own way (``how``): added, the least, the greatest, or the last, which
is the value at the latest time and the greatest of several there.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.monitor.pane_rows import MAX, MIN, SUM, Columns, Int8s, Int32s, Rows

HUGE = 2.0**60
"""Far more than what whole numbers are exact to."""

_compiled = njit(cache=True, nogil=True)


@_compiled
def _taken_in(
    how: Int8s, numbers: FloatArray, at: int, given: FloatArray, row: int, age: int
) -> None:
    """Merge a row into another; ``age`` is how much later it is."""
    for j in range(len(how)):
        new, old = given[row, j], numbers[at, j]
        if how[j] == SUM:
            numbers[at, j] = old + new
        elif how[j] == MIN:
            numbers[at, j] = min(old, new)
        elif how[j] == MAX:
            numbers[at, j] = max(old, new)
        elif age > 0 or (age == 0 and new > old):
            numbers[at, j] = new


@_compiled
def merge(rows: Rows, how: Int8s, place: Int32s, uses: Int32s) -> int:
    """One row per slot, in the order in which they came first; gives how many.

    ``place`` holds -1 for each slot, and does so again afterwards. Of each row that is merged into
    another the use of its slot is given up, unless ``uses`` is empty.
    """
    slots, time, numbers = rows
    count = 0
    for i in range(len(slots)):
        slot = slots[i]
        at = place[slot]
        if at < 0:
            place[slot] = count
            slots[count], time[count] = slot, time[i]
            for j in range(len(how)):
                numbers[count, j] = numbers[i, j]
            count += 1
            continue
        if len(uses):
            uses[slot] -= 1
        _taken_in(how, numbers, at, numbers, i, time[i] - time[at])
        time[at] = max(time[at], time[i])
    for i in range(count):
        place[slots[i]] = -1
    return count


@_compiled
def enter(rows: Rows, how: Int8s, columns: Columns) -> int:
    """Add a pane to a window; gives how many keys are new in it."""
    count = 0
    for i in range(len(rows.slots)):
        slot, time = rows.slots[i], rows.time[i]
        if columns.panes[slot] == 0:
            count += 1
            columns.time[slot] = time
            for j in range(len(how)):
                columns.numbers[slot, j] = rows.numbers[i, j]
        else:
            _taken_in(how, columns.numbers, slot, rows.numbers, i, time - columns.time[slot])
            columns.time[slot] = max(columns.time[slot], time)
        columns.panes[slot] += 1
    return count


@_compiled
def leave(rows: Rows, exact: BoolArray, columns: Columns) -> int:
    """Take a pane away from a window; gives how many keys are gone from it.

    Where that is ``exact``, what they added is taken away. Of the others nothing is.
    """
    count = 0
    for i in range(len(rows.slots)):
        slot = rows.slots[i]
        columns.panes[slot] -= 1
        count += columns.panes[slot] == 0
        for j in range(len(exact)):
            if exact[j]:
                columns.numbers[slot, j] -= rows.numbers[i, j]
    return count


@_compiled
def begin_anew(which: BoolArray, how: Int8s, columns: Columns) -> None:
    """Empty some columns of a window, before all of its rows are added again."""
    for j in range(len(how)):
        if which[j]:
            columns.numbers[:, j] = 0.0 if how[j] == SUM else np.inf if how[j] == MIN else -np.inf


@_compiled
def add_again(rows: Rows, which: BoolArray, how: Int8s, numbers: FloatArray) -> None:
    """Add rows to some columns of a window."""
    for j in range(len(how)):
        if not which[j]:
            continue
        for i in range(len(rows.slots)):
            slot, new = rows.slots[i], rows.numbers[i, j]
            if how[j] == SUM:
                numbers[slot, j] += new
            elif how[j] == MIN:
                numbers[slot, j] = min(numbers[slot, j], new)
            else:
                numbers[slot, j] = max(numbers[slot, j], new)


@_compiled
def gather(columns: Columns, slots: IntArray, time: IntArray, numbers: FloatArray) -> None:
    """The keys of a window in the order of their slots, and each column by itself."""
    at = 0
    for slot in range(len(columns.panes)):
        if columns.panes[slot] > 0:
            slots[at], time[at] = slot, columns.time[slot]
            for j in range(len(numbers)):
                numbers[j, at] = columns.numbers[slot, j]
            at += 1


@_compiled
def weigh(numbers: FloatArray, bulk: FloatArray) -> None:
    """Per column the sum of all amounts, if all are whole; infinite if not, or if it is huge."""
    for j in range(len(bulk)):
        total = 0.0
        for i in range(len(numbers)):
            if numbers[i, j] != np.floor(numbers[i, j]):
                total = np.inf
                break
            total += abs(numbers[i, j])
        # Huge ones added up would overflow.
        bulk[j] = total if total < HUGE else np.inf
