"""Keys and their slots, against a dict: what came, what went, and what is lowest and free."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.model import IntArray
from topwater.replica.key_slots import KeySlots

WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 20)
TEXT = st.text(max_size=20) | st.sampled_from(["", "a", "ab", "é", "12345678", "123456789"])


class Twin:
    """The slow twin: a dict, how often each slot is held, and a heap of free slots."""

    def __init__(self) -> None:
        self.slot: dict[Any, int] = {}
        self.uses: dict[int, int] = {}
        self.free = list(range(10_000))

    def slots_of(self, keys: list[Any], *, add: bool) -> list[int]:
        for key in keys if add else []:
            if key not in self.slot:
                self.slot[key] = heapq.heappop(self.free)
                self.uses[self.slot[key]] = 0
        return [self.slot.get(key, -1) for key in keys]

    def hold(self, slots: list[int]) -> None:
        for slot in slots:
            self.uses[slot] += 1

    def release(self, slots: list[int]) -> list[int]:
        freed = []
        for slot in slots:
            self.uses[slot] -= 1
            if self.uses[slot] == 0:
                freed.append(slot)
                heapq.heappush(self.free, slot)
                self.slot = {key: at for key, at in self.slot.items() if at != slot}
        return freed


def as_given(keys: list[Any], form: int) -> Any:
    """The same keys as an array, as Arrow data, as a slice of it, or as chunks."""
    text = any(isinstance(key, str) for key in keys)
    if form == 0:
        return np.array(keys, object if text else np.int64)
    kind = (pa.string(), pa.large_string())[form % 2] if text else pa.int64()
    whole = pa.array(keys, kind)
    if form == 1:
        return whole
    if form == 2:
        return pa.concat_arrays([whole, whole])[len(keys) :]
    return pa.chunked_array([whole[:1], whole[1:]], kind)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), text=st.booleans())
def test_an_index_is_a_dict(data: st.DataObject, text: bool) -> None:
    index, twin = KeySlots(), Twin()
    held: list[Any] = []
    for _ in range(data.draw(st.integers(1, 12))):
        keys = data.draw(st.lists(TEXT if text else WHOLE, min_size=1, max_size=40))
        found = index.slots_of(as_given(keys, data.draw(st.integers(0, 3))))
        assert found.tolist() == twin.slots_of(keys, add=False)
        slots = index.slots_of(as_given(keys, data.draw(st.integers(0, 3))), add=True)
        assert slots.tolist() == twin.slots_of(keys, add=True)
        index.hold(slots)
        twin.hold(slots.tolist())
        held.append(slots.tolist())
        for _ in range(data.draw(st.integers(0, len(held)))):
            gone = held.pop(data.draw(st.integers(0, len(held) - 1)))
            assert index.release(np.array(gone)).tolist() == twin.release(gone)
        index.check()
        assert len(index) == len(twin.slot)
        assert index.keys_at(np.array([*twin.slot.values()], np.int64)).tolist() == [*twin.slot]


@pytest.mark.parametrize("text", [False, True])
def test_many_keys_come_and_go(text: bool) -> None:
    rng = np.random.default_rng(1)
    index, slot_of = KeySlots(), dict[Any, int]()
    held: list[IntArray] = []
    for turn in range(8):
        numbers = rng.integers(0, 30_000, 10_000) + turn * 5_000
        names = [f"key number {number}" for number in numbers.tolist()]
        slots = index.slots_of(pa.array(names) if text else pa.array(numbers), add=True)
        index.hold(slots)
        held.append(slots)
        for key, slot in zip(names, slots.tolist(), strict=True):
            assert slot_of.setdefault(key, slot) == slot
        if len(held) > 2:
            freed = set(index.release(held.pop(0)).tolist())
            slot_of = {key: slot for key, slot in slot_of.items() if slot not in freed}
        index.check()
        assert len(index) == len(slot_of) == len(set(slot_of.values()))
    assert index.capacity <= 32_768


def test_the_bytes_of_texts_that_are_gone_are_used_again() -> None:
    index = KeySlots()
    for turn in range(200):
        slots = index.slots_of(pa.array([f"{turn:05d}{at:095d}" for at in range(50)]), add=True)
        index.hold(slots)
        index.release(slots)
    store: Any = index._store
    assert len(store._arena.data) < 4 * 50 * 100


def test_slots_do_not_depend_on_the_hash() -> None:
    keys = pa.array(np.random.default_rng(2).integers(0, 2**60, 1_000))
    one, other = KeySlots(), KeySlots()
    assert one._seed != other._seed
    for each in (one, other):
        slots = each.slots_of(keys, add=True)
        each.hold(slots)
        each.release(slots[::3])
    assert one.slots_of(keys).tolist() == other.slots_of(keys).tolist()


def test_keys_that_are_like_each_other_are_found_quickly() -> None:
    """Equal low bits, and texts that differ in one byte, spread over the table all the same."""
    for keys in (
        pa.array(np.arange(20_000, dtype=np.int64) << 40),
        pa.array([f"{at % 10}{'x' * 40}{at // 10}" for at in range(20_000)]),
    ):
        index = KeySlots()
        index.slots_of(keys, add=True)
        taken = np.flatnonzero(index._table)
        runs = np.diff(np.flatnonzero(np.diff(taken) > 1), prepend=0)
        assert runs.max() < 200


def test_keys_are_of_one_kind() -> None:
    index = KeySlots()
    assert index.slots_of(np.array(["a"], object)).tolist() == [-1]
    none = np.empty(0, np.int64)
    assert (len(index.keys_at(none)), len(index.bytes_at(none))) == (0, 0)
    index.slots_of(np.array([1]), add=True)
    with pytest.raises(TypeError, match="keys are whole numbers, not large_string"):
        index.slots_of(np.array(["a"], object))
