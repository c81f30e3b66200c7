"""The loops of the index: with hashes that all collide, and wherever the table begins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from topwater.replica.key_kernels import copy_texts, enter_all, release
from topwater.replica.key_slots import KeySlots
from topwater.replica.key_tables import FREE, Arena, Places, Texts


def placed(hashes: list[int], size: int) -> Places:
    """A table with one slot for each hash."""
    uses = np.full(size, FREE, np.int32)
    uses[: len(hashes)] = 1
    kept = np.zeros(size, np.uint32)
    kept[: len(hashes)] = hashes
    places = Places(np.zeros(2 * size, np.int32), kept, uses)
    enter_all(places)
    return places


def searched(places: Places, slot: int) -> bool:
    """Is a slot found from where its search begins, before a free place?"""
    at = int(places.hashes[slot]) % len(places.table)
    while places.table[at] not in (0, slot + 1):
        at = (at + 1) % len(places.table)
    return bool(places.table[at] == slot + 1)


@pytest.mark.parametrize("seed", range(30))
def test_those_after_one_that_leaves_are_still_found(seed: int) -> None:
    """Few hashes, at the end of the table too, so that searches run around it."""
    rng = np.random.default_rng(seed)
    hashes = rng.choice([0, 1, 14, 15, 30, 31, 2**32 - 1], 16).tolist()
    places = placed(hashes, 16)
    left = set(range(16))
    for slot in rng.permutation(16).tolist():
        freed = np.empty(1, np.int64)
        assert release(np.array([slot]), places, freed) == 1
        left.discard(slot)
        assert all(searched(places, each) for each in left)
        assert np.count_nonzero(places.table) == len(left)
        assert places.uses[slot] == FREE


def test_a_slot_that_is_held_twice_stays() -> None:
    places = placed([3], 16)
    places.uses[0] = 2
    freed = np.empty(2, np.int64)
    assert release(np.array([0]), places, freed) == 0
    assert release(np.array([0]), places, freed) == 1


def test_texts_are_copied_in_any_order() -> None:
    arena = Arena(
        np.frombuffer(b"--abc-de", np.uint8).copy(), np.array([2, 6]), np.array([3, 2], np.int32)
    )
    data = np.empty(5, np.uint8)
    copy_texts(np.array([1, 0]), arena, np.array([0, 2, 5]), data)
    assert data.tobytes() == b"deabc"
    assert Texts(data, np.array([0, 2, 5])).offsets[-1] == 5


@pytest.mark.parametrize("length", range(20))
def test_every_byte_of_a_text_counts(length: int) -> None:
    """Also those after the last eight, and texts that begin alike."""
    texts = ["x" * length, "x" * (length + 1)]
    texts += ["x" * at + "y" + "x" * (length - at - 1) for at in range(length)]
    index = KeySlots()
    assert index.slots_of(pa.array(texts), add=True).tolist() == list(range(len(texts)))
    assert len(set(index._hashes[: len(texts)].tolist())) == len(texts)
