"""What is remembered of the remote side: per key its value, when it was fetched, how it changed.

Bounded by size, never by age: an old value that can't change an answer is as good as a new one,
and the policies know how old it is. A key that was never asked for is not remembered at all: it has
a slot as long as a window holds it, and no row.

::

    slots of a window's keys ──► enter, put, miss: what was asked for is kept, with a row
                            └──► the others have what row 0 says, and go with their windows
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topwater.errors import AFRESH, StateError
from topwater.model import BoolArray, FloatArray, IntArray, KeyArray, Millis
from topwater.problems import REASONS
from topwater.replica.key_slots import Keys, KeySlots
from topwater.replica.slot_columns import SlotColumn, WatchedRows
from topwater.tables import column

NEVER: Millis = -(2**62)
"""When something happened that never did."""

TOLD = 2**40
"""How many hints a key has that a notice marked as changed."""

_COLUMNS: dict[str, tuple[Any, Any]] = {
    "value": (np.float64, np.nan),
    "fetched": (np.int64, NEVER),
    "asked": (np.int64, NEVER),
    "changed": (np.int64, NEVER),
    "seen": (np.int64, NEVER),
    "hinted": (np.int64, NEVER),
    "hints": (np.int64, 0),
    "vain": (np.int64, 0),
    "fetches": (np.int64, 0),
    "changes": (np.int64, 0),
    "presence": (np.float64, 0.08),
    "window": (np.int64, -1),
    "why": (np.int8, 0),
    "arrival": (np.int64, -1),
}

_CODES = {reason: code for code, reason in enumerate(REASONS, 1)}
_PRESENCE_WEIGHT = 0.02
_FIRST_PRESENCE = 0.08 * (1 - _PRESENCE_WEIGHT) + _PRESENCE_WEIGHT
"""Of a key in its first window."""
_FIXED: int = sum(np.dtype(dtype).itemsize for dtype, _ in _COLUMNS.values()) + 48
"""Bytes a key: its columns, and its places in the index."""


class Replica:
    """Remote values by key, in columns. A key's *slot* stays its own, over restarts too.

    Parameters
    ----------
    limit
        How many keys to remember; None for all. Beyond it, those longest out of the windows go.
    memory
        The same in bytes.

    Attributes
    ----------
    index
        Which slots keys have. Those who keep something of keys in their windows share it.
    learnt
        Bytes that others keep for each key.
    told
        Whether there may be keys of which it was told that their values are others by now.
    value
        The value last fetched; NaN before the first, or when the remote side has none.
    fetched, asked, changed, seen, hinted
        When the key was last fetched, asked for (perhaps in vain), found changed, in a window,
        and in an event.
    hints
        In how many windows it had an event after it was fetched; and :data:`TOLD` more if a notice
        said that its value is another by now.
    vain
        How often in a row it was asked for in vain.
    fetches, changes
        How often it was fetched, and found changed.
    presence, window
        In what share of the windows the key was, as of the last window that held it.
    why
        Why the key has no value; see :meth:`reasons`.
    watched
        The rows of all columns, which know when they were written.
    arrival, arrivals
        Its number among all keys that ever came to be remembered, and how many came so far.
    names
        Of all these columns.

    Examples
    --------
    >>> replica = Replica()
    >>> slots = replica.lend(np.array([7, 8, 9]))
    >>> replica.put(slots[:2], np.array([1.5, 2.5]), at=1_000).tolist()
    [True, True]
    >>> replica.put(slots[:1], np.array([1.5]), at=2_000).tolist()
    [False]
    >>> replica.value[slots].tolist(), replica.fetched[slots[:2]].tolist()
    ([1.5, 2.5, nan], [2000, 1000])
    >>> len(replica.reclaim()), len(replica)
    (1, 2)
    """

    value: SlotColumn
    fetched: SlotColumn
    asked: SlotColumn
    changed: SlotColumn
    seen: SlotColumn
    hinted: SlotColumn
    hints: SlotColumn
    vain: SlotColumn
    fetches: SlotColumn
    changes: SlotColumn
    presence: SlotColumn
    window: SlotColumn
    why: SlotColumn
    arrival: SlotColumn
    arrivals: int
    _lent: IntArray

    names = tuple(_COLUMNS)

    def __init__(self, limit: int | None = None, memory: int | None = None) -> None:
        self.limit = limit
        self.memory = memory
        self.learnt = 0
        self.told = False
        self.index = KeySlots()
        self.watched = WatchedRows()
        self._lent = np.empty(0, np.int64)
        self.arrivals = 0
        self._key_bytes = 0
        for name, (dtype, empty) in _COLUMNS.items():
            setattr(self, name, SlotColumn(self.watched, dtype, empty))
        self.presence.data[0] = _FIRST_PRESENCE

    def __len__(self) -> int:
        return len(self.watched)

    @property
    def capacity(self) -> int:
        """How many slots there are, used or free."""
        return self.index.capacity

    @property
    def size(self) -> int:
        """About how many bytes all that is remembered takes."""
        return len(self) * (_FIXED + self.learnt) + self._key_bytes

    def slots(self, keys: KeyArray) -> IntArray:
        """The slot of each key; one not met before is kept from now on, without a value."""
        slots = self.index.slots_of(keys, add=True)
        self.keep(slots)
        return slots

    def lend(self, keys: Keys) -> IntArray:
        """The slot of each of some distinct keys; on loan, for those not kept.  O(keys)."""
        slots = self.index.slots_of(keys, add=True)
        self.index.hold(slots)
        self._lent = np.concatenate([self._lent, slots])
        return slots

    def reclaim(self) -> IntArray:
        """Take back the slots that are on loan; give those that are not kept."""
        lent, self._lent = self._lent, np.empty(0, np.int64)
        self.index.release(lent)
        return lent[~self.kept(lent)]

    def keep(self, slots: IntArray) -> None:
        """From now on remember the keys in these slots."""
        new = slots[~self.kept(slots)]
        if not len(new):
            return
        self.index.hold(new)
        rows = self.watched.enter(new)
        for name in _COLUMNS:
            getattr(self, name).reserve(self.watched.size)
        self.arrival.put(rows, np.arange(self.arrivals, self.arrivals + len(new)))
        self.arrivals += len(new)
        self._key_bytes += int(self.index.bytes_at(new).sum())

    def enter(self, slots: IntArray, window: int, at: Millis, last_event: IntArray) -> None:
        """Remember keys of a window as if they had been remembered when it closed."""
        new = ~self.kept(slots)
        self.keep(slots[new])
        self.present(slots[new], window, at)
        self.hear(slots[new], last_event[new])

    def kept(self, slots: IntArray) -> BoolArray:
        """Which of the keys in these slots are remembered.  O(slots)."""
        return np.not_equal(self.watched.of(slots), 0)

    def find(self, keys: KeyArray) -> IntArray:
        """The slot of each key; -1 for one that is not kept, which gets none.  O(keys)."""
        slots = self.index.slots_of(keys)
        slots[slots >= 0] = np.where(self.kept(slots[slots >= 0]), slots[slots >= 0], -1)
        return slots

    def remembered(self, keys: KeyArray) -> FloatArray:
        """The value last fetched of each key; NaN for one that is not kept."""
        slots = self.find(keys)
        values = np.full(len(keys), np.nan)
        values[slots >= 0] = self.value[slots[slots >= 0]]
        return values

    def used(self) -> IntArray:
        """All slots whose keys are kept, in the order in which they came to be."""
        slots = self.watched.slots()
        return slots[np.argsort(self.arrival[slots])]

    def others(self, slots: IntArray) -> IntArray:
        """All used slots but these, by the keys' arrival."""
        used = self.used()
        return used[~np.isin(used, slots)]

    def keys(self, slots: IntArray) -> KeyArray:
        """The keys in these slots."""
        return self.index.keys_at(slots)

    def numbers(self) -> FloatArray:
        """All values that are known, in no order."""
        value = self.value.data
        return np.asarray(value[np.isfinite(value)])

    @property
    def edition(self) -> tuple[int, int]:
        """Others whenever a value, or when it was fetched, may be another one."""
        return self.value.writes, self.fetched.writes

    def rows(self, slots: IntArray) -> npt.NDArray[np.int32]:
        """Where the columns hold what is known of each slot; 0 for nothing."""
        return self.watched.of(slots)

    def known(self, slots: IntArray) -> BoolArray:
        """Whether each was ever fetched."""
        return np.asarray(np.not_equal(self.fetched[slots], NEVER))

    @property
    def holds_numbers(self) -> bool:
        """Whether the value of any key is known."""
        return bool(np.isfinite(self.value.data).any())

    def read_at(self, slots: IntArray, at: Millis) -> BoolArray:
        """Which values are known to be those of a time."""
        read = np.equal(self.fetched[slots], at)
        return np.asarray(read & (self.hints[slots] < TOLD) if self.told else read)

    def reasons(self, slots: IntArray) -> list[str]:
        """Why each has no value, as far as that is known."""
        return ["" if code == 0 else REASONS[code - 1] for code in self.why[slots].tolist()]

    def put(
        self, slots: IntArray, values: FloatArray, at: Millis, why: KeyArray | None = None
    ) -> BoolArray:
        """Write what was fetched; say which values are new. An unchanged one renews its age.

        ``why`` says of keys without a value why they have none.
        """
        changed = self._write(slots, values, at)
        rows = self.watched.of(slots)
        self.fetches.put(rows, self.fetches.data[rows] + 1)
        self.why.put(rows, 0 if why is None else _codes(why))
        return changed

    def put_pushed(self, slots: IntArray, values: FloatArray, at: IntArray) -> BoolArray:
        """Write what is known without a look-up, each as of a time; say which values are new."""
        changed = self._write(slots, values, at)
        lacking = np.where(np.isnan(values), "not_found", "").astype(object)
        self.why.put(self.watched.of(slots), _codes(lacking))
        return changed

    def _write(self, slots: IntArray, values: FloatArray, at: Millis | IntArray) -> BoolArray:
        self.keep(slots)
        rows = self.watched.of(slots)
        old, known = self.value.data[rows], self.fetched.data[rows] != NEVER
        same = (old == values) | (np.isnan(old) & np.isnan(values))
        changed: BoolArray = ~(same & known)
        self.value.put(rows, values)
        self.changes.put(rows, self.changes.data[rows] + (changed & known))
        self.changed.put(rows[changed], at[changed] if isinstance(at, np.ndarray) else at)
        self.fetched.put(rows, at)
        self.asked.put(rows, at)
        self.vain.put(rows, 0)
        self.hints.put(rows, 0)
        return changed

    def mark(self, slots: IntArray) -> None:
        """Note that the values of these keys, if they are known, have changed."""
        slots = slots[self.known(slots)]
        self.hints[slots] = TOLD

    def confirm(self, slots: IntArray, at: Millis) -> None:
        """Note that these keys, which are known, have the same values as before."""
        self.fetched[slots] = at
        self.hints[slots] = 0

    def miss(self, slots: IntArray, at: Millis, why: KeyArray | None = None) -> None:
        """Note that these keys were asked for, and nothing came. It renews nothing else."""
        self.keep(slots)
        self.asked[slots] = at
        self.vain[slots] += 1
        if why is not None:
            new = ~self.known(slots)
            self.why[slots[new]] = _codes(why[new])

    def hear(self, slots: IntArray, last_event: IntArray) -> None:
        """Note when keys that are kept last had an event, and whether that is news."""
        rows = self.watched.of(slots)
        kept = np.flatnonzero(rows)
        rows, last_event = rows[kept], last_event[kept]
        news = last_event > np.maximum(self.hinted.data[rows], self.fetched.data[rows])
        self.hints.put(rows, self.hints.data[rows] + news)
        self.hinted.put(rows, last_event)

    def present(self, slots: IntArray, window: int, at: Millis) -> None:
        """Note that keys are in a window; of those that are not kept, nothing."""
        rows = self.watched.of(slots)
        rows = rows[np.flatnonzero(rows)]
        presence = self._presence_in(rows, window - 1) * (1 - _PRESENCE_WEIGHT)
        self.presence.put(rows, presence + _PRESENCE_WEIGHT)
        self.window.put(rows, window)
        self.seen.put(rows, at)

    def presence_at(self, slots: IntArray, window: int) -> FloatArray:
        """In what share of the windows each key was lately, older windows counting less.

        For one that is not kept, as if it were in this window, and in no other.
        """
        return self._presence_in(self.watched.of(slots), window)

    def _presence_in(self, rows: npt.NDArray[np.int32], window: int) -> FloatArray:
        last, presence = self.window.data[rows], self.presence.data[rows]
        absent = np.where(last < 0, 0, np.maximum(0, window - last))
        if not absent.any():
            return np.asarray(presence)
        return np.asarray(presence * (1 - _PRESENCE_WEIGHT) ** absent)

    def surplus(self, keep: IntArray, memory: int | None = None) -> IntArray:
        """The slots beyond the limits: those longest out of the windows, none of ``keep``.

        ``memory`` is a limit for now, where it is less than its own. Of bytes a sixteenth more goes
        than has to, so that not every window pays for the sorting.
        """
        bytes_kept = min((each for each in (memory, self.memory) if each is not None), default=None)
        over = 0 if self.limit is None else len(self) - self.limit
        heavy = bytes_kept is not None and self.size > bytes_kept
        if over <= 0 and not heavy:
            return np.empty(0, np.int64)
        used = self.others(keep)
        # Within a window, by when they were fetched.
        oldest = used[np.lexsort((self.fetched[used], self.seen[used]))]
        if heavy and bytes_kept is not None:
            freed = np.cumsum(self.index.bytes_at(oldest) + _FIXED + self.learnt)
            wanted = self.size - bytes_kept + bytes_kept // 16
            over = max(over, int(np.searchsorted(freed, wanted)) + 1)
        return oldest[:over]

    def forget(self, slots: IntArray) -> None:
        """Drop what is remembered in these slots; a key in no window loses its slot too."""
        rows = self.watched.leave(slots)
        for name, (_, empty) in _COLUMNS.items():
            getattr(self, name).put(rows, empty)
        self._key_bytes -= int(self.index.bytes_at(slots).sum())
        self.index.release(slots)

    def snapshot(self) -> pa.Table:
        """All that a restart needs, in order of the keys' arrival.

        Slots are numbered anew: they depend on how the stream was cut into batches, as this table
        does not.
        """
        slots = self.used()
        columns = {name: getattr(self, name)[slots] for name in _COLUMNS}
        return pa.table({"key": self.index.arrow_at(slots), **columns})

    def restore(self, table: pa.Table) -> None:
        """Become, whatever was in it, the replica that wrote ``table``.

        Keys in windows keep their slots.
        """
        _require(table, "key", *_COLUMNS)
        self.forget(self.used())
        slots = self.index.slots_of(table.column("key"), add=True)
        self.keep(slots)
        for name in _COLUMNS:
            getattr(self, name)[slots] = column(table, name)
        self.arrivals = int(self.arrival[slots].max(initial=-1)) + 1


def _require(table: pa.Table, *names: str) -> None:
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise StateError(
            f"the replica's state can't be read: it has no column {missing[0]}",
            fix=f"restore the checkpoint from a copy, or {AFRESH}",
        )


def _codes(reasons: KeyArray) -> IntArray:
    """Reasons as numbers; 0 for those that are not known."""
    told = reasons.tolist()
    if not any(told):
        return np.zeros(len(told), np.int64)
    return np.array([_CODES.get(each, 0) for each in told], np.int64)
