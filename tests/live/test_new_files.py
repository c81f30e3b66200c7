"""Files that come to a folder: each is found once, and a look costs what is new."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from topwater.live.new_files import RECENT, NewFiles


def file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n", encoding="utf-8")
    return path


def names(files: NewFiles, root: Path) -> set[str]:
    return {str(each.relative_to(root)) for each in files.look()}


def made_old(root: Path) -> None:
    """As if nothing had come for a while."""
    then = time.time_ns() - 2 * RECENT
    for folder in (root, *(each for each in root.rglob("*") if each.is_dir())):
        os.utime(folder, ns=(then, then))


def test_each_file_is_found_once_wherever_it_is(tmp_path: Path) -> None:
    files = NewFiles(tmp_path, (".json",))
    assert names(files, tmp_path) == set()
    file(tmp_path / "a.json")
    file(tmp_path / "north" / "x" / "b.json")
    assert names(files, tmp_path) == {"a.json", "north/x/b.json"}
    file(tmp_path / "north" / "x" / "c.json")
    file(tmp_path / "south" / "d.json")
    assert names(files, tmp_path) == {"north/x/c.json", "south/d.json"}
    assert names(files, tmp_path) == set()


def test_what_is_hidden_or_no_file_is_left_out(tmp_path: Path) -> None:
    for name in ("_log/a.json", ".a.json", "_a.json", "notes.txt", "b.json"):
        file(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert names(NewFiles(tmp_path, (".json",)), tmp_path) == {"b.json"}


def test_a_change_that_the_time_of_a_folder_does_not_show_is_seen(tmp_path: Path) -> None:
    """Two changes within a tick of the clock leave the folder with one time."""
    files = NewFiles(tmp_path, (".json",))
    file(tmp_path / "a.json")
    before = tmp_path.stat().st_mtime_ns
    assert names(files, tmp_path) == {"a.json"}
    file(tmp_path / "b.json")
    os.utime(tmp_path, ns=(before, before))
    assert names(files, tmp_path) == {"b.json"}


def test_folders_that_are_made_anew(tmp_path: Path) -> None:
    root = tmp_path / "answers"
    files = NewFiles(root, (".json",))
    with pytest.raises(FileNotFoundError):
        root.stat()
    assert files.look() == []
    file(root / "batch=0" / "a.json")
    assert names(files, root) == {"batch=0/a.json"}
    files.close(root / "batch=0")
    shutil.rmtree(root / "batch=0")
    assert names(files, root) == set()
    file(root / "batch=0" / "b.json")
    assert names(files, root) == {"batch=0/b.json"}
    shutil.rmtree(root)
    file(root / "batch=0" / "c.json")
    assert names(files, root) == {"batch=0/c.json"}


def test_closed_folders_are_not_looked_into(tmp_path: Path) -> None:
    files = NewFiles(tmp_path, (".json",))
    file(tmp_path / "batch=0" / "group=a" / "a.json")
    files.look()
    assert len(files.folders) == 3
    files.close(tmp_path / "batch=0")
    assert files.folders == [tmp_path]
    file(tmp_path / "batch=0" / "group=a" / "b.json")
    assert names(files, tmp_path) == set()


def test_of_thousands_of_folders_none_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2_000):
        file(tmp_path / f"batch={number}" / "a.json")
    files = NewFiles(tmp_path, (".json",))
    assert len(files.look()) == 2_000
    files.close(*files.folders[1:])
    made_old(tmp_path)
    files.look()
    read: list[Path] = []
    scan = os.scandir

    def scanned(path: Path) -> Any:
        read.append(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scanned)
    assert files.look() == []
    assert read == []
    new = file(tmp_path / "batch=2000" / "a.json")
    assert files.look() == [new]
    assert read == [tmp_path, new.parent]
