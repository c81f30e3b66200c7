"""A journal as a store keeps it: one value, and a map of chunks if they are many.

To have a map costs a store something even where it holds nothing: Spark opens it anew in every
task. To write a few small chunks again with every head costs less. So they stay beside the head
until they are too many, move to the map together, and come back when few are left.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np

from topwater.errors import AFRESH, StateError
from topwater.monitor.journal import Changes

BESIDE = 64 * 2**10
"""Bytes of chunks that may stay beside the head."""

_BACK = 4
"""Chunks come back from the map when they have this part of it. Between the two they stay where
they are, so that a journal whose size goes up and down is not moved each time."""

_MARK = b"topchunk"


class ChunkMap(Protocol):
    """Where the chunks of a journal are when they are many."""

    def get(self, id_: int) -> bytes | None:
        """A chunk; None if there is none."""

    def put(self, id_: int, chunk: bytes) -> None:
        """Keep a chunk."""

    def remove(self, id_: int) -> None:
        """Let a chunk go."""


@dataclass(slots=True)
class StoredJournal:
    """What a store has of a journal.

    Parameters
    ----------
    chunks
        The map. It is used only if there is something for it.
    head
        As bytes; none before the first record.
    beside
        The chunks beside the head; None if all are in the map.

    Examples
    --------
    >>> stored = StoredJournal(chunks=NO_MAP)
    >>> stored.write(Changes(b"a head", {1: b"a chunk"}, [], {1}, 7))
    0
    >>> again = StoredJournal.unpack(stored.pack(), NO_MAP)
    >>> again.head, again.get(1)
    (b'a head', b'a chunk')
    """

    chunks: ChunkMap
    head: bytes = b""
    beside: dict[int, bytes] | None = field(default_factory=dict)

    @staticmethod
    def unpack(value: bytes, chunks: ChunkMap) -> StoredJournal:
        """What :meth:`pack` gave; a head by itself has its chunks in the map.

        Raises
        ------
        StateError
            If the value is damaged.
        """
        if not value.startswith(_MARK):
            return StoredJournal(chunks, value, None)
        first, ids, sizes = _index(value)
        cuts = pairwise(accumulate(sizes, initial=first))
        head, *beside = (value[start:end] for start, end in cuts)
        return StoredJournal(chunks, head, dict(zip(ids, beside, strict=True)))

    def pack(self) -> bytes:
        """The value."""
        if self.beside is None:
            return self.head
        parts = [self.head, *self.beside.values()]
        index = np.array([len(parts), *self.beside, *map(len, parts)], "<i8").tobytes()
        return b"".join([_MARK, index, zlib.crc32(index).to_bytes(4, "big"), *parts])

    def get(self, id_: int) -> bytes | None:
        """A chunk, wherever it is."""
        return self.chunks.get(id_) if self.beside is None else self.beside.get(id_)

    def write(self, changes: Changes) -> int:
        """Take in a record; the bytes that went to the map."""
        self.head = changes.head
        if self.beside is not None:
            return self._write_beside(self.beside, changes)
        for id_ in changes.removes:
            self.chunks.remove(id_)
        if _BACK * changes.held > BESIDE:
            return self._put(changes.puts)
        self.beside = self._taken(changes.ids - changes.puts.keys()) | changes.puts
        return 0

    def _write_beside(self, beside: dict[int, bytes], changes: Changes) -> int:
        for id_ in changes.removes:
            beside.pop(id_, None)
        beside |= changes.puts
        if sum(map(len, beside.values())) <= BESIDE:
            return 0
        self.beside = None
        return self._put(beside)

    def _put(self, chunks: dict[int, bytes]) -> int:
        for id_, chunk in chunks.items():
            self.chunks.put(id_, chunk)
        return sum(map(len, chunks.values()))

    def _taken(self, ids: set[int]) -> dict[int, bytes]:
        """Chunks, out of the map."""
        found = {}
        for id_ in sorted(ids):
            if (chunk := self.chunks.get(id_)) is not None:  # else it is told when it is needed
                found[id_] = chunk
                self.chunks.remove(id_)
        return found


def stored_size(value: bytes, chunks: int) -> int:
    """Bytes of a journal in a store: its value, and its chunks if they are not in that."""
    return len(value) + (0 if value.startswith(_MARK) else chunks)


class _NoMap:
    """A map for those who have none."""

    def get(self, id_: int) -> bytes | None:  # noqa: ARG002
        return None

    def put(self, id_: int, chunk: bytes) -> None:
        raise NotImplementedError

    def remove(self, id_: int) -> None:
        raise NotImplementedError


NO_MAP: ChunkMap = _NoMap()
"""Holds nothing, and takes nothing."""


def _index(value: bytes) -> tuple[int, list[int], list[int]]:
    """Where the parts begin, the ids of the chunks, and the sizes of head and chunks."""
    start = len(_MARK)
    count = int.from_bytes(value[start : start + 8], "little")
    end = start + 16 * count
    index = value[start:end]
    if count and zlib.crc32(index).to_bytes(4, "big") == value[end : end + 4]:
        numbers = np.frombuffer(index, "<i8").tolist()
        ids, sizes = numbers[1:count], numbers[count:]
        if len(value) == end + 4 + sum(sizes):
            return end + 4, ids, sizes
    raise StateError(
        "the state can't be read: what names its chunks is damaged",
        fix=f"restore the checkpoint from a copy, or {AFRESH}",
    )
