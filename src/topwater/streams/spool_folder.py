"""The folder of a spool: its parts by number, what is known of it, and the lock on it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from topwater.errors import QueryError, StateError
from topwater.private_files import make_private_folder, open_private
from topwater.streams.spool_part import KEEP

SUFFIX = ".part"
ABOUT = "about.json"


def part_path(folder: Path, number: int) -> Path:
    """The file of a part."""
    return folder / f"{number:08d}{SUFFIX}"


def part_number(path: Path) -> int | None:
    """The number of a part; None if its name is not that of a part."""
    if not (path.stem.isdecimal() and path.stem.isascii()):
        return None
    return int(path.stem) if path == part_path(path.parent, int(path.stem)) else None


def part_numbers(folder: Path) -> list[int]:
    """The parts that are there, in order."""
    found = {path: part_number(path) for path in folder.glob(f"*{SUFFIX}")}
    for path, number in found.items():
        if number is None:
            raise StateError(f"{path} is not a part of the spool", fix="move it out of that folder")
    return sorted(number for number in found.values() if number is not None)


def part_content(folder: Path, number: int) -> bytes:
    """The bytes of a part, whatever they are."""
    path = part_path(folder, number)
    try:
        return path.read_bytes()
    except OSError as error:
        raise StateError(f"{path} can't be read: {error.strerror}", fix=KEEP) from None


def owned(folder: Path, patience: float) -> IO[bytes]:
    """A lock that ends with this process."""
    try:
        make_private_folder(folder)
        file = open_private(folder / "lock")
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


def read_about(folder: Path, numbers: list[int]) -> dict[str, Any]:
    """What is known of the spool; a new one has neither parts nor this."""
    path = folder / ABOUT
    if not path.exists() and not numbers:
        write_about(folder, {"id": uuid.uuid4().hex, "removed": 0, "marked": 0})
    try:
        found = json.loads(path.read_bytes())
        checksum = found.pop("checksum", None)
        right = checksum in (None, _checksum(found)) and isinstance(found["id"], str)
        if right and type(found["removed"]) is int and type(found.get("marked", 0)) is int:
            return dict(found)
    except FileNotFoundError:
        raise StateError(f"{path} is missing", fix=KEEP) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise StateError(f"{path} is damaged", fix=KEEP)


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Keep what is known of the spool, with a checksum."""
    text = json.dumps(about | {"checksum": _checksum(about)})
    _replace(folder / ABOUT, text.encode())


def _checksum(about: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(about, sort_keys=True).encode())


@contextlib.contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """What a disk can't do, with what to do about it."""
    try:
        yield
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(folder: Path, error: OSError) -> StateError:
    """The error for what a disk can't do, to be raised."""
    return StateError(
        f"the spool {folder} can't be written: {error.strerror}",
        fix="make room for it, and start again: what it holds is kept",
    )


def _replace(path: Path, text: bytes) -> None:
    """Write a file so that it is there as a whole, or not at all."""
    beside = path.with_suffix(".new")
    with open_private(beside) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder safe too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
