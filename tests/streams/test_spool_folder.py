"""The folder of a spool: parts by number, what is known of it, and who has it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from topwater.errors import QueryError, StateError
from topwater.streams.spool_folder import (
    ABOUT,
    disk_errors,
    owned,
    part_content,
    part_number,
    part_numbers,
    part_path,
    read_about,
    write_about,
)

KNOWN = {"id": "7f", "removed": 3, "marked": 0, "client_id": "me"}


@pytest.mark.parametrize("name", ["x", "", "1", "+0000001", "-0000001", "٠٠٠٠٠٠٠١", "000000001"])
def test_what_is_not_the_name_of_a_part(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.part"
    assert part_number(path) is None
    part_path(tmp_path, 4).touch()
    assert part_numbers(tmp_path) == [4]
    path.touch()
    if name:
        with pytest.raises(StateError, match="is not a part of the spool") as caught:
            part_numbers(tmp_path)
        assert path.name in caught.value.problem


def test_numbers_may_grow(tmp_path: Path) -> None:
    for number in (0, 99_999_999, 100_000_000):
        assert part_number(part_path(tmp_path, number)) == number


def test_a_part_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"00000004\.part can't be read: No such file"):
        part_content(tmp_path, 4)


def test_each_flipped_bit_of_what_is_known_is_noticed_or_harmless(tmp_path: Path) -> None:
    write_about(tmp_path, KNOWN)
    path = tmp_path / ABOUT
    content = path.read_bytes()
    assert read_about(tmp_path, []) == KNOWN
    for bit in range(8 * len(content)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            found = read_about(tmp_path, [])
        except StateError as error:
            assert str(path) in error.problem  # noqa: PT017
            assert error.fix  # noqa: PT017
        else:
            assert {name: found.get(name) for name in KNOWN} == KNOWN


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"7", b"\xff", b"[" * 100_000, b'{"id": "a"}'),
        *(b'{"id": 7, "removed": 1}', b'{"id": "a", "removed": "1"}'),
    ],
)
def test_what_is_known_was_cut_off_or_is_something_else(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ABOUT).write_bytes(content)
    with pytest.raises(StateError, match=r"about\.json is damaged"):
        read_about(tmp_path, [])


def test_what_is_known_is_gone(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"about\.json is missing"):
        read_about(tmp_path, [0])
    assert read_about(tmp_path, [])["removed"] == 0, "a new spool"


def test_one_process_has_it(tmp_path: Path) -> None:
    with owned(tmp_path / "s", 0.0), pytest.raises(QueryError, match="in use"):
        owned(tmp_path / "s", 0.0)
    owned(tmp_path / "s", 0.0).close()


def test_errors_of_the_disk_are_told(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="No space left") as caught, disk_errors(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert "what it holds is kept" in caught.value.fix
