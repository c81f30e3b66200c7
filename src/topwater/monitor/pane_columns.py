"""Partial aggregates by pane and slot, and the columns of a window that moves over them.

::

    pane          3        4        5        6        7
    rows       (s, x)…  (s, x)…  (s, x)…  (s, x)…  (s, x)…
    window        └ leaves                          └ enters
    columns    by slot: in how many panes, the last event, one number a name

A window's columns are kept up to date by what enters and what leaves. Whole numbers are added and
taken away exactly. A sum with fractions would not come out as it went in, and neither the least nor
the greatest can be taken away: these columns are merged anew when a pane leaves, from blocks of
panes where there are many. So a column is a function of what the panes hold, bit by bit, and a
restart needs nothing else. The last event of a key, and a value at it, need no such care: the key
leaves with them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from topwater.candidates.invariants import require
from topwater.model import BoolArray, FloatArray, IntArray
from topwater.monitor.pane_rows import LAST, MAX, MIN, SUM, Columns, Int8s, Int32s, Rows
from topwater.replica.key_slots import KeySlots, grown
from topwater.tables import column

_HOW = {"sum": SUM, "min": MIN, "max": MAX, "last": LAST}
_EXACT = 2.0**52
"""Sums of whole numbers up to this are exact in any order: nothing is rounded."""
_FEW = 16
_NO_USES: Int32s = np.empty(0, np.int32)


@functools.cache
def _kernels() -> ModuleType:
    """The compiled loops, loaded with the first event: the compiler takes half a second to load."""
    from topwater.monitor import pane_kernels

    return pane_kernels


class WindowColumns(NamedTuple):
    """A window's keys by slot, ascending: when each spoke last, and its numbers by name."""

    slots: IntArray
    time: IntArray
    numbers: dict[str, FloatArray]


@dataclass(slots=True)
class _Pane:
    """One row per slot, and what came since and is not merged into them yet.

    ``bulk`` is, per column, the sum of all amounts if they are whole; infinite if not.
    """

    rows: Rows
    bulk: FloatArray
    more: list[Rows] = field(default_factory=list)
    entered: bool = False


