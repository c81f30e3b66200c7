"""Folders and files that nobody but their owner may read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from topwater.private_files import make_private_folder, open_private


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_folder_is_for_its_owner(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b")
    make_private_folder(tmp_path / "a" / "b")
    assert mode(tmp_path / "a" / "b") == 0o700


def test_a_folder_that_is_there_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o750)
    make_private_folder(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o750


def test_a_file_is_for_its_owner_even_if_it_was_for_all(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    for name in ("old", "new"):
        with open_private(tmp_path / name) as file:
            file.write(b"new")
        assert mode(tmp_path / name) == 0o600
        assert (tmp_path / name).read_bytes() == b"new"
