"""What is remembered of one join: its entries, each with all values of one look-up.

The ranked keys and the entries are not the same: many keys may have one entry. An entry is what a
look-up brings, and its slot is the same for all its values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, Fetched, FloatArray, IntArray, KeyArray, Millis, Remote
from topwater.problems import NEVER, STATED
from topwater.replica.joins.join import Join
from topwater.replica.joins.value_store import Asked, Frame, ValueStore
from topwater.replica.key_slots import KeySlots
from topwater.replica.notices import TEXTS, VALUES
from topwater.replica.pushed_values import LatestNotices
from topwater.replica.store import NEVER as UNASKED
from topwater.replica.store import Replica
from topwater.replica.window_view import WindowView

NOWHERE = 2**53
"""The code of a key that is missing: such a row has no entry."""

Shown = float | str | None


class EntryStore:
    """Remembers the entries of one join.

    Parameters
    ----------
    join
        What is looked up, and by what.
    frame
        The ranking that it is for.
    used
        The names that scores and filters use; the others are only shown.
    index
        Gives keys their slots: of the ranked keys, or of a column of the stream.
    """

    def __init__(self, join: Join, frame: Frame, used: Sequence[str], index: KeySlots) -> None:
        self.join = join
        self.index = index
        self.stores = {
            name: ValueStore(join, name, frame, index) for name in join.remote if name in used
        }
        self.shown_only = tuple(name for name in join.remote if name not in used)
        self._shown: dict[int, tuple[Shown, ...]] = {}

    @property
    def first(self) -> Replica:
        """The replica of its first value: when entries were asked for, it says for all."""
        return next(iter(self.stores.values())).replica

    @property
    def size(self) -> int:
        """About how many bytes all that is remembered takes."""
        shown = sum(
            len(each) if isinstance(each, str) else 8
            for row in self._shown.values()
            for each in row
        )
        return sum(store.replica.size for store in self.stores.values()) + shown

    def slots_of(self, view: WindowView) -> IntArray:
        """The slot of each row's entry, on loan; -1 for a row whose key is missing."""
        if self.join.key is None:
            return view.slots
        codes = view.values[self.join.key].astype(np.int64)
        distinct, of_row = np.unique(codes, return_inverse=True)
        slots = np.full(len(distinct), -1, np.int64)
        there = distinct != NOWHERE
        if there.any():
            slots[there] = self.first.lend(view.labels[self.join.key].arrow_at(distinct[there]))
        return slots[of_row]

    def present(self, slots: IntArray, view: WindowView) -> None:
        """Note that entries are in a window, and when something was last heard of each."""
        entries, last = _latest(slots, view.last_event)
        for store in self.stores.values():
            store.replica.present(entries, view.index, view.end)
            store.replica.hear(entries, last)

    def columns(self, slots: IntArray) -> dict[str, FloatArray]:
        """What is taken for the values of each row's entry; NaN where there is none."""
        lost = slots < 0
        safe = np.where(lost, 0, slots)
        found = {name: store.values.of_slots(safe) for name, store in self.stores.items()}
        if not lost.any():
            return found
        return {name: np.where(lost, self._without(name), each) for name, each in found.items()}

    def _without(self, name: str) -> float:
        """What a row has whose key is missing."""
        default = self.join.default_of(name)
        return np.nan if default is None else default

    def read_at(self, slots: IntArray, now: int) -> BoolArray:
        """Which rows have an entry that was read at this time, or need none."""
        return np.asarray((slots < 0) | self.first.read_at(np.where(slots < 0, 0, slots), now))

    def never_asked(self, slots: IntArray) -> BoolArray:
        """Which entries were never asked for."""
        return np.asarray(self.first.asked[slots] == UNASKED)

    @property
    def known_numbers(self) -> int:
        """Of how many entries all values are known, about."""
        return min(
            int(np.count_nonzero(np.isfinite(each.replica.value.data)))
            for each in self.stores.values()
        )

    @property
    def holds_numbers(self) -> bool:
        """Whether some value of each name is known."""
        return all(store.replica.holds_numbers for store in self.stores.values())

    def take_in(self, asked: Asked, got: Fetched) -> int:
        """Remember what came for entries; how many were answered without a number."""
        columns = {name: _numbers(got, name, self.join) for name in self.stores}
        some = np.zeros(len(got.ok), bool)
        for each in columns.values():
            some |= np.isfinite(each)
        some &= got.ok
        told = np.full(len(some), "", object) if got.why is None else got.why
        told = np.where(got.ok & (told == ""), "not_found", told)
        # Where the remote side has no value and had none before, that is what is known now; unless
        # nothing usable came at all: then a path or a column may be wrong.
        believed = np.isin(told, STATED) | bool(some.any())
        before = np.logical_and.reduce(
            [np.isnan(store.replica.value[asked.slots]) for store in self.stores.values()]
        )
        good = got.ok & (some | (before & believed))
        for name, store in self.stores.items():
            number = got.ok & np.isfinite(columns[name])
            why = np.where(number, "", told)
            store.take_in(asked, np.where(number, columns[name], np.nan), good, why)
        self._note(asked.slots[good], got, np.flatnonzero(good))
        return int(np.count_nonzero(got.ok & ~some))

    def _note(self, slots: IntArray, got: Fetched, rows: IntArray) -> None:
        """Remember what is only shown."""
        if not self.shown_only:
            return
        columns = [_shown(got, name, rows) for name in self.shown_only]
        self._shown.update(zip(slots.tolist(), zip(*columns, strict=True), strict=True))

    def note_latest(self, notices: pa.Table, latest: LatestNotices) -> None:
        """Remember what notices say of what is only shown."""
        if not self.shown_only:
            return
        columns = []
        for name in self.shown_only:
            numbers, texts = (notices.column(kind + name) for kind in (VALUES, TEXTS))
            rows = pa.array(latest.rows)
            both = zip(texts.take(rows).to_pylist(), numbers.take(rows).to_pylist(), strict=True)
            columns.append([number if text is None else text for text, number in both])
        for slot, at, row in zip(
            latest.slots.tolist(), latest.at.tolist(), zip(*columns, strict=True), strict=True
        ):
            if self.first.asked[np.array([slot])][0] == at:
                self._shown[slot] = row

    def cells(self, slots: IntArray, name: str, now: Millis) -> list[Remote]:
        """What an answer says of one value of some entries."""
        there = np.maximum(slots, 0)
        fetched = self.first.fetched[there]
        age = np.where((slots < 0) | (fetched == UNASKED), -1, now - fetched).tolist()
        if name in self.stores:
            return self._numbers(self.stores[name], slots, age, now)
        at = self.shown_only.index(name)
        cells = [
            self._shown.get(slot, (None,) * len(self.shown_only))[at] for slot in slots.tolist()
        ]
        return [
            Remote(value, None if old < 0 else old, None, None if old >= 0 else NEVER)
            for value, old in zip(cells, age, strict=True)
        ]

    def _numbers(
        self, store: ValueStore, slots: IntArray, age: list[int], now: Millis
    ) -> list[Remote]:
        there, beliefs, replica = np.maximum(slots, 0), store.learners.beliefs, store.replica
        stale = beliefs.stale(there, now, replica.fetched[there], replica.hints[there])
        right = np.where(slots < 0, 1.0, 1.0 - stale).tolist()
        shown = store.values.shown(there)
        value = np.where(slots < 0, self._without(store.name), shown).tolist()
        why = store.values.assumed(there)
        return [
            Remote(
                None if math.isnan(each) else each,
                None if old < 0 else old,
                sure,
                "not_found" if slot < 0 else told,
            )
            for slot, each, old, sure, told in zip(
                slots.tolist(), value, age, right, why, strict=True
            )
        ]

    def forget(self, slots: IntArray) -> None:
        """Remember nothing of these entries."""
        for store in self.stores.values():
            store.forget(slots)
        for slot in slots.tolist():
            self._shown.pop(slot, None)

    def texts(self) -> pa.Table:
        """What is only shown, with the keys of the entries, in the order of their arrival."""
        slots = np.array([s for s in self.first.used().tolist() if s in self._shown], np.int64)
        columns: dict[str, Any] = {"key": self.index.arrow_at(slots)}
        for at, name in enumerate(self.shown_only):
            values = [self._shown[slot][at] for slot in slots.tolist()]
            columns["text " + name] = pa.array(
                [each if isinstance(each, str) else None for each in values], pa.string()
            )
            columns["number " + name] = pa.array(
                [each if isinstance(each, float) else None for each in values], pa.float64()
            )
        return pa.table(columns)

    def restore_texts(self, table: pa.Table) -> None:
        """Take over what :meth:`texts` gave."""
        self._shown = {}
        if not table.num_rows:
            return
        slots = self.index.slots_of(table.column("key")).tolist()
        columns = []
        for name in self.shown_only:
            texts = table.column("text " + name).to_pylist()
            numbers = table.column("number " + name).to_pylist()
            columns.append([t if t is not None else n for t, n in zip(texts, numbers, strict=True)])
        self._shown = dict(zip(slots, zip(*columns, strict=True), strict=True))

    def keys_at(self, slots: IntArray) -> KeyArray:
        """The keys of some entries."""
        return self.index.keys_at(slots)


def _latest(slots: IntArray, last_event: IntArray) -> tuple[IntArray, IntArray]:
    """Each entry once, with the latest event of its rows."""
    order = np.lexsort((last_event, slots))
    order = order[slots[order] >= 0]
    entries = slots[order]
    last = np.append(entries[1:] != entries[:-1], True)[: len(entries)]
    return entries[last], last_event[order][last]


def _numbers(got: Fetched, name: str, join: Join) -> FloatArray:
    """The numbers that came for one name."""
    if not got.columns and len(join.remote) == 1:
        return got.values
    found = got.columns.get(name)
    if found is None or found.dtype == object:
        return np.full(len(got.ok), np.nan)
    return np.asarray(found, np.float64)


def _shown(got: Fetched, name: str, rows: IntArray) -> list[Shown]:
    """Texts as they are, numbers without those that are none."""
    found = got.columns.get(name)
    if found is None:
        return [None] * len(rows)
    return [None if each != each else each for each in found[rows].tolist()]
