"""A private folder for what a process writes, removed when the process ends, however it ends.

Who ends in good order removes its own. Who is killed can't: the next process that makes such a
folder removes it. It does so only if nothing speaks against it: the folder has our name and our
user, its owner holds no lock on it any more, and the process that it names is gone.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

PREFIX = "topwater-"
OWNER = "owner.json"
"""Which process a folder belongs to. It holds a lock on this file as long as it lives."""

_held: list[int] = []


@functools.cache
def run_folder() -> Path:
    """A private folder for everything that this process writes, removed at exit."""
    sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    claim(folder)
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not a fork of it, which ends earlier
        shutil.rmtree(folder, ignore_errors=True)


def claim(folder: Path) -> None:
    """Say that a folder is this process' own, as long as it lives."""
    file = os.open(folder / OWNER, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    # Only now: who finds a name in it and no lock on it knows that its owner is gone.
    os.write(file, json.dumps({"pid": os.getpid(), "started": start_of(os.getpid())}).encode())
    _held.append(file)


def sweep(temporary: Path) -> None:
    """Remove the folders of processes that were killed."""
    for folder in temporary.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            _sweep(folder)


def _sweep(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    with (folder / OWNER).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_alive(json.loads(file.read())):
            shutil.rmtree(folder, ignore_errors=True)


def is_alive(owner: dict[str, Any]) -> bool:
    """Whether a process still runs: one of its number that started when it did."""
    try:
        os.kill(int(owner["pid"]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return start_of(int(owner["pid"])) in (owner["started"], None)


def start_of(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; None where that is not known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program comes before, in parentheses, and may hold anything.
    return int(stat.rpartition(")")[2].split()[19])
