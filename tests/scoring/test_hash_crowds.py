"""Whole numbers that Arrow's hash table can't tell apart are noticed, and others are not."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest

from topwater.model import IntArray
from topwater.scoring.hash_crowds import crowd

MANY = np.arange(200_000)
INVERSE = pow(11_400_714_785_074_694_791, -1, 2**64)
"""Arrow multiplies by the number whose inverse this is."""


def made_alike(shift: int) -> IntArray:
    """Numbers whose products with Arrow's constant are small."""
    products = MANY.astype(np.uint64) << np.uint64(shift)
    return (products * np.uint64(INVERSE)).view(np.int64)


CROWDS = {
    "2^36": MANY << 36,
    "2^40": MANY[: 2**23] << 40,
    "2^42": MANY << 42,
    "negative": -(MANY << 40),
    "made alike": made_alike(0),
    "made alike above": made_alike(16),
    "a tenth made alike": np.where(MANY % 10 == 3, made_alike(0), MANY),
    "a step of chance": MANY * 4_770_604,
}
ORDINARY = {
    "in order": MANY,
    "negative": -MANY,
    "thousands": MANY * 1_000,
    "hours in milliseconds": 1_731_900_000_000 + MANY * 3_600_000,
    "time, machine, number": (MANY // 50 << 22) | (MANY % 50 << 12),
    "2^32": MANY << 32,
    "few distinct": MANY % 50 << 40,
    "at random": np.random.default_rng(3).integers(-(2**63), 2**63 - 1, 200_000),
    "one": np.full(200_000, 7 << 40),
}


@pytest.mark.parametrize("name", CROWDS)
def test_crowds_are_noticed(name: str) -> None:
    assert crowd(CROWDS[name])
    assert crowd(np.random.default_rng(1).permutation(CROWDS[name]))
    assert not crowd(CROWDS[name][:1_000]), "too few to matter"


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_numbers_are_left_to_arrow(name: str) -> None:
    assert not crowd(ORDINARY[name])
    assert not crowd(np.random.default_rng(1).permutation(ORDINARY[name]))


def seconds(keys: IntArray) -> float:
    table = pa.table({"key": keys})
    least = float("inf")
    for _ in range(3):
        begun = time.thread_time()
        table.group_by("key", use_threads=False).aggregate([])
        least = min(least, time.thread_time() - begun)
    return least


def test_arrow_places_numbers_as_we_say() -> None:
    """Should Arrow ever change its hash, this is no longer needed, or no longer right."""
    ordinary = seconds(MANY[:20_000])
    assert seconds(CROWDS["2^40"][:20_000]) > 5 * ordinary
    assert seconds(CROWDS["made alike"][:10_000]) > 5 * ordinary
    assert seconds(ORDINARY["2^32"][:20_000]) < 5 * ordinary
