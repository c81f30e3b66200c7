"""A spool on a disk that is full. To be run on a small file system, as a program with its folder.

Whatever fails there, what was called safe is there afterwards.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

from topwater.errors import QueryError, StateError
from topwater.streams.spool import Message, Spool, messages

GIVEN = [Message("t", b"one", 1), Message("t", b"two", 2)]


def main(disk: Path) -> None:
    """Fill the disk, try everything, and make room again."""
    with Spool(disk / "spool") as spool:
        for message in GIVEN:
            spool.add(message)
            spool.seal()
    with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 512)
    with Spool(disk / "spool") as spool:
        _fails(lambda: spool.remove(1))
        _fails(lambda: spool.keep(client="me"))
        _fails(lambda: _write(spool))
        _require_given(spool)
    _fails(lambda: Spool(disk / "new"))
    (disk / "filler").unlink()
    with Spool(disk / "spool") as spool:
        _require_given(spool)
        spool.remove(2)


def _write(spool: Spool) -> None:
    spool.add(Message("t", b"x" * 100_000, 1))
    spool.sync()


def _fails(act: Callable[[], object]) -> None:
    try:
        act()
    except (StateError, QueryError) as error:
        if "No space left" not in error.problem:
            raise
    else:
        raise AssertionError("the disk is not full")


def _require_given(spool: Spool) -> None:
    parts = [spool.part(number) for number in range(spool.first, spool.first + 2)]
    if [message for part in parts for message in messages(part)] != GIVEN:
        raise AssertionError(parts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    print("all is there")
