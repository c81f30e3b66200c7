"""Messages on disk, from when they arrive until Spark is done with them.

A spool is a folder of numbered parts. Messages are appended to the last, which is sealed when
Spark asks for the next micro-batch; sealed parts never change, and are removed when the
micro-batch that read them is committed::

    00000041.part   00000042.part   00000043.part
    sealed, being   sealed, next    open: messages are appended, and are
    computed        micro-batch     safe from sync() on

So a micro-batch is a range of parts, and the same whenever it is read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import threading
import time
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from topwater.errors import QueryError, StateError

PART_BYTES = 1 << 20
_HEADER = struct.Struct(">IIqHHB")
"""A checksum of the rest, the payload's length, when it came, mid, the topic's length, flags."""
_TOO_LONG = 1
_SUFFIX = ".part"


class Message(NamedTuple):
    """What came in: ``payload`` is None if it was too long to keep."""

    topic: str
    payload: bytes | None
    arrived: int
    mid: int = 0


class Spool:
    """A folder of parts, which one process at a time has open.

    Parameters
    ----------
    folder
        Made if it is not there.
    part_bytes
        A part that is longer is sealed by itself.
    patience
        For how many seconds to wait until another process has closed it.

    Raises
    ------
    QueryError
        If another process has it open, or it can't be made.
    StateError
        If it can't be written later on.

    Examples
    --------
    >>> import tempfile
    >>> spool = Spool(tempfile.mkdtemp())
    >>> spool.add(Message("bids", b"{}", 1))
    >>> spool.sync()
    >>> spool.seal()
    1
    >>> [message.payload for message in messages(spool.part(0))]
    [b'{}']
    >>> spool.close()
    """

    def __init__(
        self, folder: str | Path, part_bytes: int = PART_BYTES, patience: float = 5.0
    ) -> None:
        self.folder = Path(folder)
        self._part_bytes = part_bytes
        self._lock = threading.RLock()
        self._owner = _owned(self.folder, patience)
        self._about = _about(self.folder)
        self._file: IO[bytes] | None = None
        self._failed: OSError | None = None
        self.first = int(self._about["removed"])
        numbers = sorted(int(path.stem) for path in self.folder.glob(f"*{_SUFFIX}"))
        self._sizes = {number: self._repaired(number) for number in numbers}
        self._open = max([*numbers, self.first - 1]) + 1
        self.remove(self.first)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def id(self) -> str:
        """What tells this spool from all others."""
        return str(self._about["id"])

    @property
    def size(self) -> int:
        """How many bytes wait."""
        with self._lock:
            return sum(self._sizes.values())

    @property
    def sealed(self) -> int:
        """The number after that of the last sealed part."""
        return self._open

    def recall(self, name: str, default: Any = None) -> Any:
        """What was kept under a name."""
        return self._about.get(name, default)

    def keep(self, **told: Any) -> None:
        """Remember something as long as there is this spool."""
        with self._lock:
            self._about |= told
            _replace(self.folder / "about.json", json.dumps(self._about).encode())

    def add(self, message: Message) -> None:
        """Append a message. It is safe after the next :meth:`sync` only."""
        topic = message.topic.encode()
        payload = message.payload or b""
        flags = _TOO_LONG if message.payload is None else 0
        rest = _HEADER.pack(0, len(payload), message.arrived, message.mid, len(topic), flags)[4:]
        with self._writing():
            if self._file is None:
                self._file = self._path(self._open).open("wb")
                self._sizes[self._open] = 0
                _sync_folder(self.folder)
            body = rest + topic + payload
            self._file.write(zlib.crc32(body).to_bytes(4, "big") + body)
            self._sizes[self._open] += 4 + len(body)

    def sync(self) -> None:
        """Make all that was added safe."""
        with self._writing():
            if self._file is None:
                return
            self._file.flush()
            os.fsync(self._file.fileno())
            if self._sizes[self._open] >= self._part_bytes:
                self.seal()

    def seal(self) -> int:
        """Seal the open part, if it has messages; the number after it."""
        with self._writing():
            if self._file is not None:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._file = None
                self._open += 1
            return self._open

    def part(self, number: int) -> bytes:
        """A sealed part."""
        return self._path(number).read_bytes()

    def remove(self, before: int) -> None:
        """Remove the parts before a number."""
        with self._lock:
            if before > self.first:
                self.keep(removed=before)
                self.first = before
            for number in [number for number in self._sizes if number < before]:
                self._path(number).unlink(missing_ok=True)
                del self._sizes[number]

    def close(self) -> None:
        """Let others open it."""
        with self._lock:
            try:
                if self._failed is None:
                    self.seal()
            finally:
                if self._file is not None:
                    with contextlib.suppress(OSError):
                        self._file.close()
                self._owner.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Alone. After a failure, only a new start knows what is on the disk.

        A disk may report an error once, and then call safe what is not: so no write succeeds
        after one that failed.
        """
        with self._lock:
            try:
                if self._failed is not None:
                    raise self._failed
                yield
            except OSError as error:
                self._failed = error
                raise StateError(
                    f"the spool {self.folder} can't be written: {error.strerror}",
                    fix="make room for it, and start again: nothing is lost",
                ) from error

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}{_SUFFIX}"

    def _repaired(self, number: int) -> int:
        """The size of a part, without the message in whose middle a process was ended."""
        path = self._path(number)
        whole = _whole(path.read_bytes())
        if whole < path.stat().st_size:
            os.truncate(path, whole)
        return whole


def messages(part: bytes) -> Iterator[Message]:
    """The messages of a part."""
    at = 0
    while at < len(part):
        _, length, arrived, mid, topic_length, flags = _HEADER.unpack_from(part, at)
        start = at + _HEADER.size
        at = start + topic_length + length
        payload = None if flags & _TOO_LONG else part[start + topic_length : at]
        yield Message(part[start : start + topic_length].decode(), payload, arrived, mid)


def _whole(part: bytes) -> int:
    """How many bytes of a part are whole messages."""
    at = 0
    while at + _HEADER.size <= len(part):
        checksum, length, _, _, topic_length, _ = _HEADER.unpack_from(part, at)
        end = at + _HEADER.size + topic_length + length
        if end > len(part) or zlib.crc32(part[at + 4 : end]) != checksum:
            break
        at = end
    return at


def _owned(folder: Path, patience: float) -> IO[bytes]:
    """A lock that ends with this process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("wb")
    except OSError as error:
        raise QueryError(
            f"{folder} can't be written: {error.strerror}", field="spool", fix="name another folder"
        ) from None
    end = time.monotonic() + patience
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        if time.monotonic() >= end:
            break
        time.sleep(0.05)
    file.close()
    raise QueryError(
        f"{folder} is in use by another query",
        field="spool",
        fix="stop that one, or give each its own spool",
    )


def _about(folder: Path) -> dict[str, Any]:
    path = folder / "about.json"
    if not path.exists():
        _replace(path, json.dumps({"id": uuid.uuid4().hex, "removed": 0}).encode())
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def _replace(path: Path, text: bytes) -> None:
    """Write a file so that it is there as a whole, or not at all."""
    beside = path.with_suffix(".new")
    with beside.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder safe too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