class PaneColumns:
    """Partial aggregates of keys, by pane; and those of one window, by slot.

    Complexity: O(rows) to add; O(rows of the panes that enter and leave + slots) to move the
    window. Where a column has to be merged anew, O(rows of the window), or of its blocks if it has
    many panes. 20 bytes a row and 28 a slot, for one column.

    Parameters
    ----------
    index
        Gives the keys their slots. A slot is held once for each pane that its key is in.
    how
        The columns by name, each with how it is merged: ``"sum"``, ``"min"``, ``"max"`` or
        ``"last"``.
    panes
        How many panes a window has.

    Examples
    --------
    >>> columns = PaneColumns(KeySlots(), {"n": "sum"}, panes=2)
    >>> columns.add(pa.table({"pane": [0, 1, 1], "key": [7, 7, 8], "time": [5, 15, 18],
    ...                       "n": [1.0, 2.0, 4.0]}))
    >>> columns.move_to(0, 1).numbers["n"].tolist(), columns.move_to(1, 2).numbers["n"].tolist()
    ([3.0, 4.0], [2.0, 4.0])
    """

    def __init__(self, index: KeySlots, how: Mapping[str, str], panes: int) -> None:
        self.index = index
        self.names = [*how]
        self._how: Int8s = np.array([_HOW[each] for each in how.values()], np.int8)
        self._block = 1 if panes <= _FEW else math.isqrt(panes)
        self._panes: dict[int, _Pane] = {}
        self._blocks: dict[int, Rows] = {}
        self._place: Int32s = np.empty(0, np.int32)
        self._columns = Columns(_NO_USES, np.empty(0, np.int64), np.empty((0, len(how))))
        self._keys = 0
        self._anew: BoolArray = np.zeros(len(how), np.bool_)

    def __len__(self) -> int:
        self._merge_all()
        return sum(len(pane.rows.slots) for pane in self._panes.values())

    def add(self, table: pa.Table) -> None:
        """Take in partial aggregates: pane, key, time and the columns.

        Several rows of a pane and key are merged in the order in which they come.
        """
        slots = self.index.slots_of(table.column("key"), add=True)
        self.index.hold(slots)
        numbers = np.empty((len(slots), len(self.names)))
        for j, name in enumerate(self.names):
            # With 0.0 added there is no -0.0, which would not come back when 0.0 is taken away.
            np.add(column(table, name), 0.0, out=numbers[:, j])
        rows = Rows(slots.astype(np.int32), column(table, "time").astype(np.int64), numbers)
        for pane, part in _by_pane(column(table, "pane"), rows):
            self._at(pane).more.append(part)

    def move_to(self, first: int, last: int) -> WindowColumns:
        """The columns of the window of these panes; older panes are forgotten."""
        self.expire(first)
        self._reserve()
        due = [pane for pane in sorted(self._panes) if pane <= last]
        newest = max((pane for pane in due if self._panes[pane].entered), default=-1)
        entered = [pane for pane in due if self._enter(self._panes[pane])]
        if self._block > 1 or (entered and entered[0] <= newest):
            # Fractions are added in the order of the panes, and of blocks of them.
            self._anew |= ~self._exact() & (self._how == SUM)
        if self._anew.any():
            self._merge_anew(first, last, due)
        return self._window()

    def expire(self, first: int) -> None:
        """Forget the panes before this one."""
        gone = [pane for pane in sorted(self._panes) if pane < first]
        if not gone:
            return
        exact, left = self._exact(), False
        for number in gone:
            pane = self._panes.pop(number)
            if pane.entered:
                self._keys -= _kernels().leave(pane.rows, exact, self._columns)
                left = True
            for rows in (pane.rows, *pane.more):
                self.index.release(rows.slots.astype(np.int64))
        self._blocks = {at: rows for at, rows in self._blocks.items() if at * self._block >= first}
        if left:
            self._anew |= ~exact & (self._how != LAST)
        # A key that comes into an empty window begins anew anyway.
        self._anew &= self._keys > 0

    def table(self) -> pa.Table:
        """One row per pane and key, the panes ascending."""
        if not self._panes:
            return pa.table({"pane": pa.array([], pa.int64())})
        self._merge_all()
        panes = sorted(self._panes)
        rows = _joined([self._panes[pane].rows for pane in panes], len(self.names))
        sizes = [len(self._panes[pane].rows.slots) for pane in panes]
        columns = {
            "pane": np.repeat(np.array(panes, np.int64), sizes),
            "key": self.index.arrow_at(rows.slots.astype(np.int64)),
            "time": rows.time,
        }
        numbers = np.ascontiguousarray(rows.numbers.T)
        return pa.table(columns | dict(zip(self.names, numbers, strict=True)))

    def numbers(self, name: str) -> FloatArray:
        """All numbers of a column, whatever their panes and keys."""
        at = self.names.index(name)
        parts = [rows for pane in self._panes.values() for rows in (pane.rows, *pane.more)]
        return np.concatenate([np.empty(0), *(rows.numbers[:, at] for rows in parts)])

    def check(self) -> None:
        """Verify that the window's columns are those that its panes give."""
        entered = {at: pane for at, pane in self._panes.items() if pane.entered}
        held = np.zeros(self.index.capacity, np.int64)
        for pane in entered.values():
            held[pane.rows.slots] += 1
        require(np.array_equal(self._columns.panes, held[: len(self._columns.panes)]), "panes")
        require(self._keys == np.count_nonzero(held), "keys")
        require((self._place == -1).all(), "places")

    def _at(self, number: int) -> _Pane:
        """A pane, which something comes into."""
        pane = self._panes.get(number)
        if pane is None:
            nothing = np.empty((0, len(self.names)))
            rows = Rows(_NO_USES, np.empty(0, np.int64), nothing)
            pane = self._panes[number] = _Pane(rows, np.zeros(len(self.names)))
        self._blocks.pop(number // self._block, None)
        return pane

    def _enter(self, pane: _Pane) -> bool:
        """Add a pane to the window, or what came late for it; whether there was something."""
        if pane.entered and not pane.more:
            return False
        if pane.entered:
            exact = self._exact()
            self._keys -= _kernels().leave(pane.rows, exact, self._columns)
            self._anew |= ~exact & (self._how == SUM)
        self._merge(pane)
        self._keys += _kernels().enter(pane.rows, self._how, self._columns)
        pane.entered = True
        return True

    def _exact(self) -> BoolArray:
        """Which of the window's columns can be added to and taken from without rounding."""
        entered = [pane.bulk for pane in self._panes.values() if pane.entered]
        bulk = np.sum(entered, axis=0) if entered else np.zeros(len(self.names))
        return np.asarray((self._how == SUM) & (bulk <= _EXACT))

    def _merge(self, pane: _Pane) -> None:
        if not pane.more:
            return
        for part in pane.more:
            bulk = np.empty(len(self.names))
            _kernels().weigh(part.numbers, bulk)
            pane.bulk = pane.bulk + bulk
        parts = [pane.rows, *pane.more] if len(pane.rows.slots) else pane.more
        pane.rows, pane.more = self._merged(parts, self.index.uses), []

    def _merge_all(self) -> None:
        self._reserve()
        for pane in self._panes.values():
            if pane.entered:
                self._enter(pane)
            else:
                self._merge(pane)

    def _merged(self, parts: list[Rows], uses: Int32s) -> Rows:
        """One row per slot, of parts in their order."""
        rows = _joined(parts, len(self.names))
        count = _kernels().merge(rows, self._how, self._place, uses)
        if count == len(rows.slots):
            return rows
        return Rows(
            rows.slots[:count].copy(), rows.time[:count].copy(), rows.numbers[:count].copy()
        )

    def _merge_anew(self, first: int, last: int, due: list[int]) -> None:
        """Merge columns from all panes of the window, the oldest first."""
        _kernels().begin_anew(self._anew, self._how, self._columns)
        for rows in self._pieces(first, last, due):
            _kernels().add_again(rows, self._anew, self._how, self._columns.numbers)
        self._anew[:] = False

    def _pieces(self, first: int, last: int, due: list[int]) -> Iterator[Rows]:
        """The window's rows: of whole blocks together, of its first and last panes one by one.

        It depends on the window alone which these are, so fractions are always added alike.
        """
        for block, members in groupby(due, lambda pane: pane // self._block):
            parts = [self._panes[pane].rows for pane in members]
            whole = block * self._block >= first and (block + 1) * self._block <= last + 1
            if self._block == 1 or not whole:
                yield from parts
                continue
            if block not in self._blocks:
                self._blocks[block] = self._merged(parts, _NO_USES)
            yield self._blocks[block]

    def _window(self) -> WindowColumns:
        slots, time = np.empty(self._keys, np.int64), np.empty(self._keys, np.int64)
        numbers = np.empty((len(self.names), self._keys))
        _kernels().gather(self._columns, slots, time, numbers)
        return WindowColumns(slots, time, dict(zip(self.names, numbers, strict=True)))

    def _reserve(self) -> None:
        """Have columns for all slots."""
        size, held = self.index.capacity, len(self._place)
        if size > held:
            panes, time, numbers = self._columns
            self._place = grown(self._place, size, -1)
            self._columns = Columns(grown(panes, size, 0), grown(time, size), grown(numbers, size))


def _by_pane(panes: IntArray, rows: Rows) -> Iterator[tuple[int, Rows]]:
    """Rows by their pane, in their order."""
    if not len(panes):
        return
    if panes.min() == panes.max():
        yield int(panes[0]), rows
        return
    order = np.argsort(panes, kind="stable")
    panes = panes[order]
    starts = np.flatnonzero(np.append(True, panes[1:] != panes[:-1]))
    for start, end in zip(starts, np.append(starts[1:], len(panes)), strict=True):
        at = order[start:end]
        yield int(panes[start]), Rows(rows.slots[at], rows.time[at], rows.numbers[at])


def _joined(parts: list[Rows], width: int) -> Rows:
    """All rows, one after the other. They may be written: a single part is handed on."""
    if len(parts) == 1:
        return parts[0]
    nothing = Rows(_NO_USES, np.empty(0, np.int64), np.empty((0, width)))
    return Rows(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))
