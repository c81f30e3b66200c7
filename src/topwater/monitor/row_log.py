"""What changed in a replica, row by row: what was looked up, what was learnt, who was seen.

A row is named by its key's arrival, which no other key ever has: so a monitor whose slots are
numbered otherwise can take it in. Of a row that changed only the columns that did are written:
most rows were merely seen in a window, and most of what that changes is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, IntArray, KeyArray
from topwater.monitor.journal_logs import Content, Log, WholeLog
from topwater.monitor.strand import BUCKETS, Strand
from topwater.replica import Replica
from topwater.replica.joins.entry_store import EntryStore
from topwater.replica.joins.joined_refresher import JoinedRefresher
from topwater.replica.key_slots import grown
from topwater.tables import pack, pack_arrays, unpack, unpack_arrays

_NEW, _IF, _TO, _LEARNT, _LENGTHS = "new ", "if ", "to ", "learnt ", "lengths "
_NONE: IntArray = np.empty(0, np.int64)
Columns: TypeAlias = dict[str, np.ndarray[Any, np.dtype[Any]]]


class Learnt(Protocol):
    """What was learnt of the rows of a replica."""

    def columns(self, slots: IntArray) -> dict[str, pa.Array]:
        """As columns, of some rows."""

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""

    def reset(self, slots: IntArray) -> None:
        """The slots belong to other keys now."""


class Kept(Protocol):
    """Whose replica a log follows."""

    replica: Replica

    @property
    def learners(self) -> Learnt:
        """What was learnt of it."""

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot."""

    def restore_facts(self, meta: Mapping[str, Any]) -> None:
        """Take over what ``facts`` gave."""


