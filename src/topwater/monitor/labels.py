"""Labels: what the stream says of a key that is not a number. Text to show, or to look up by.

Windows keep numbers alone. So a label travels as a number that is made of it, and beside it goes
the label itself, which is kept once for all keys that have it::

    batch ──► codes_of ──► partial aggregates: code, and "label …" ──► panes: codes
                                                                  └──► LabelBook: code → label

The code of a label is the same in every process, so that it does not matter where a batch was
reduced. Where two labels had one code, the second would be taken for missing: never for the first.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import FloatArray, IntArray
from topwater.replica.key_slots import KeySlots
from topwater.scoring.aggregates import LABEL

NONE = 2.0**53
"""The code of a label that is missing."""

_FIRST, _NEAR, _HALF = 2**52, 2**50, 2**51
"""Codes lie between here and :data:`NONE`, where numbers of a stream hardly are."""


def codes_of(labels: pa.Array) -> FloatArray:
    """The code of each label, whole numbers or texts.

    Examples
    --------
    >>> codes = codes_of(pa.array(["acme", None, "acme", "zeta"]))
    >>> bool(codes[0] == codes[2] != codes[3]), bool(codes[1] == NONE)
    (True, True)
    """
    if pa.types.is_integer(labels.type):
        return _of_numbers(labels)
    coded = pc.dictionary_encode(labels)
    each = np.array([_of_text(text) for text in coded.dictionary.to_pylist()] + [NONE])
    _, first = np.unique(each, return_index=True)
    if len(first) < len(each):
        each[np.setdiff1d(np.arange(len(each)), first)] = NONE
    at = coded.indices.fill_null(len(each) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(each[at])


def _of_numbers(labels: pa.Array) -> FloatArray:
    """Small ones as they are, beside each other; of large ones a hash."""
    numbers = labels.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    near = (numbers > -_NEAR) & (numbers < _NEAR)
    codes = np.where(near, numbers + _NEAR, 0) + _FIRST
    far = np.flatnonzero(~near)
    codes[far] = [_of_text(str(each)) | _HALF for each in numbers[far].tolist()]
    found = codes.astype(np.float64)
    found[~labels.is_valid().to_numpy(zero_copy_only=False)] = NONE
    return found


def _of_text(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return _FIRST + int.from_bytes(digest, "little") % _FIRST


def with_labels(partials: pa.Table, name: str, labels: pa.Array, codes: FloatArray) -> pa.Table:
    """Partial aggregates, with the label of each code of a name beside it."""
    known, first = np.unique(codes, return_index=True)
    at = np.searchsorted(known, partials.column(name).to_numpy())
    return partials.append_column(LABEL + name, labels.take(pa.array(first[at])))


class LabelBook:
    """The labels of one name, by their codes.

    Examples
    --------
    >>> book, labels = LabelBook(), pa.array(["acme", "zeta"])
    >>> codes = codes_of(labels)
    >>> book.add(codes, labels).tolist() == codes.tolist()
    True
    >>> book.arrow_at(codes[1:].astype(np.int64)).to_pylist()
    ['zeta']
    """

    def __init__(self) -> None:
        self._codes = KeySlots()
        self._labels = KeySlots()
        self._place = np.empty(0, np.int64)
        self._kept = 0

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, codes: FloatArray, labels: pa.Array | pa.ChunkedArray) -> FloatArray:
        """Remember labels; gives their codes, and :data:`NONE` for one whose code another has."""
        there = np.flatnonzero(codes != NONE)
        if not len(there):
            return codes
        rows = pa.array(there)
        slots = self._codes.slots_of(codes[there].astype(np.int64), add=True)
        places = self._labels.slots_of(labels.take(rows), add=True)
        if len(self._place) < self._codes.capacity:
            more = np.full(self._codes.capacity - len(self._place), -1, np.int64)
            self._place = np.concatenate([self._place, more])
        new, first = np.unique(slots, return_index=True)
        unknown = self._place[new] < 0
        self._place[new[unknown]] = places[first[unknown]]
        self._codes.hold(new[unknown])
        self._labels.hold(places[first[unknown]])
        clash = self._place[slots] != places
        if not clash.any():
            return codes
        found = codes.copy()
        found[there[clash]] = NONE
        return found

    def arrow_at(self, codes: IntArray) -> pa.Array:
        """The labels of some codes that are known."""
        return self._labels.arrow_at(self._place[self._codes.slots_of(codes)])

    def shown(self, codes: FloatArray) -> npt.NDArray[Any]:
        """What is shown of some numbers: labels of codes, None for none, numbers as they are."""
        slots = self._codes.slots_of(codes.astype(np.int64))
        found = codes.astype(object)
        found[codes == NONE] = None
        known = np.flatnonzero(slots >= 0)
        if len(known):
            found[known] = self._labels.arrow_at(self._place[slots[known]]).to_pylist()
        return found

    def column(self, codes: FloatArray) -> pa.Array:
        """The labels of codes as Arrow data, null for none."""
        there = codes != NONE
        labels = self.arrow_at(codes[there].astype(np.int64))
        at = np.cumsum(there) - 1
        return labels.take(pa.array(np.where(there, at, 0), mask=~there))

    @property
    def crowded(self) -> bool:
        """Whether so much came since :meth:`keep` that it is time to look what is needed."""
        return len(self) > 2 * self._kept + 4_096

    def keep(self, codes: FloatArray) -> None:
        """Forget all labels but those of these codes."""
        needed = np.unique(codes[(codes != NONE) & (self._codes.slots_of(_whole(codes)) >= 0)])
        labels = self.arrow_at(_whole(needed))
        self.__init__()  # type: ignore[misc]
        self.add(needed, labels)
        self._kept = len(needed)


def _whole(codes: FloatArray) -> IntArray:
    return codes.astype(np.int64)
