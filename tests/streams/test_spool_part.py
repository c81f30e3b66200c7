"""One part of a spool: what is read of it is what was written, whatever became of its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.streams.spool_part import (
    Message,
    OpenPart,
    damage,
    extent,
    is_sealed,
    messages,
    salvaged,
)

NUMBER = 300
GIVEN = [
    Message("a", b"one", 1),
    Message("a/b", None, 2, 7),
    Message("", b"three" * 4, -3, 65_535),
    Message("a", b"", 4),
    Message("é", b"\0\xff", 2**62),
]


def written(path: Path, given: list[Message], *, end: bool, unsafe: int = 0) -> bytes:
    """The bytes of a part: one mark after two messages, one after all; the last may be unsafe."""
    part = OpenPart(path, NUMBER)
    for number, message in enumerate(given):
        part.add(message)
        if number == 1 or number + unsafe + 1 == len(given):
            part.sync()
    if end:
        part.sync(end=True)
    part.close()
    return path.read_bytes()


def flips(content: bytes) -> Iterator[bytes]:
    """The same with each bit in turn the other way round."""
    for bit in range(8 * len(content)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def test_each_flipped_bit_of_a_sealed_part_is_noticed(tmp_path: Path) -> None:
    content = written(tmp_path / "part", GIVEN, end=True)
    assert is_sealed(content, NUMBER)
    assert list(messages(content)) == GIVEN
    assert not any(is_sealed(each, NUMBER) for each in flips(content))


def test_each_flipped_bit_of_an_open_part_is_noticed_or_changes_nothing_safe(
    tmp_path: Path,
) -> None:
    content = written(tmp_path / "part", GIVEN, end=False, unsafe=1)
    assert extent(content, NUMBER) == (len(content), False)
    harmless = 0
    for each in flips(content):
        whole, damaged = extent(each, NUMBER)
        found = list(messages(each[:whole]))
        assert found == GIVEN[: len(found)], "never another payload"
        assert damaged or len(found) >= len(GIVEN) - 1
        harmless += not damaged
    assert harmless < 8 * 60, "only the last mark, and what follows it"


def test_what_is_torn_off_anywhere_is_not_damage_and_what_is_left_is_right(tmp_path: Path) -> None:
    content = written(tmp_path / "part", GIVEN, end=True)
    for cut in range(len(content)):
        whole, damaged = extent(content[:cut], NUMBER)
        found = list(messages(content[:whole]))
        assert not damaged
        assert found == GIVEN[: len(found)]
        assert not is_sealed(content[:cut], NUMBER)


def test_a_part_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    content = written(tmp_path / "part", GIVEN, end=True)
    assert not is_sealed(content, NUMBER + 1)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    whole, _ = extent(content, NUMBER)
    assert list(messages(content[:whole])) == salvaged(content[:whole])
    assert not is_sealed(content, NUMBER)


def test_what_can_be_read_behind_the_damage_is_saved(tmp_path: Path) -> None:
    content = bytearray(written(tmp_path / "part", GIVEN, end=True))
    content[content.index(b"one")] ^= 1
    assert salvaged(bytes(content)) == GIVEN[1:]
    assert salvaged(b"x" + bytes(content[7:])) == GIVEN[1:]


def test_the_error_names_the_file_and_what_can_be_saved(tmp_path: Path) -> None:
    content = written(tmp_path / "part", GIVEN, end=True)
    at = content.index(b"three") - 21
    error = damage(tmp_path / "part", content, at)
    assert f"{tmp_path / 'part'} is damaged at byte {at}" in error.problem
    assert "the 2 messages before it can be read" in error.problem
    assert "salvage" in error.fix


def test_a_part_that_was_begun_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "part"
    written(path, GIVEN[:2], end=False)
    part = OpenPart(path, NUMBER)
    part.add(GIVEN[2])
    part.sync(end=True)
    part.close()
    assert is_sealed(path.read_bytes(), NUMBER)
    assert list(messages(path.read_bytes())) == GIVEN[:3]


@pytest.mark.parametrize("number", [0, 2**24, 2**31 - 1, 2**40])
def test_numbers_of_parts_do_not_run_out(tmp_path: Path, number: int) -> None:
    part = OpenPart(tmp_path / "part", number)
    part.add(GIVEN[0])
    part.sync(end=True)
    part.close()
    assert is_sealed((tmp_path / "part").read_bytes(), number)
