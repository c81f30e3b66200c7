"""Messages on disk, from when they arrive until Spark is done with them.

A spool is a folder of numbered parts. Messages are appended to the last, which is sealed when
Spark asks for the next micro-batch; sealed parts never change, and are removed when the
micro-batch that read them is committed::

    00000041.part   00000042.part   00000043.part
    sealed, being   sealed, next    open: messages are appended, and are
    computed        micro-batch     safe from sync() on

So a micro-batch is a range of parts, and the same whenever it is read. What a process that was
ended left unfinished is at the end of the last part, and is cut off; whatever else is not as it
was written is a ``StateError``.
"""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from topwater.errors import AFRESH, StateError
from topwater.streams.spool_folder import (
    ABOUT,
    SUFFIX,
    disk_errors,
    owned,
    part_content,
    part_number,
    part_numbers,
    part_path,
    read_about,
    sync_folder,
    unwritable,
    write_about,
)
from topwater.streams.spool_part import (
    KEEP,
    Message,
    OpenPart,
    damage,
    extent,
    is_sealed,
    messages,
    salvaged,
)

__all__ = ["PART_BYTES", "Message", "Spool", "messages", "salvage"]

PART_BYTES = 1 << 20
_GAP = 10_000
"""More parts than this are not lost at once."""


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
        If it is damaged, or can't be written later on.

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
        self._owner = owned(self.folder, patience)
        self._file: OpenPart | None = None
        self._failed: OSError | None = None
        self._closed = False
        self._sizes: dict[int, int] = {}
        try:
            with disk_errors(self.folder):
                numbers = part_numbers(self.folder)
                self._about = read_about(self.folder, numbers)
                self.first = int(self._about["removed"])
                self._adopt(numbers)
                self.remove(self.first)
        except BaseException:
            self._owner.close()
            raise

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
        with self._lock, disk_errors(self.folder):
            about = self._about | told
            write_about(self.folder, about)
            self._about = about

    def add(self, message: Message) -> None:
        """Append a message. It is safe after the next :meth:`sync` only."""
        with self._writing():
            if self._file is None:
                self._file = OpenPart(part_path(self.folder, self._open), self._open)
                sync_folder(self.folder)
            self._file.add(message)
            self._sizes[self._open] = self._file.size

    def sync(self) -> None:
        """Make all that was added safe."""
        with self._writing():
            if self._file is None:
                return
            self._file.sync()
            self._sizes[self._open] = self._file.size
            if self._file.size >= self._part_bytes:
                self.seal()

    def seal(self) -> int:
        """Seal the open part, if it has messages; the number after it."""
        with self._writing():
            if self._file is not None:
                self._file.sync(end=True)
                self._file.close()
                self._sizes[self._open] = self._file.size
                self._file = None
                self._open += 1
            return self._open

    def part(self, number: int) -> bytes:
        """A sealed part, just as it was written.

        Raises
        ------
        StateError
            If it is not.
        """
        content = part_content(self.folder, number)
        if not is_sealed(content, number):
            whole = extent(content, number).whole
            if number >= self._about["marked"] or whole < len(content):
                raise damage(part_path(self.folder, number), content, whole)
        return content

    def remove(self, before: int) -> None:
        """Remove the parts before a number."""
        with self._lock, disk_errors(self.folder):
            if before > self.first:
                self.keep(removed=before)
                self.first = before
            for number in [number for number in self._sizes if number < before]:
                part_path(self.folder, number).unlink(missing_ok=True)
                del self._sizes[number]

    def close(self) -> None:
        """Let others open it."""
        with self._lock:
            if self._closed:
                return
            try:
                if self._failed is None:
                    self.seal()
            finally:
                self._closed = True
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
            if self._closed:
                raise StateError(f"the spool {self.folder} is closed", fix="open it again")
            try:
                if self._failed is not None:
                    raise self._failed
                yield
            except OSError as error:
                self._failed = error
                raise unwritable(self.folder, error) from error

    def _adopt(self, numbers: list[int]) -> None:
        """Take the parts that are there: all but the last were sealed."""
        self._open = max([*numbers, self.first - 1]) + 1
        here = (number for number in numbers if number >= self.first)
        for expected, number in enumerate(here, self.first):
            if number != expected:
                path = part_path(self.folder, expected)
                raise StateError(f"{path} is missing, and with it all messages in it", fix=KEEP)
        if "marked" not in self._about:  # of an earlier version, whose parts have no marks
            self.keep(marked=self._open)
        for number in numbers:
            if number >= self.first:
                self._adopt_part(number)
            self._sizes[number] = part_path(self.folder, number).stat().st_size

    def _adopt_part(self, number: int) -> None:
        content = part_content(self.folder, number)
        if is_sealed(content, number):
            return
        path, (whole, damaged) = part_path(self.folder, number), extent(content, number)
        marked = number >= self._about["marked"]
        if damaged or (number < self._open - 1 and (marked or whole < len(content))):
            raise damage(path, content, whole)
        os.truncate(path, whole)
        if marked:
            with contextlib.closing(OpenPart(path, number)) as last:
                last.sync(end=True)


def salvage(folder: str | Path) -> str:
    """Make a damaged spool one that can be opened, with all messages that can be read.

    What was damaged is kept beside it, as ``*.damaged``.

    Parameters
    ----------
    folder
        The spool. No query may have it open.

    Returns
    -------
    str
        What was done, for people to read.

    Raises
    ------
    StateError
        If there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise StateError(f"{folder} is not there", fix="name the folder of the spool")
    done: list[str] = []
    with owned(folder, 0.0), disk_errors(folder):
        stray = [path for path in folder.glob(f"*{SUFFIX}") if part_number(path) is None]
        done += map(_set_aside, stray)
        numbers = part_numbers(folder)
        try:
            about = read_about(folder, numbers)
        except StateError:
            done.append(f"{_set_aside(folder / ABOUT)}; {AFRESH}")
            about = {"id": uuid.uuid4().hex, "removed": min(numbers, default=0), "marked": 0}
        done += _salvaged_parts(folder, numbers, about["removed"])
        write_about(folder, about)
    return "\n".join(done) or "nothing is damaged"


def _salvaged_parts(folder: Path, numbers: list[int], first: int) -> Iterator[str]:
    """All parts from the first on; one far behind the others is not a part of this spool."""
    for number in numbers:
        if number >= first + _GAP:
            yield _set_aside(part_path(folder, number))
            continue
        for each in range(first, number + 1):
            yield from _salvaged_part(folder, each)
        first = max(first, number + 1)


def _salvaged_part(folder: Path, number: int) -> list[str]:
    path = part_path(folder, number)
    content = path.read_bytes() if path.exists() else b""
    if is_sealed(content, number):
        return []
    found = salvaged(content)
    done = _set_aside(path)
    with contextlib.closing(OpenPart(path, number)) as part:
        for message in found:
            part.add(message)
        part.sync(end=True)
    return [f"{done}; {len(found):,} messages of it can be read"]


def _set_aside(path: Path) -> str:
    if not path.exists():
        return f"{path.name} was missing"
    names = (f"{path.name}.damaged{more}" for more in ("", *range(2, 1_000)))
    beside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    path.replace(beside)
    return f"{path.name} is now {beside.name}"
