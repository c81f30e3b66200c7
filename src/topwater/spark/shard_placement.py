"""Where Spark puts a shard: each in a task of its own, as far as there are tasks.

Spark places a key by its hash. Small numbers collide: of four shards numbered from 0, three would
land in one of four tasks. So a shard gets a number whose hash says where it is to go.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    import numpy.typing as npt
    from pyspark.sql import DataFrame

PLACE = "place"
"""The column by which the stateful stage is keyed."""

_EVEN = 20_160  # has all numbers up to 10 as divisors, and 12, 14, 16, 18, 20, 24, 28, 32, 64
_TRIED = 2**20
_SEED = 42  # Spark's, for shuffles


def placed(portions: DataFrame, shards: int) -> DataFrame:
    """Portions with the place of their shard."""
    numbers = F.array(*map(F.lit, places(shards)))
    return portions.withColumn(PLACE, F.element_at(numbers, F.col("shard") + 1))


@functools.lru_cache(maxsize=64)
def places(shards: int) -> tuple[int, ...]:
    """A number for each shard, such that they fill any number of tasks evenly.

    The i-th has a hash of i, modulo a number with many divisors; so with as many tasks as one of
    them, it goes to task i modulo the number of tasks.

    Examples
    --------
    >>> numbers = np.array(places(4), np.int64)
    >>> (hashes(numbers) % 4).tolist(), (hashes(numbers) % 2).tolist()
    ([0, 1, 2, 3], [0, 1, 0, 1])
    """
    where = hashes(np.arange(_TRIED)) % _EVEN
    order = np.argsort(where, kind="stable")
    wanted = np.arange(shards) % _EVEN
    # Those beyond the first round take the next number with the same hash.
    found = order[np.searchsorted(where[order], wanted) + np.arange(shards) // _EVEN]
    return tuple(found.tolist())


def hashes(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Spark's hash of 32-bit integers: Murmur3.

    Examples
    --------
    >>> hashes(np.array([0, 1])).tolist()
    [933211791, -559580957]
    """
    k = numbers.astype(np.uint32) * np.uint32(0xCC9E2D51)
    k = _turned(k, 15) * np.uint32(0x1B873593)
    h = _turned(k ^ np.uint32(_SEED), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    h ^= np.uint32(4)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (h ^ (h >> np.uint32(16))).astype(np.int32).astype(np.int64)


def _turned(bits: npt.NDArray[np.uint32], by: int) -> npt.NDArray[np.uint32]:
    return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))
