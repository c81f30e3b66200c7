"""Pieces of a state, cut into chunks of a size that every state store can carry.

Each chunk names its piece and its place in it, and begins with a checksum of all that follows: a
chunk that is missing, damaged or from another journal is named.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from topwater.errors import AFRESH, StateError

MOST = 2**20
"""Bytes of a piece in one chunk. Reading a value takes Spark's state server several times its
size of Java heap: a single one of 64 MB ends a server that has 1 GB."""


def cut(name: str, content: bytes, most: int = MOST) -> list[bytes]:
    """A piece as chunks.

    Examples
    --------
    >>> chunks = cut("panes 7", b"abcdef", most=4)
    >>> len(chunks), joined("panes 7", chunks)
    (2, b'abcdef')
    """
    starts = range(0, max(1, len(content)), most)
    return [
        _sealed(_label(name, part, len(starts)), content[start : start + most])
        for part, start in enumerate(starts)
    ]


def joined(name: str, chunks: Sequence[bytes | None]) -> bytes:
    """What :func:`cut` was given.

    Raises
    ------
    StateError
        If a chunk is missing, damaged, or of another piece.
    """
    labels = [_label(name, part, len(chunks)) for part in range(len(chunks))]
    found = [_opened(label, chunk) for label, chunk in zip(labels, chunks, strict=True)]
    return found[0] if len(found) == 1 else b"".join(found)


def _label(name: str, part: int, parts: int) -> str:
    return f"{name}, chunk {part + 1} of {parts}"


def _sealed(label: str, content: bytes) -> bytes:
    body = b"".join([len(label.encode()).to_bytes(1, "big"), label.encode(), content])
    return zlib.crc32(body).to_bytes(4, "big") + body


def _opened(label: str, chunk: bytes | None) -> bytes:
    if chunk is None:
        raise _unreadable(label, "is missing")
    if zlib.crc32(memoryview(chunk)[4:]).to_bytes(4, "big") != chunk[:4]:
        raise _unreadable(label, "is damaged")
    start = 5 + chunk[4]
    if chunk[5:start] != label.encode():
        raise _unreadable(label, f"is not there, but {chunk[5:start].decode(errors='replace')} is")
    return chunk[start:]


def _unreadable(label: str, what: str) -> StateError:
    return StateError(
        f"the state can't be read: {label}, {what}",
        fix=f"restore the checkpoint from a copy, or {AFRESH}",
    )
