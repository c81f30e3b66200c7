"""The arrays that the index from keys to slots is made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topwater.model import IntArray

Int32s = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]

FREE = -1
"""Uses of a slot that belongs to no key."""


class Places(NamedTuple):
    """Where slots stand in the table, and per slot its hash and how often it is held.

    An entry of the table is a slot and one; 0 is a free place.
    """

    table: Int32s
    hashes: Hashes
    uses: Int32s


class Texts(NamedTuple):
    """Texts as UTF-8: each has a start and an end in the bytes."""

    data: Bytes
    offsets: npt.NDArray[np.int64]


class Arena(NamedTuple):
    """The same by slot: they lie in any order, with gaps."""

    data: Bytes
    start: IntArray
    length: Int32s
