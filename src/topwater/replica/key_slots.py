"""Which slot a key has: the one index of all keys that are remembered, or in a window.

Whole numbers are kept as such, and text as bytes in one arena. No Python object is made of a key,
unless it is shown.

::

    slots_of(keys, add=True) ──► hold: one use more ──► release: the last use gone, so is the key
"""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topwater.model import IntArray, KeyArray
from topwater.replica.key_tables import FREE, Arena, Hashes, Int32s, Places, Texts
from topwater.tables import keys_from_arrow

Keys: TypeAlias = KeyArray | pa.Array | pa.ChunkedArray
"""As an array, or as Arrow data: int64 or text."""

S = TypeVar("S", bound=np.generic)

_LEAST = 16
_DIGITS = 20
_FEWEST_BYTES = 256


@functools.cache
def _kernels() -> ModuleType:
    """The compiled loops, loaded with the first key: the compiler takes half a second to load."""
    from topwater.replica import key_kernels

    return key_kernels


class KeySlots:
    """Slots of keys, by open addressing.

    A key has the lowest slot that was free when it came, and keeps it until nobody uses it any
    more. So slots are a function of what came and what went, while the hash is another one in each
    process: nobody can prepare keys that collide.

    Complexity: O(1) a key for each method. Beside the keys themselves, 16 bytes a slot, and 12 more
    for text.

    Examples
    --------
    >>> index = KeySlots()
    >>> slots = index.slots_of(pa.array(["ann", "bob", "ann"]), add=True)
    >>> slots.tolist(), index.keys_at(slots).tolist()
    ([0, 1, 0], ['ann', 'bob', 'ann'])
    >>> index.hold(slots)
    >>> index.release(slots[:2]).tolist()
    [1]
    >>> index.slots_of(np.array(["bob", "ann"], object)).tolist(), len(index)
    ([-1, 0], 1)
    """

    def __init__(self) -> None:
        self._seed = np.uint64(int.from_bytes(os.urandom(8), "little"))
        self._uses = np.full(_LEAST, FREE, np.int32)
        self._hashes = np.empty(_LEAST, np.uint32)
        self._table = np.zeros(2 * _LEAST, np.int32)
        self._lowest = 0
        self._count = 0
        self._store: _Store | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def capacity(self) -> int:
        """How many slots there are, used or free."""
        return len(self._uses)

    @property
    def uses(self) -> Int32s:
        """How often each slot is held; -1 where it is free. To be read only."""
        return self._uses

    def slots_of(self, keys: Keys, *, add: bool = False) -> IntArray:
        """The slot of each key. One that has none gets one, or else -1."""
        found = np.full(len(keys), -1, np.int64)
        if len(keys):
            self._each(keys, found, add=add)
        return found

    def fitting(self, keys: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Keys as those in the table are, text or whole numbers; null where one can't be.

        Examples
        --------
        >>> index = KeySlots()
        >>> index.slots_of(np.array([7]), add=True).tolist()
        [0]
        >>> index.fitting(pa.array(["7", "07", "tea"])).to_pylist()
        [7, None, None]
        """
        keys = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
        return fitting(keys, keys.type if self._store is None else self._store.kind)

    def keys_at(self, slots: IntArray) -> KeyArray:
        """The keys in these slots."""
        return keys_from_arrow(self.arrow_at(slots))

    def arrow_at(self, slots: IntArray) -> pa.Array:
        """The same as Arrow data."""
        return pa.array([], pa.int64()) if self._store is None else self._store.at(slots)

    def bytes_at(self, slots: IntArray) -> IntArray:
        """How many bytes the key in each slot takes."""
        return np.zeros(len(slots), np.int64) if self._store is None else self._store.sizes(slots)

    def hold(self, slots: IntArray) -> None:
        """Count one use more of each of these slots."""
        _kernels().hold(slots, self._uses)

    def release(self, slots: IntArray) -> IntArray:
        """Count one use less of each; those that nobody uses become free, and are given back."""
        freed = np.empty(len(slots), np.int64)
        freed = freed[: _kernels().release(slots, self._places, freed)]
        if len(freed):
            self._lowest = min(self._lowest, int(freed.min()))
            self._count -= len(freed)
            if self._store is not None:
                self._store.drop(freed, self._uses)
        return freed

    def check(self) -> None:
        """Verify that what is in the table is what is used, and each key is found."""
        used = np.flatnonzero(self._uses != FREE)
        holds = {
            "count": len(used) == self._count,
            "table": np.array_equal(np.sort(self._table[self._table > 0]) - 1, used),
            "lowest free slot": not (self._uses[: self._lowest] == FREE).any(),
            "search": np.array_equal(self.slots_of(self.arrow_at(used)), used),
        }
        broken = [what for what, right in holds.items() if not right]
        if broken:
            raise AssertionError(f"wrong in the index of keys: {', '.join(broken)}")

    @property
    def _places(self) -> Places:
        return Places(self._table, self._hashes, self._uses)

    def _each(self, keys: Keys, found: IntArray, *, add: bool) -> None:
        chunks = _chunks(keys)
        kind = _WholeKeys if pa.types.is_integer(chunks[0].type) else _TextKeys
        if self._store is None:
            if not add:
                return
            self._store = kind(self.capacity)
        elif not isinstance(self._store, kind):
            raise TypeError(f"keys are {self._store.what}, not {chunks[0].type}")
        end = 0
        for chunk in chunks:
            here = found[end : end + len(chunk)]
            end += len(chunk)
            hashed = self._store.hashes(chunk, self._seed)
            if add:
                self._add(self._store, chunk, hashed, here)
            else:
                self._store.find(chunk, hashed, self._places, here)

    def _add(self, store: _Store, keys: pa.Array, hashed: Hashes, found: IntArray) -> None:
        done = 0
        while True:
            done, self._lowest = store.add(keys, hashed, done, self._places, self._lowest, found)
            if done == len(keys):
                break
            if self._lowest >= self.capacity:
                self._reserve(self.capacity + 1)
        self._count = int(np.count_nonzero(self._uses != FREE))

    def _reserve(self, least: int) -> None:
        """Make room for at least this many slots."""
        size = self.capacity
        while size < least:
            size *= 2
        if size == self.capacity:
            return
        self._uses = grown(self._uses, size, FREE)
        self._hashes = grown(self._hashes, size)
        self._table = np.zeros(2 * size, np.int32)
        _kernels().enter_all(self._places)
        if self._store is not None:
            self._store.reserve(size)


def fitting(keys: pa.Array, kind: pa.DataType) -> pa.Array:
    """Keys as text or as whole numbers; null where one can't be."""
    if pa.types.is_null(keys.type) or kind == pa.large_string():
        return keys.cast(kind)
    if pa.types.is_integer(keys.type):
        return keys
    return pa.array([_whole_or_none(each) for each in keys.to_pylist()], pa.int64())


def _whole_or_none(text: str | None) -> int | None:
    """The number that a text is, if it is written as such are."""
    if text is None or len(text) > _DIGITS or not text.removeprefix("-").isdecimal():
        return None
    number = int(text) if text.isascii() else 0
    return number if str(number) == text and -(2**63) <= number < 2**63 else None


class _Store(Protocol):
    """The keys themselves, by slot."""

    what: str
    kind: pa.DataType

    def __init__(self, size: int) -> None:
        """The same with this many slots."""

    def hashes(self, keys: pa.Array, seed: np.uint64) -> Hashes:
        """The hash of each key."""

    def find(self, keys: pa.Array, hashed: Hashes, places: Places, found: IntArray) -> None:
        """The slot of each key, or -1."""

    def add(
        self,
        keys: pa.Array,
        hashed: Hashes,
        begin: int,
        places: Places,
        lowest: int,
        found: IntArray,
    ) -> tuple[int, int]:
        """The slot of each key from ``begin`` on; how many are done, and the lowest free slot."""

    def at(self, slots: IntArray) -> pa.Array:
        """The keys in these slots."""

    def sizes(self, slots: IntArray) -> IntArray:
        """Their bytes."""

    def drop(self, slots: IntArray, uses: Int32s) -> None:
        """The keys in these slots are gone."""

    def reserve(self, size: int) -> None:
        """Make room for this many slots."""


class _WholeKeys:
    what = "whole numbers"
    kind = pa.int64()

    def __init__(self, size: int) -> None:
        self._kept = np.empty(size, np.int64)

    def hashes(self, keys: pa.Array, seed: np.uint64) -> Hashes:
        hashed = np.empty(len(keys), np.uint32)
        _kernels().hash_whole(_whole(keys), seed, hashed)
        return hashed

    def find(self, keys: pa.Array, hashed: Hashes, places: Places, found: IntArray) -> None:
        _kernels().find_whole(_whole(keys), hashed, places, self._kept, found)

    def add(
        self,
        keys: pa.Array,
        hashed: Hashes,
        begin: int,
        places: Places,
        lowest: int,
        found: IntArray,
    ) -> tuple[int, int]:
        state = np.array([lowest, 0, 0])
        done = _kernels().add_whole(_whole(keys), hashed, begin, places, self._kept, state, found)
        return done, int(state[0])

    def at(self, slots: IntArray) -> pa.Array:
        return pa.array(self._kept[slots])

    def sizes(self, slots: IntArray) -> IntArray:
        return np.full(len(slots), 8)

    def drop(self, slots: IntArray, uses: Int32s) -> None:
        """Nothing to clear: the next key overwrites it."""

    def reserve(self, size: int) -> None:
        self._kept = grown(self._kept, size)


class _TextKeys:
    what = "text"
    kind = pa.large_string()

    def __init__(self, size: int) -> None:
        self._arena = Arena(
            np.empty(_FEWEST_BYTES, np.uint8), np.empty(size, np.int64), np.empty(size, np.int32)
        )
        self._end = 0
        self._dead = 0

    def hashes(self, keys: pa.Array, seed: np.uint64) -> Hashes:
        hashed = np.empty(len(keys), np.uint32)
        _kernels().hash_texts(_texts(keys), seed, hashed)
        return hashed

    def find(self, keys: pa.Array, hashed: Hashes, places: Places, found: IntArray) -> None:
        _kernels().find_text(_texts(keys), hashed, places, self._arena, found)

    def add(
        self,
        keys: pa.Array,
        hashed: Hashes,
        begin: int,
        places: Places,
        lowest: int,
        found: IntArray,
    ) -> tuple[int, int]:
        texts = _texts(keys)
        state = np.array([lowest, self._end, 0])
        done = _kernels().add_text(texts, hashed, begin, places, self._arena, state, found)
        lowest, self._end, _ = state.tolist()
        if done < len(found):
            wanted = self._end + int(texts.offsets[done + 1] - texts.offsets[done])
            self._make_room(wanted)
        return done, lowest

    def at(self, slots: IntArray) -> pa.Array:
        offsets = np.zeros(len(slots) + 1, np.int64)
        np.cumsum(self._arena.length[slots], out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        _kernels().copy_texts(slots, self._arena, offsets, data)
        buffers = [pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.LargeStringArray.from_buffers(len(slots), *buffers)

    def sizes(self, slots: IntArray) -> IntArray:
        return self._arena.length[slots].astype(np.int64) + 12

    def drop(self, slots: IntArray, uses: Int32s) -> None:
        self._dead += int(self._arena.length[slots].sum())
        if self._dead > max(_FEWEST_BYTES, self._end // 2):
            self._compact(np.flatnonzero(uses != FREE))

    def reserve(self, size: int) -> None:
        data, start, length = self._arena
        self._arena = Arena(data, grown(start, size), grown(length, size))

    def _make_room(self, wanted: int) -> None:
        data, start, length = self._arena
        if wanted > len(data):
            self._arena = Arena(grown(data, max(wanted, 2 * len(data))), start, length)

    def _compact(self, used: IntArray) -> None:
        _, start, length = self._arena
        offsets = np.zeros(len(used) + 1, np.int64)
        np.cumsum(length[used], out=offsets[1:])
        data = np.empty(max(_FEWEST_BYTES, int(offsets[-1]) * 3 // 2), np.uint8)
        _kernels().copy_texts(used, self._arena, offsets, data)
        start[used] = offsets[:-1]
        self._arena = Arena(data, start, length)
        self._end, self._dead = int(offsets[-1]), 0


def grown(column: npt.NDArray[S], size: int, empty: float | None = None) -> npt.NDArray[S]:
    """A longer column, filled up with ``empty`` or with anything."""
    more = np.empty((size, *column.shape[1:]), column.dtype)
    more[: len(column)] = column
    if empty is not None:
        more[len(column) :] = empty
    return more


def _chunks(keys: Keys) -> list[pa.Array]:
    """Keys as Arrow data: int64, or text with long offsets."""
    if isinstance(keys, np.ndarray):
        kind = pa.int64() if keys.dtype.kind in "iu" else pa.large_string()
        return [pa.array(keys, kind)]
    kind = pa.int64() if pa.types.is_integer(keys.type) else pa.large_string()
    keys = keys.cast(kind)
    return list(keys.chunks) if isinstance(keys, pa.ChunkedArray) else [keys]


def _whole(keys: pa.Array) -> IntArray:
    return np.asarray(keys)


def _texts(keys: pa.Array) -> Texts:
    _, offsets, data = keys.buffers()
    ends = np.frombuffer(offsets, np.int64)[keys.offset : keys.offset + len(keys) + 1]
    return Texts(np.frombuffer(b"" if data is None else data, np.uint8), ends)