class RowLog:
    """The rows of a replica, with what was learnt of each.

    Complexity: O(rows written since the last call) for what is new, however many there are; a bit
    more if rows came or went.

    Parameters
    ----------
    refresher
        Whose replica it is.
    name
        Of the strand.
    """

    whole = False

    def __init__(self, refresher: Kept, name: str = "replica") -> None:
        self.name = name
        self._refresher = refresher
        self._replica = refresher.replica
        # All rows by their arrivals, which ascend; and what was recorded of each, by row.
        self._arrivals: IntArray = np.empty(0, np.int64)
        self._rows: IntArray = np.empty(0, np.int64)
        self._recorded: Columns = {}
        self._look = 0
        self._facts: dict[str, Any] = {}

    def know(self) -> None:
        """Take all rows that are there as recorded."""
        written = self._written()
        self._move(*self._went_and_came(written))
        self._record(written)

    def news(self) -> Content | None:
        """Rows that went, that came, and that changed since the last call."""
        written = self._written()
        gone, came = self._went_and_came(written)
        kept = self._kept(written)
        arrivals = self._replica.arrival.data[kept]
        now = {name: getattr(self._replica, name).data[kept] for name in self._recorded}
        differs = {
            name: _bits(now[name]) != _bits(old[kept]) for name, old in self._recorded.items()
        }
        changed = np.logical_or.reduce([*differs.values()])
        rows: Columns = {"gone": gone, "changed": arrivals[changed]}
        for name, moved in differs.items():
            if moved.any():
                rows[_IF + name] = np.packbits(moved[changed])
                rows[_TO + name] = now[name][moved]
        self._move(gone, came)
        self._record(written)
        if not len(gone) and not len(came) and not changed.any():
            return None
        # What is learnt of a key is learnt when it is asked for, or said to have changed.
        learnt = differs["asked"] | differs["changes"]
        asked = self._in_order(np.concatenate([came, kept[learnt]]))
        return Content(pack_arrays({**rows, **self._full(came), **self._learnt(asked)}))

    def oldest(self) -> int | None:
        """Rows do not go with panes."""
        return None

    def image_size(self, strand: Strand) -> int | None:
        """When what changed takes more than half of what there is."""
        return strand.images_due

    def image(self, low: int, high: int) -> Content | None:
        """All rows of these buckets."""
        buckets = self._arrivals % BUCKETS
        rows = self._rows[(buckets >= low) & (buckets < high)]
        if not len(rows):
            return None
        return Content(pack_arrays({**self._full(rows), **self._learnt(rows)}))

    def begin(self, *, afresh: bool) -> None:  # noqa: ARG002  a new one has no rows
        """Keep the shared numbers, which forgetting a row changes."""
        self._facts = self._refresher.facts()

    def take(self, packed: bytes, buckets: BoolArray | None, *, image: bool) -> None:
        """Let rows go, come and change."""
        rows = unpack_arrays(packed)
        buckets = np.ones(BUCKETS, bool) if buckets is None else buckets
        self._forget(self._arrivals if image else rows.get("gone", _NONE), buckets)
        self._enter(rows, buckets)
        if not image:
            self._change(rows, buckets)
        self._learn(rows, buckets)

    def end(self) -> None:
        """All rows are there."""
        self._refresher.restore_facts(self._facts)
        self._record(self._written())

    def _written(self) -> IntArray:
        """The rows that were written since this was asked last."""
        written = self._replica.watched.written(self._look)
        self._look = self._replica.watched.look()
        for name in self._replica.names:
            column = getattr(self._replica, name)
            recorded = self._recorded.get(name)
            if recorded is None:
                self._recorded[name] = np.full(len(column.data), column.empty, column.data.dtype)
            elif len(recorded) < len(column.data):
                self._recorded[name] = grown(recorded, len(column.data), column.empty)
        return written

    def _went_and_came(self, written: IntArray) -> tuple[IntArray, IntArray]:
        """The arrivals that are there no more, and the rows of new ones, both in order."""
        before, now = self._recorded["arrival"][written], self._replica.arrival.data[written]
        gone = np.sort(before[(before >= 0) & (before != now)])
        return gone, self._in_order(written[(now >= 0) & (before != now)])

    def _kept(self, written: IntArray) -> IntArray:
        """The rows among these whose key is the one that was recorded, in order."""
        before, now = self._recorded["arrival"][written], self._replica.arrival.data[written]
        return self._in_order(written[(now >= 0) & (before == now)])

    def _in_order(self, rows: IntArray) -> IntArray:
        return rows[np.argsort(self._replica.arrival.data[rows])]

    def _move(self, gone: IntArray, came: IntArray) -> None:
        """Keep the order of arrivals, where all that came are younger than all others."""
        if len(gone):
            at = np.searchsorted(self._arrivals, gone)
            self._arrivals, self._rows = np.delete(self._arrivals, at), np.delete(self._rows, at)
        if len(came):
            arrivals = self._replica.arrival.data[came]
            self._arrivals = np.concatenate([self._arrivals, arrivals])
            self._rows = np.concatenate([self._rows, came])

    def _record(self, rows: IntArray) -> None:
        for name, recorded in self._recorded.items():
            recorded[rows] = getattr(self._replica, name).data[rows]

    def _full(self, rows: IntArray) -> Columns:
        """Whole rows, which the reader need not know."""
        columns = {_NEW + name: recorded[rows] for name, recorded in self._recorded.items()}
        return columns | _of_keys(self._replica.keys(self._slots(rows)))

    def _learnt(self, rows: IntArray) -> Columns:
        columns = self._refresher.learners.columns(self._slots(rows))
        found: dict[str, Any] = {"asked": self._recorded["arrival"][rows]}
        for name, column in columns.items():
            found[_LEARNT + name] = np.asarray(column.flatten())
            found[_LENGTHS + name] = np.diff(np.asarray(column.offsets)).astype(np.uint16)
        return found

    def _forget(self, arrivals: IntArray, buckets: BoolArray) -> None:
        wanted = arrivals[buckets[arrivals % BUCKETS]]
        at = np.searchsorted(self._arrivals, wanted)
        at = at[np.append(self._arrivals, -1)[at] == wanted]
        if not len(at):
            return
        slots = self._slots(self._rows[at])
        self._replica.forget(slots)
        self._refresher.learners.reset(slots)
        self._arrivals, self._rows = np.delete(self._arrivals, at), np.delete(self._rows, at)

    def _enter(self, rows: Columns, buckets: BoolArray) -> None:
        arrivals = rows.get(_NEW + "arrival", _NONE)
        mine = buckets[arrivals % BUCKETS]
        if not mine.any():
            return
        slots = self._replica.slots(_keys_of(rows)[mine])
        for name in self._replica.names:
            getattr(self._replica, name)[slots] = rows[_NEW + name][mine]
        self._arrivals = np.concatenate([self._arrivals, arrivals[mine]])
        self._rows = np.concatenate([self._rows, self._replica.rows(slots)])
        order = np.argsort(self._arrivals, kind="stable")
        self._arrivals, self._rows = self._arrivals[order], self._rows[order]

    def _change(self, rows: Columns, buckets: BoolArray) -> None:
        changed = rows.get("changed", _NONE)
        for name in self._replica.names:
            if _TO + name not in rows:
                continue
            moved = np.unpackbits(rows[_IF + name], count=len(changed)).astype(bool)
            mine = buckets[changed[moved] % BUCKETS]
            at = self._rows_at(changed[moved][mine])
            getattr(self._replica, name).put(at, rows[_TO + name][mine])

    def _learn(self, rows: Columns, buckets: BoolArray) -> None:
        arrivals = rows.get("asked", _NONE)
        mine = buckets[arrivals % BUCKETS]
        if not mine.any():
            return
        lists = {name: _lists(rows, name) for name in self._refresher.learners.columns(_NONE)}
        table = pa.table({name: column.filter(pa.array(mine)) for name, column in lists.items()})
        self._refresher.learners.restore(table, self._slots(self._rows_at(arrivals[mine])))

    def _rows_at(self, arrivals: IntArray) -> IntArray:
        return self._rows[np.searchsorted(self._arrivals, arrivals)]

    def _slots(self, rows: IntArray) -> IntArray:
        return self._replica.watched.slot_of[rows].astype(np.int64)


