"""Messages on disk: what is there after any kind of end."""

from __future__ import annotations

import contextlib
import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.errors import StateError
from topwater.streams.spool import Message, Spool, messages

MESSAGES = st.lists(
    st.builds(
        Message,
        st.text(max_size=5),
        st.none() | st.binary(max_size=50),
        st.integers(0, 2**62),
        st.integers(0, 65_535),
    ),
    max_size=8,
)


def stored(spool: Spool) -> list[Message]:
    return [m for n in range(spool.first, spool.sealed) for m in messages(spool.part(n))]


@settings(max_examples=30, deadline=None)
@given(MESSAGES, st.integers(1, 200), st.data())
def test_a_process_that_ends_anywhere(
    given: list[Message], part_bytes: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Spool(folder, part_bytes) as spool:
            for message in given:
                spool.add(message)
                spool.sync()
            whole = stored_after(spool)
        assert whole == given
        parts = sorted(Path(folder).glob("*.part"))
        if parts:
            # The last write did not reach the disk as a whole.
            cut = data.draw(st.integers(0, parts[-1].stat().st_size))
            os.truncate(parts[-1], cut)
        with Spool(folder) as again:
            found = stored(again)
            assert found == given[: len(found)]
            again.add(Message("more", b"more", 1))
        with Spool(folder) as last:
            assert stored(last) == [*found, Message("more", b"more", 1)]


def stored_after(spool: Spool) -> list[Message]:
    spool.seal()
    return stored(spool)


def test_bytes_that_were_never_written(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.add(Message("a", b"one", 1))
    (part,) = tmp_path.glob("*.part")
    part.write_bytes(part.read_bytes() + b"\0" * 100)  # what a power cut may leave behind
    with Spool(tmp_path) as spool:
        assert stored(spool) == [Message("a", b"one", 1)]


def test_parts_are_removed_and_their_numbers_never_used_again(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        for n in range(3):
            spool.add(Message("a", str(n).encode(), n))
            assert spool.seal() == n + 1
        before = spool.size
        spool.remove(2)
        assert (spool.first, spool.sealed) == (2, 3)
        assert 0 < spool.size < before
        spool.remove(3)
        assert spool.size == 0
        name = spool.id
    with Spool(tmp_path) as spool:
        assert (spool.id, spool.first, spool.sealed) == (name, 3, 3)
        assert spool.seal() == 3


def test_what_a_removal_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Spool(tmp_path) as spool:
        for n in range(3):
            spool.add(Message("a", b"x", n))
            spool.seal()
        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", lambda *_, **__: None)
            spool.remove(2)
    with Spool(tmp_path) as spool:
        assert spool.first == 2
        assert len(stored(spool)) == 1
    assert len([*tmp_path.glob("*.part")]) == 1


def test_things_to_remember(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        assert spool.recall("client") is None
        spool.keep(client="me")
    with Spool(tmp_path) as spool:
        assert spool.recall("client") == "me"


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    spool = Spool(tmp_path)
    spool.add(Message("a", b"x", 1))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StateError, match=r"can't be written: No space left"):
            spool.sync()
    spool.close()


def test_after_a_failed_write_nothing_is_called_safe(tmp_path: Path) -> None:
    """Half of a long message reached the disk: to write on would bury it, to seal would show it."""
    spool = Spool(tmp_path)
    spool.add(Message("a", b"kept", 1))
    spool.sync()
    with _files_of_at_most(100_000), pytest.raises(StateError, match="can't be written"):
        spool.add(Message("a", b"x" * 300_000, 2))
    for write in (spool.sync, spool.seal, lambda: spool.add(Message("a", b"y", 3))):
        with pytest.raises(StateError, match="can't be written"):
            write()
    spool.close()
    with Spool(tmp_path, patience=0) as again:
        assert stored(again) == [Message("a", b"kept", 1)]


@contextlib.contextmanager
def _files_of_at_most(size: int) -> Iterator[None]:
    """What a disk that is nearly full does: a part of a long write succeeds."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
