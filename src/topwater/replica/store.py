"""What is remembered of the remote side: per key its value, when it was fetched, how it changed.

Bounded by size, never by age: an old value that can't change an answer is as good as a new one,
and the policies know how old it is. A key that was never asked for is not remembered at all: it has
a slot on loan while its window is answered.

::

    lend ──► slots of a window's keys ──► put, miss: what was asked for is kept
                                     └──► reclaim: the others go
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.errors import AFRESH, StateError
from topwater.model import BoolArray, FloatArray, IntArray, KeyArray, Millis
from topwater.problems import REASONS
from topwater.tables import column, keys_from_arrow, keys_to_arrow

NEVER: Millis = -(2**62)
"""When something happened that never did."""

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
}
_LATER = ("why",)
"""Columns that states written before they were there do not have."""

_CODES = {reason: code for code, reason in enumerate(REASONS, 1)}
_PRESENCE_WEIGHT = 0.02
_FIXED: int = sum(np.dtype(dtype).itemsize for dtype, _ in _COLUMNS.values()) + 140
"""Bytes a key: its columns, and its places in the index and in the list of keys."""


class Replica:
    """Remote values by key, in columns. A key's *slot* is its row, and stays its own.

    Parameters
    ----------
    limit
        How many keys to remember; None for all. Beyond it, those longest out of the windows go.
    memory
        The same in bytes.

    Attributes
    ----------
    learnt
        Bytes that others keep for each key.
    value
        The value last fetched; NaN before the first, or when the remote side has none.
    fetched, asked, changed, seen, hinted
        When the key was last fetched, asked for (perhaps in vain), found changed, in a window,
        and in an event.
    hints
        In how many windows it had an event after it was fetched.
    vain
        How often in a row it was asked for in vain.
    fetches, changes
        How often it was fetched, and found changed.
    presence, window
        In what share of the windows the key was, as of the last window that held it.
    why
        Why the key has no value; see :meth:`reasons`.

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

    value: FloatArray
    fetched: IntArray
    asked: IntArray
    changed: IntArray
    seen: IntArray
    hinted: IntArray
    hints: IntArray
    vain: IntArray
    fetches: IntArray
    changes: IntArray
    presence: FloatArray
    window: IntArray
    why: IntArray
    _lent: IntArray

    def __init__(self, limit: int | None = None, memory: int | None = None) -> None:
        self.limit = limit
        self.memory = memory
        self.learnt = 0
        self._clear()

    def __len__(self) -> int:
        return len(self._slot)

    @property
    def capacity(self) -> int:
        """How many slots there are, used or free."""
        return len(self.value)

    @property
    def size(self) -> int:
        """About how many bytes all that is remembered takes."""
        return len(self) * (_FIXED + self.learnt) + self._key_bytes

    def slots(self, keys: KeyArray) -> IntArray:
        """The slot of each key; one not met before is kept from now on, without a value."""
        lent = self._lent
        slots = self.lend(keys)
        self.keep(slots)
        self._lent = lent
        return slots

    def lend(self, keys: KeyArray) -> IntArray:
        """The slot of each of some distinct keys; on loan, for those not kept.  O(keys)."""
        slots = self.find(keys)
        new = np.flatnonzero(slots < 0)
        if len(new):
            slots[new] = given = self._take_free(len(new))
            self._keys[given] = keys[new].astype(object)
            self._lent = np.concatenate([self._lent, given])
        return slots

    def keep(self, slots: IntArray) -> None:
        """From now on remember the keys in these slots, which may have been on loan."""
        new = slots[~self._kept[slots]]
        for slot, key in zip(new.tolist(), self._keys[new].tolist(), strict=True):
            self._slot[key] = slot
            self._weight[slot] = sys.getsizeof(key)
        self._kept[new] = True
        self._key_bytes += int(self._weight[new].sum())

    def reclaim(self) -> IntArray:
        """Take back, and tell, the slots that are on loan, with what was noted in them."""
        lent: IntArray = self._lent[~self._kept[self._lent]]
        self._lent = np.empty(0, np.int64)
        self._empty(lent)
        return lent

    def find(self, keys: KeyArray) -> IntArray:
        """The slot of each key; -1 for one that is not kept, which gets none.  O(keys)."""
        if not self._slot:
            return np.full(len(keys), -1, np.int64)
        return np.array([self._slot.get(key, -1) for key in keys.tolist()], np.int64)

    def remembered(self, keys: KeyArray) -> FloatArray:
        """The value last fetched of each key; NaN for one that is not kept."""
        slots = self.find(keys)
        values = np.full(len(keys), np.nan)
        values[slots >= 0] = self.value[slots[slots >= 0]]
        return values

    def used(self) -> IntArray:
        """All slots whose keys are kept, in the order in which they came to be."""
        return np.array(list(self._slot.values()), np.int64)

    def others(self, slots: IntArray) -> IntArray:
        """All used slots but these. By the keys' arrival, which a restart keeps: slots it moves."""
        used = self.used()
        return used[~np.isin(used, slots)]

    def keys(self, slots: IntArray) -> KeyArray:
        """The keys in these slots."""
        keys = self._keys[slots]
        integers = bool(len(keys)) and isinstance(keys[0], int)
        return keys.astype(np.int64) if integers else keys

    def known(self, slots: IntArray) -> BoolArray:
        """Whether each was ever fetched."""
        return np.not_equal(self.fetched[slots], NEVER)

    @property
    def holds_numbers(self) -> bool:
        """Whether the value of any key is known."""
        return bool(np.isfinite(self.value).any())

    def reasons(self, slots: IntArray) -> list[str]:
        """Why each has no value, as far as that was told."""
        return ["" if code == 0 else REASONS[code - 1] for code in self.why[slots].tolist()]

    def put(
        self, slots: IntArray, values: FloatArray, at: Millis, why: KeyArray | None = None
    ) -> BoolArray:
        """Write what was fetched; say which values are new. An unchanged one renews its age.

        ``why`` says of keys without a value why they have none.
        """
        self.keep(slots)
        old = self.value[slots]
        same = (old == values) | (np.isnan(old) & np.isnan(values))
        changed: BoolArray = ~(same & self.known(slots))
        self.value[slots] = values
        self.changes[slots] += changed & self.known(slots)
        self.changed[slots[changed]] = at
        self.fetched[slots] = at
        self.asked[slots] = at
        self.vain[slots] = 0
        self.hints[slots] = 0
        self.fetches[slots] += 1
        self.why[slots] = 0 if why is None else _codes(why)
        return changed

    def miss(self, slots: IntArray, at: Millis, why: KeyArray | None = None) -> None:
        """Note that these keys were asked for, and nothing came. It renews nothing else."""
        self.keep(slots)
        self.asked[slots] = at
        self.vain[slots] += 1
        if why is not None:
            new = ~self.known(slots)
            self.why[slots[new]] = _codes(why[new])

    def hear(self, slots: IntArray, last_event: IntArray) -> None:
        """Note when these keys last had an event, and whether that is news to what is known."""
        news = last_event > np.maximum(self.hinted[slots], self.fetched[slots])
        self.hints[slots] += news
        self.hinted[slots] = last_event

    def present(self, slots: IntArray, window: int, at: Millis) -> None:
        """Note that these keys are in a window."""
        self.presence[slots] = self.presence_at(slots, window - 1) * (1 - _PRESENCE_WEIGHT)
        self.presence[slots] += _PRESENCE_WEIGHT
        self.window[slots] = window
        self.seen[slots] = at

    def presence_at(self, slots: IntArray, window: int) -> FloatArray:
        """In what share of the windows each key was lately, older windows counting less."""
        absent = np.where(self.window[slots] < 0, 0, np.maximum(0, window - self.window[slots]))
        return self.presence[slots] * (1 - _PRESENCE_WEIGHT) ** absent

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
            freed = np.cumsum(self._weight[oldest] + _FIXED + self.learnt)
            wanted = self.size - bytes_kept + bytes_kept // 16
            over = max(over, int(np.searchsorted(freed, wanted)) + 1)
        return oldest[:over]

    def forget(self, slots: IntArray) -> None:
        """Drop what is in these slots; they may be given to other keys."""
        for key in self._keys[slots].tolist():
            del self._slot[key]
        self._key_bytes -= int(self._weight[slots].sum())
        self._kept[slots] = False
        self._lent = self._lent[~np.isin(self._lent, slots)]
        self._empty(slots)

    def snapshot(self) -> pa.Table:
        """All that a restart needs. Slots are numbered anew, in order of the keys' arrival."""
        slots = self.used()
        table = {"key": keys_to_arrow(self.keys(slots))}
        return pa.table(table | {name: getattr(self, name)[slots] for name in _COLUMNS})

    def restore(self, table: pa.Table) -> None:
        """Become, whatever was in it, the replica that wrote ``table``."""
        self._clear()
        try:
            slots = self.slots(keys_from_arrow(table.column("key")))
            for name in _COLUMNS:
                if name in table.column_names or name not in _LATER:
                    getattr(self, name)[slots] = column(table, name)
        except KeyError as error:
            raise StateError(
                f"the replica's state can't be read: {error}",
                fix=f"restore the checkpoint from a copy, or {AFRESH}",
            ) from error

    def _clear(self) -> None:
        self._slot: dict[Any, int] = {}
        self._keys = np.empty(0, object)
        self._kept = np.zeros(0, bool)
        self._weight = np.zeros(0, np.int64)
        self._free = np.empty(0, np.int64)
        self._lent = np.empty(0, np.int64)
        self._key_bytes = 0
        for name, (dtype, empty) in _COLUMNS.items():
            setattr(self, name, np.full(0, empty, dtype))

    def _take_free(self, count: int) -> IntArray:
        if count > len(self._free):
            self._grow(count - len(self._free))
        taken = self._free[len(self._free) - count :][::-1]
        self._free = self._free[: len(self._free) - count]
        return taken

    def _empty(self, slots: IntArray) -> None:
        for name, (_, empty) in _COLUMNS.items():
            getattr(self, name)[slots] = empty
        self._keys[slots] = None
        self._weight[slots] = 0
        self._free = np.concatenate([self._free, slots[::-1]])

    def _grow(self, least: int) -> None:
        size = self.capacity
        more = max(64, size, least)
        for name, (dtype, empty) in _COLUMNS.items():
            setattr(self, name, np.append(getattr(self, name), np.full(more, empty, dtype)))
        self._keys = np.append(self._keys, np.full(more, None))
        self._kept = np.append(self._kept, np.zeros(more, bool))
        self._weight = np.append(self._weight, np.zeros(more, np.int64))
        self._free = np.concatenate([np.arange(size + more - 1, size - 1, -1), self._free])


def _codes(reasons: KeyArray) -> IntArray:
    """Reasons as numbers; 0 for those that are not known."""
    return np.array([_CODES.get(each, 0) for each in reasons.tolist()], np.int64)
