"""The files of a folder that is looked at again and again: a look costs what is new.

A folder changes its time when a name comes or goes. So one that has not changed is not read, only
asked for its time; where something changed, its names are read, and files only if they are new.
Folders to which nothing can come any more are closed, and are not even asked.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RECENT = 3_000_000_000
"""Nanoseconds in which a folder may change again without another time: clocks of disks are coarse,
and those of other machines differ."""


@dataclass(slots=True)
class _Known:
    """A folder as it was when its names were read."""

    inode: int = -1
    changed: int = -1
    names: set[str] = field(default_factory=set)


class NewFiles:
    """Finds each file once, in a folder and those inside; hidden ones are left out.

    Parameters
    ----------
    root
        The folder.
    endings
        Those of the names that are wanted.
    """

    def __init__(self, root: Path, endings: tuple[str, ...]) -> None:
        self._root = root
        self._endings = endings
        self._open: dict[Path, _Known] = {}

    def look(self) -> list[Path]:
        """The files that came since the last call, or are there at the first.

        Raises
        ------
        OSError
            If the folder can't be read.
        """
        if self._root not in self._open:
            self._open = {self._root: _Known()}
        found: list[Path] = []
        todo = [*self._open]
        while todo:
            folder = todo.pop()
            with contextlib.suppress(OSError) if folder != self._root else contextlib.nullcontext():
                for name, is_folder in self._came(folder):
                    if not is_folder:
                        found.append(folder / name)
                    elif folder / name not in self._open:
                        self._open[folder / name] = _Known()
                        todo.append(folder / name)
        return found

    def close(self, *folders: Path) -> None:
        """Look into folders no more: nothing comes to them, unless they are made anew."""
        gone = set(folders)
        if gone:
            self._open = {
                each: known
                for each, known in self._open.items()
                if each not in gone and gone.isdisjoint(each.parents)
            }

    @property
    def folders(self) -> list[Path]:
        """Those that are asked for their time in each look."""
        return [*self._open]

    def _came(self, folder: Path) -> Iterator[tuple[str, bool]]:
        """The new names in a folder, and whether they are those of folders."""
        known = self._open.get(folder)
        if known is None:
            return  # it went while the others were looked into
        try:
            now = folder.stat()
        except FileNotFoundError:
            self.close(folder)
            return
        if now.st_ino != known.inode:
            known.names.clear()  # another folder, by the same name
        elif now.st_mtime_ns == known.changed and time.time_ns() - known.changed > RECENT:
            return
        there: set[str] = set()
        with os.scandir(folder) as entries:
            for entry in entries:
                there.add(entry.name)
                if entry.name in known.names or entry.name.startswith((".", "_")):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield entry.name, True
                elif entry.name.endswith(self._endings):
                    if _is_file(entry):
                        yield entry.name, False
                    else:
                        there.discard(entry.name)  # perhaps later
        self.close(*(folder / name for name in known.names - there))
        known.inode, known.changed, known.names = now.st_ino, now.st_mtime_ns, there


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a plain file: a pipe or a device would be read for ever."""
    try:
        return entry.is_file()
    except OSError:  # a link to itself
        return False