def join_logs(refresher: JoinedRefresher) -> list[Log]:
    """Of several remote values each by itself; and what is only shown, join by join."""
    logs: list[Log] = []
    for label, store in refresher.labelled():
        logs += [RowLog(each, f"{label} {name}") for name, each in store.stores.items()]
        if store.shown_only:
            logs.append(_shown_log(label, store))
    return logs


def _shown_log(label: str, store: EntryStore) -> WholeLog:
    def restore(packed: bytes) -> None:
        store.restore_texts(unpack(packed)[0])

    return WholeLog(f"{label} shown", lambda: pack(store.texts(), {}, compressed=True), restore)


def _bits(numbers: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """To be compared: one NaN is then as good as another."""
    return numbers.view(np.int64) if numbers.dtype == np.float64 else numbers


def _lists(rows: Columns, name: str) -> pa.Array:
    ends = np.cumsum(rows[_LENGTHS + name], dtype=np.int64)
    numbers = pa.array(rows.get(_LEARNT + name, np.empty(0)))
    return pa.LargeListArray.from_arrays(np.concatenate([[0], ends]), numbers)


def _of_keys(keys: KeyArray) -> Columns:
    """Whole numbers as they are; texts as their bytes and lengths."""
    if keys.dtype == np.int64:
        return {"key": keys}
    texts = [key.encode() for key in keys.tolist()]
    lengths = np.array([len(text) for text in texts], np.uint32)
    return {"lengths": lengths, "texts": np.frombuffer(b"".join(texts), np.uint8)}


def _keys_of(rows: Columns) -> KeyArray:
    if "key" in rows:
        return rows["key"]
    whole = rows["texts"].tobytes() if "texts" in rows else b""
    ends = np.cumsum(rows["lengths"], dtype=np.int64).tolist()
    texts = [whole[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
    return np.array(texts, object)
