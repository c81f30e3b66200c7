"""Folders and files that nobody but their owner may read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any, Literal


def make_private_folder(folder: str | Path) -> None:
    """Make a folder, and those that it is in, unless it is there; only its owner may look into it.

    A folder that is there keeps its rights: who made it has chosen them.
    """
    path = Path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def open_private(path: str | Path, mode: Literal["wb", "ab"] = "wb") -> IO[bytes]:
    """A file to be written anew, or added to, that only its owner may read."""
    file: Any = open(path, mode, opener=_private)  # noqa: SIM115 - Path has no opener
    os.fchmod(file.fileno(), 0o600)  # it may have been there, with other rights
    found: IO[bytes] = file
    return found


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
