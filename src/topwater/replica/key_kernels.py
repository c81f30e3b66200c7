"""The inner loops of the index from keys to slots, compiled.

An open-addressed table of slots: a key's search begins at its hash and goes on, place by place,
until the key or a free place is found. At most half of the places are taken. What leaves does
not leave a mark: those after it move up, so searches stay short however many keys come and go.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from topwater.model import IntArray
from topwater.replica.key_tables import FREE, Arena, Bytes, Hashes, Int32s, Places, Texts

_ONE = np.uint64(0x9E3779B97F4A7C15)
_TWO = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)
_HALF = np.uint64(32)
_BYTE = np.uint64(8)

_BLOCK = 256
"""So many places are touched together, before the first key is searched.

A search waits for the memory, and the next one begins only when it is known how it ends. Touched
before, the places come all at the same time.
"""

_compiled = njit(cache=True, nogil=True)


@_compiled
def _stirred(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> _HALF)) * _ONE
    word = (word ^ (word >> _SHIFT)) * _TWO
    return word ^ (word >> _HALF)


@_compiled
def _hash_whole(key: int, seed: np.uint64) -> np.uint32:
    return np.uint32(_stirred(np.uint64(key) ^ seed))


@_compiled
def _hash_text(data: Bytes, start: int, end: int, seed: np.uint64) -> np.uint32:
    """Eight bytes at a time, each time stirred: no text can be made to collide unknowingly."""
    found = _stirred(seed + np.uint64(end - start))
    at = start
    while at + 8 <= end:
        word = np.uint64(data[at])
        for i in range(1, 8):
            word |= np.uint64(data[at + i]) << (_BYTE * np.uint64(i))
        found = _stirred(found ^ word)
        at += 8
    word = np.uint64(0)
    while at < end:
        word = (word << _BYTE) | np.uint64(data[at])
        at += 1
    return np.uint32(_stirred(found ^ word))


@_compiled
def _is_text(texts: Texts, at: int, arena: Arena, slot: int) -> bool:
    begin, there = texts.offsets[at], arena.start[slot]
    length = texts.offsets[at + 1] - begin
    if arena.length[slot] != length:
        return False
    at = 0
    while at < length and texts.data[begin + at] == arena.data[there + at]:
        at += 1
    return bool(at == length)


@_compiled
def hash_whole(keys: IntArray, seed: np.uint64, hashed: Hashes) -> None:
    """The hash of each key."""
    for i in range(len(keys)):
        hashed[i] = _hash_whole(keys[i], seed)


@_compiled
def hash_texts(texts: Texts, seed: np.uint64, hashed: Hashes) -> None:
    """The hash of each text."""
    for i in range(len(hashed)):
        hashed[i] = _hash_text(texts.data, texts.offsets[i], texts.offsets[i + 1], seed)


@_compiled
def _touch(hashed: Hashes, begin: int, places: Places, first: Int32s) -> int:
    """Have at hand where the searches of a block begin; how many that are.

    ``first`` is the slot that is met there, or 0.
    """
    count = min(_BLOCK, len(hashed) - begin)
    mask = np.uint32(len(places.table) - 1)
    for i in range(count):
        first[i] = max(places.table[hashed[begin + i] & mask] - 1, 0)
    return count


@_compiled
def _touch_keys(kept: IntArray, first: Int32s, count: int) -> int:
    total = 0
    for i in range(count):
        total ^= kept[first[i]]
    return total


@_compiled
def _touch_texts(places: Places, arena: Arena, first: Int32s, count: int) -> int:
    total = 0
    for i in range(count):
        slot = first[i]
        total ^= places.hashes[slot] ^ arena.length[slot] ^ arena.start[slot]
    for i in range(count):
        # A slot that was never used has any start.
        total ^= arena.data[arena.start[first[i]] % len(arena.data)]
    return total


@_compiled
def find_whole(
    keys: IntArray, hashed: Hashes, places: Places, kept: IntArray, found: IntArray
) -> int:
    """The slot of each key; -1 for one that has none."""
    table, total = places.table, 0
    mask = np.uint32(len(table) - 1)
    first = np.empty(_BLOCK, np.int32)
    for i in range(len(keys)):
        if i % _BLOCK == 0:
            total ^= _touch_keys(kept, first, _touch(hashed, i, places, first))
        at = hashed[i] & mask
        slot = table[at] - 1
        while slot >= 0 and kept[slot] != keys[i]:
            at = (at + np.uint32(1)) & mask
            slot = table[at] - 1
        found[i] = slot
    return total


@_compiled
def find_text(texts: Texts, hashed: Hashes, places: Places, arena: Arena, found: IntArray) -> int:
    """The slot of each text; -1 for one that has none."""
    table, total = places.table, 0
    mask = np.uint32(len(table) - 1)
    first = np.empty(_BLOCK, np.int32)
    for i in range(len(found)):
        if i % _BLOCK == 0:
            total ^= _touch_texts(places, arena, first, _touch(hashed, i, places, first))
        at = hashed[i] & mask
        slot = table[at] - 1
        while slot >= 0 and not (
            places.hashes[slot] == hashed[i] and _is_text(texts, i, arena, slot)
        ):
            at = (at + np.uint32(1)) & mask
            slot = table[at] - 1
        found[i] = slot
    return total


@_compiled
def _lowest_free(uses: Int32s, at: int) -> int:
    while at < len(uses) and uses[at] != FREE:
        at += 1
    return at


@_compiled
def add_whole(
    keys: IntArray,
    hashed: Hashes,
    begin: int,
    places: Places,
    kept: IntArray,
    state: IntArray,
    found: IntArray,
) -> int:
    """The slot of each key from ``begin`` on; new keys get the lowest free ones.

    ``state`` holds below which slot none is free. Stops at a key for which no slot is left. Gives
    how many keys are done.
    """
    table, hashes, uses = places
    mask = np.uint32(len(table) - 1)
    first = np.empty(_BLOCK, np.int32)
    for i in range(begin, len(keys)):
        if (i - begin) % _BLOCK == 0:
            state[2] ^= _touch_keys(kept, first, _touch(hashed, i, places, first))
        at = hashed[i] & mask
        slot = table[at] - 1
        while slot >= 0 and kept[slot] != keys[i]:
            at = (at + np.uint32(1)) & mask
            slot = table[at] - 1
        if slot < 0:
            slot = state[0] = _lowest_free(uses, state[0])
            if slot >= len(uses):
                return i
            table[at], hashes[slot], uses[slot], kept[slot] = slot + 1, hashed[i], 0, keys[i]
        found[i] = slot
    return len(keys)


@_compiled
def add_text(
    texts: Texts,
    hashed: Hashes,
    begin: int,
    places: Places,
    arena: Arena,
    state: IntArray,
    found: IntArray,
) -> int:
    """The same for texts; ``state`` holds the arena's end too, and it may be that which is full."""
    table, hashes, uses = places
    mask = np.uint32(len(table) - 1)
    first = np.empty(_BLOCK, np.int32)
    for i in range(begin, len(found)):
        if (i - begin) % _BLOCK == 0:
            state[2] ^= _touch_texts(places, arena, first, _touch(hashed, i, places, first))
        at = hashed[i] & mask
        slot = table[at] - 1
        while slot >= 0 and not (hashes[slot] == hashed[i] and _is_text(texts, i, arena, slot)):
            at = (at + np.uint32(1)) & mask
            slot = table[at] - 1
        if slot < 0:
            start, end = texts.offsets[i], texts.offsets[i + 1]
            slot = state[0] = _lowest_free(uses, state[0])
            if slot >= len(uses) or state[1] + end - start > len(arena.data):
                return i
            table[at], hashes[slot], uses[slot] = slot + 1, hashed[i], 0
            arena.start[slot], arena.length[slot] = state[1], end - start
            for j in range(start, end):
                arena.data[state[1]] = texts.data[j]
                state[1] += 1
        found[i] = slot
    return len(found)


