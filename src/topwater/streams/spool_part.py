"""One part of a spool: messages one after the other, each with a checksum, and marks among them.

A mark says that all before it is on the disk, and has the checksum of that; the last one says
that the part is sealed::

    message message MARK message message MARK message mess
    ╰──────── safe: must be read as it was written ╯╰ torn: the process ended here
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from topwater.errors import StateError
from topwater.private_files import open_private

_HEADER = struct.Struct(">IIqHHB")
"""A checksum of the rest, the payload's length, when it came, mid, the topic's length, flags."""
_TOO_LONG, _MARK, _END = 1, 2, 4
_CHECKSUM = struct.Struct(">I")
_MARK_BYTES = _HEADER.size + _CHECKSUM.size
_AT_ONCE = 1 << 16


class Message(NamedTuple):
    """What came in: ``payload`` is None if it was too long to keep."""

    topic: str
    payload: bytes | None
    arrived: int
    mid: int = 0


class OpenPart:
    """The part to which messages are appended.

    Parameters
    ----------
    path
        Its file. What is there already is kept.
    number
        Its place in the spool.
    """

    def __init__(self, path: Path, number: int) -> None:
        before = path.read_bytes() if path.exists() else b""
        self._number = number
        self._checksum = zlib.crc32(before)
        self._marked = self.size = len(before)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._file = open_private(path, "ab")

    def add(self, message: Message) -> None:
        """Append a message."""
        topic, payload = message.topic.encode(), message.payload or b""
        flags = _TOO_LONG if message.payload is None else 0
        fields = (len(payload), message.arrived, message.mid, len(topic), flags)
        self._append(_record(fields, topic + payload))
        if self._waiting_bytes > _AT_ONCE:
            self._write()

    def sync(self, *, end: bool = False) -> None:
        """Make all that was added safe, and mark it so."""
        if self.size > self._marked or end:
            place = _place(self._number, self.size)
            fields = (_CHECKSUM.size, place, 0, 0, _MARK | _END if end else _MARK)
            self._write()
            self._append(_record(fields, _CHECKSUM.pack(self._checksum)))
            self._marked = self.size
        self._write()
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, as it is."""
        self._file.close()

    def _append(self, record: bytes) -> None:
        self._waiting.append(record)
        self._waiting_bytes += len(record)
        self.size += len(record)

    def _write(self) -> None:
        """Write what waits, and take it into the checksum: one call for many short messages."""
        content = b"".join(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        self._file.write(content)
        self._checksum = zlib.crc32(content, self._checksum)


def _record(fields: tuple[int, int, int, int, int], rest: bytes) -> bytes:
    body = _HEADER.pack(0, *fields)[4:] + rest
    return zlib.crc32(body).to_bytes(4, "big") + body


def messages(part: bytes) -> Iterator[Message]:
    """The messages of a part that was found whole."""
    at = 0
    while at < len(part):
        _, length, arrived, mid, topic_length, flags = _HEADER.unpack_from(part, at)
        start = at + _HEADER.size
        at = start + topic_length + length
        if flags & _MARK:
            continue
        payload = None if flags & _TOO_LONG else part[start + topic_length : at]
        yield Message(part[start : start + topic_length].decode(), payload, arrived, mid)


def is_sealed(part: bytes, number: int) -> bool:
    """Whether a part ends as a sealed one does, and all of it is as it was written."""
    place = len(part) - _MARK_BYTES
    if place < 0 or not _is_mark(part, place, number, end=True):
        return False
    return part[-_CHECKSUM.size :] == _CHECKSUM.pack(zlib.crc32(part[:place]))


class Extent(NamedTuple):
    """How far a part can be read: ``whole`` bytes. If it is ``damaged``, more was safe once."""

    whole: int
    damaged: bool


def extent(part: bytes, number: int) -> Extent:
    """How far a part that was not sealed can be read.

    After the last mark nothing was called safe: what is there may be torn. A mark behind something
    that can't be read tells that it could be read once; one of another part, that this is a copy.
    """
    at = 0
    while (after := _end_of_record(part, at)) is not None:
        if _HEADER.unpack_from(part, at)[-1] & _MARK and not _is_mark(part, at, number):
            return Extent(at, damaged=True)
        at = after
    return Extent(at, _next_mark(part, at, number) is not None)


def salvaged(part: bytes) -> list[Message]:
    """All messages of a damaged part that are as they were written."""
    found: list[Message] = []
    at = 0
    while at < len(part):
        after = _end_of_record(part, at)
        if after is not None:
            found += messages(part[at:after])
        at = at + 1 if after is None else after
    return found


def damage(path: Path, part: bytes, at: int) -> StateError:
    """The error for a part that can't be read on from a place, to be raised."""
    whole = sum(1 for _ in messages(part[:at]))
    return StateError(
        f"{path} is damaged at byte {at:,} of {len(part):,}; the {whole:,} messages before it "
        "can be read",
        fix=KEEP,
    )


KEEP = (
    "restore it from a copy; or call topwater.streams.spool.salvage(FOLDER), which keeps what "
    "can be read of the spool, and tells how much"
)


def _end_of_record(part: bytes, at: int) -> int | None:
    """Where a message or a mark ends; None if none begins here."""
    if at + _HEADER.size > len(part):
        return None
    checksum, length, _, _, topic_length, _ = _HEADER.unpack_from(part, at)
    end = at + _HEADER.size + int(topic_length) + int(length)
    if end > len(part) or zlib.crc32(part[at + _CHECKSUM.size : end]) != checksum:
        return None
    return end


def _place(number: int, at: int) -> int:
    """Where a mark is: of which part, and at which byte."""
    return (number & 0x7FFF_FFFF) << 32 | (at & 0xFFFF_FFFF)


def _is_mark(part: bytes, at: int, number: int, *, end: bool = False) -> bool:
    if _end_of_record(part, at) != at + _MARK_BYTES:
        return False
    _, _, place, _, _, flags = _HEADER.unpack_from(part, at)
    kind = _MARK | _END if end else _MARK
    return bool(flags & kind == kind and place == _place(number, at))


def _next_mark(part: bytes, at: int, number: int) -> int | None:
    """Where the next mark of this part begins; its place is written in it, so it can be found."""
    high = _CHECKSUM.pack(_CHECKSUM.size) + _place(number, 0).to_bytes(8, "big")[:4]
    found = part.find(high, at)
    while found >= 0:
        start = found - _CHECKSUM.size
        if start >= at and _is_mark(part, start, number):
            return start
        found = part.find(high, found + 1)
    return None
