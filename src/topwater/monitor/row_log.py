"""What changed in a replica, row by row: what was looked up, what was learnt, who was seen.

A row is named by its key's arrival, which no other key ever has: so a monitor whose slots are
numbered otherwise can take it in. Of a row that changed only the columns that did are written:
most rows were merely seen in a window, and most of what that changes is the same for all of them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, IntArray, KeyArray
from topwater.monitor.journal_logs import Content
from topwater.monitor.strand import BUCKETS, Strand
from topwater.replica import Refresher
from topwater.replica.nominations import Nominations
from topwater.tables import pack_arrays, unpack_arrays

_NEW, _IF, _TO, _LEARNT, _LENGTHS = "new ", "if ", "to ", "learnt ", "lengths "
_NONE: IntArray = np.empty(0, np.int64)
Columns: TypeAlias = dict[str, np.ndarray[Any, np.dtype[Any]]]


class RowLog:
    """The rows of a replica, with what was learnt of each.

    Parameters
    ----------
    refresher
        Whose replica it is.
    """

    name = "replica"
    whole = False

    def __init__(self, refresher: Refresher | Nominations) -> None:
        self._refresher = refresher
        self._replica = refresher.replica
        self._arrivals: IntArray = np.empty(0, np.int64)
        self._slots: IntArray = np.empty(0, np.int64)
        self._facts: dict[str, Any] = {}
        self._shadow: Columns = self._now(self._slots)

    def know(self) -> None:
        """Take all rows that are there as told."""
        self._slots = self._replica.used()
        self._arrivals, self._shadow = self._replica.arrival[self._slots], self._now(self._slots)

    def news(self) -> Content | None:
        """Rows that went, that came, and that changed since the last call."""
        slots = self._replica.used()
        arrivals, now = self._replica.arrival[slots], self._now(slots)
        # Both ascend.
        known = np.searchsorted(arrivals, self._arrivals)
        there = np.append(arrivals, -1)[known] == self._arrivals
        known = known[there]
        came = np.ones(len(slots), bool)
        came[known] = False
        differs = {
            name: _bits(now[name][known]) != _bits(old[there]) for name, old in self._shadow.items()
        }
        changed = np.logical_or.reduce([*differs.values()])
        # What is learnt of a key is learnt when it is asked for.
        asked = np.sort(np.concatenate([np.flatnonzero(came), known[differs["asked"]]]))
        rows: Columns = {"gone": self._arrivals[~there], "changed": arrivals[known][changed]}
        for name, moved in differs.items():
            if moved.any():
                rows[_IF + name] = np.packbits(moved[changed])
                rows[_TO + name] = now[name][known][moved]
        gone = len(rows["gone"])
        self._arrivals, self._slots, self._shadow = arrivals, slots, now
        if not gone and not changed.any() and not came.any():
            return None
        return Content(
            pack_arrays({**rows, **self._full(np.flatnonzero(came)), **self._learnt(asked)})
        )

    def oldest(self) -> int | None:
        """Rows do not go with panes."""
        return None

    def image_size(self, strand: Strand) -> int | None:
        """When what changed takes more than half of what there is."""
        return strand.images_due

    def image(self, low: int, high: int) -> Content | None:
        """All rows of these buckets."""
        buckets = self._arrivals % BUCKETS
        rows = np.flatnonzero((buckets >= low) & (buckets < high))
        if not len(rows):
            return None
        return Content(pack_arrays({**self._full(rows), **self._learnt(rows)}))

    def begin(self, *, afresh: bool) -> None:  # noqa: ARG002  a new one has no rows
        """Keep the shared numbers, which forgetting a row changes."""
        self._facts = self._refresher.facts()

    def take(self, packed: bytes, told: BoolArray | None, *, image: bool) -> None:
        """Let rows go, come and change."""
        rows = unpack_arrays(packed)
        told = np.ones(BUCKETS, bool) if told is None else told
        self._forget(self._arrivals if image else rows.get("gone", _NONE), told)
        self._enter(rows, told)
        if not image:
            self._change(rows, told)
        self._learn(rows, told)

    def end(self) -> None:
        """All rows are there."""
        self._refresher.restore_facts(self._facts)
        self._shadow = self._now(self._slots)

    def _now(self, slots: IntArray) -> Columns:
        return {name: getattr(self._replica, name)[slots] for name in self._replica.names}

    def _full(self, at: IntArray) -> Columns:
        """Whole rows, which need not be known to whoever reads it."""
        columns = {_NEW + name: self._shadow[name][at] for name in self._shadow}
        return columns | _of_keys(self._replica.keys(self._slots[at]))

    def _learnt(self, at: IntArray) -> Columns:
        columns = self._refresher.learners.columns(self._slots[at])
        found: dict[str, Any] = {"asked": self._arrivals[at]}
        for name, column in columns.items():
            found[_LEARNT + name] = np.asarray(column.flatten())
            found[_LENGTHS + name] = np.diff(np.asarray(column.offsets)).astype(np.uint16)
        return found

    def _forget(self, arrivals: IntArray, told: BoolArray) -> None:
        gone = np.isin(self._arrivals, arrivals[told[arrivals % BUCKETS]])
        if not gone.any():
            return
        self._replica.forget(self._slots[gone])
        self._refresher.learners.reset(self._slots[gone])
        self._arrivals, self._slots = self._arrivals[~gone], self._slots[~gone]

    def _enter(self, rows: Columns, told: BoolArray) -> None:
        arrivals = rows.get(_NEW + "arrival", _NONE)
        mine = told[arrivals % BUCKETS]
        if not mine.any():
            return
        slots = self._replica.slots(_keys_of(rows)[mine])
        for name in self._shadow:
            getattr(self._replica, name)[slots] = rows[_NEW + name][mine]
        self._arrivals = np.concatenate([self._arrivals, arrivals[mine]])
        self._slots = np.concatenate([self._slots, slots])
        order = np.argsort(self._arrivals)
        self._arrivals, self._slots = self._arrivals[order], self._slots[order]

    def _change(self, rows: Columns, told: BoolArray) -> None:
        changed = rows.get("changed", _NONE)
        for name in self._shadow:
            if _TO + name not in rows:
                continue
            moved = np.unpackbits(rows[_IF + name], count=len(changed)).astype(bool)
            mine = told[changed[moved] % BUCKETS]
            slots = self._slots_of(changed[moved][mine])
            getattr(self._replica, name)[slots] = rows[_TO + name][mine]

    def _learn(self, rows: Columns, told: BoolArray) -> None:
        arrivals = rows.get("asked", _NONE)
        mine = told[arrivals % BUCKETS]
        if not mine.any():
            return
        lists = {name: _lists(rows, name) for name in self._refresher.learners.columns(_NONE)}
        table = pa.table({name: column.filter(pa.array(mine)) for name, column in lists.items()})
        self._refresher.learners.restore(table, self._slots_of(arrivals[mine]))

    def _slots_of(self, arrivals: IntArray) -> IntArray:
        return self._slots[np.searchsorted(self._arrivals, arrivals)]


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