@_compiled
def hold(slots: IntArray, uses: Int32s) -> None:
    """Count one use more of each."""
    for slot in slots:
        uses[slot] += 1


@_compiled
def release(slots: IntArray, places: Places, freed: IntArray) -> int:
    """Count one use less of each; those that nobody uses leave the table. Gives how many."""
    uses, count = places.uses, 0
    for slot in slots:
        if uses[slot] > 0:
            uses[slot] -= 1
        if uses[slot] == 0:
            _remove(slot, places)
            uses[slot] = FREE
            freed[count] = slot
            count += 1
    return count


@_compiled
def _remove(slot: int, places: Places) -> None:
    table, hashes = places.table, places.hashes
    mask = np.uint32(len(table) - 1)
    hole = hashes[slot] & mask
    while table[hole] != slot + 1:
        hole = (hole + np.uint32(1)) & mask
    at = (hole + np.uint32(1)) & mask
    while table[at] != 0:
        home = hashes[table[at] - 1] & mask
        # It may move up, unless its search begins after the hole.
        if ((at - home) & mask) >= ((at - hole) & mask):
            table[hole] = table[at]
            hole = at
        at = (at + np.uint32(1)) & mask
    table[hole] = 0


@_compiled
def enter_all(places: Places) -> None:
    """Fill an empty table with the slots in use."""
    table, hashes, uses = places
    mask = np.uint32(len(table) - 1)
    for slot in range(len(uses)):
        if uses[slot] != FREE:
            at = hashes[slot] & mask
            while table[at] != 0:
                at = (at + np.uint32(1)) & mask
            table[at] = slot + 1


@_compiled
def copy_texts(slots: IntArray, arena: Arena, offsets: IntArray, data: Bytes) -> None:
    """Put the texts of these slots one after the other."""
    for i in range(len(slots)):
        start, at = arena.start[slots[i]], offsets[i]
        for j in range(arena.length[slots[i]]):
            data[at + j] = arena.data[start + j]
