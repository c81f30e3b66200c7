"""Messages on disk: what is there after any kind of end."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.errors import StateError
from topwater.streams import spool_part
from topwater.streams.spool import Message, Spool, messages, salvage

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


def spool_of(folder: Path, parts: int = 2) -> list[Message]:
    """A small spool of some sealed parts and an open one, as a process that is killed leaves it."""
    given = [Message("t", f"message {n}".encode(), n, n) for n in range(2 * parts + 2)]
    made = Spool(folder)
    for number, message in enumerate(given):
        made.add(message)
        made.sync()
        if number % 2 and number < 2 * parts:
            made.seal()
    assert made._file is not None
    made._file.close()  # its process is gone, and nothing else was done
    made._owner.close()
    return given


def opened(folder: Path) -> list[Message]:
    with Spool(folder, patience=0) as spool:
        return stored(spool)


def flipped(folder: Path, bits: Callable[[int], Iterable[int]]) -> int:
    """How many flips are noticed. No other may change what is read."""
    given = spool_of(folder, parts=1)
    before = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    noticed = 0
    for file, content in before.items():
        for byte, bit in [(at, bit) for at in range(len(content)) for bit in bits(at)]:
            changed = bytearray(content)
            changed[byte] ^= 1 << bit
            for path, kept in before.items():
                path.write_bytes(changed if path == file else kept)
            try:
                assert opened(folder) == given
            except StateError as error:
                assert str(file) in error.problem  # noqa: PT017
                noticed += 1
    return noticed


def test_a_flipped_bit_in_each_byte_is_noticed_or_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never another payload, never fewer messages, never anything but a StateError."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # nothing ends here but the test
    assert flipped(tmp_path, lambda at: [at % 8]) > 200


@pytest.mark.soak
def test_each_flipped_bit_is_noticed_or_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    assert flipped(tmp_path, lambda _: range(8)) > 1_600


def test_a_part_that_changes_under_a_query_is_noticed_when_it_is_read(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.add(Message("a", b"12", 1))
        spool.seal()
        path = tmp_path / "00000000.part"
        path.write_bytes(path.read_bytes().replace(b"12", b"13"))
        with pytest.raises(StateError, match=r"00000000\.part is damaged at byte 0 of 49"):
            spool.part(0)
        path.unlink()
        with pytest.raises(StateError, match=r"00000000\.part can't be read"):
            spool.part(0)


def test_a_missing_part_and_a_stray_one(tmp_path: Path) -> None:
    given = spool_of(tmp_path)
    (tmp_path / "00000001.part").rename(tmp_path / "copy of 1.part")
    with pytest.raises(StateError, match=r"copy of 1\.part is not a part"):
        opened(tmp_path)
    (tmp_path / "copy of 1.part").rename(tmp_path / "aside")
    with pytest.raises(StateError, match=r"00000001\.part is missing"):
        opened(tmp_path)
    shutil.copy(tmp_path / "00000000.part", tmp_path / "00000001.part")
    with pytest.raises(StateError, match=r"00000001\.part is damaged"):
        opened(tmp_path)
    (tmp_path / "aside").replace(tmp_path / "00000001.part")
    assert opened(tmp_path) == given


def test_what_can_be_read_is_saved(tmp_path: Path) -> None:
    given = spool_of(tmp_path)
    first = tmp_path / "00000000.part"
    first.write_bytes(first.read_bytes().replace(b"message 0", b"message 9"))
    (tmp_path / "00000001.part").unlink()
    (tmp_path / "x.part").touch()
    told = salvage(tmp_path)
    assert "00000000.part is now 00000000.part.damaged; 1 messages of it can be read" in told
    assert "00000001.part was missing" in told
    assert opened(tmp_path) == [given[1], *given[4:]]
    assert salvage(tmp_path) == "nothing is damaged"
    with pytest.raises(StateError, match="absent is not there"):
        salvage(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


def test_a_closed_spool_takes_nothing(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.add(Message("t", b"x", 1))
    for write in (lambda: spool.add(Message("t", b"y", 2)), spool.sync, spool.seal):
        with pytest.raises(StateError, match="is closed"):
            write()
    spool.close()
    assert [message.payload for message in opened(tmp_path)] == [b"x"]


@pytest.mark.parametrize("name", ["99999999999999999999.part", "90000000.part"])
def test_a_part_with_a_number_far_from_the_others_is_not_counted_up_to(
    tmp_path: Path, name: str
) -> None:
    given = spool_of(tmp_path)
    (tmp_path / name).touch()
    with pytest.raises(StateError, match=r"\.part is missing"):
        opened(tmp_path)
    assert f"{name} is now {name}.damaged" in salvage(tmp_path).splitlines()
    assert opened(tmp_path) == given


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_copy_of_a_part_does_not_double_its_messages(tmp_path: Path, number: int) -> None:
    given = spool_of(tmp_path)
    assert opened(tmp_path) == given
    shutil.copy(tmp_path / f"{number:08d}.part", tmp_path / "00000003.part")
    with pytest.raises(StateError, match=r"00000003\.part is damaged"):
        opened(tmp_path)


def test_what_was_set_aside_once_stays(tmp_path: Path) -> None:
    spool_of(tmp_path)
    for told in ("x.part.damaged", "x.part.damaged2"):
        (tmp_path / "x.part").write_text(told)
        assert f"x.part is now {told}" in salvage(tmp_path).splitlines()
        assert (tmp_path / told).read_text() == told
    assert (tmp_path / "x.part.damaged").read_text() == "x.part.damaged"


def test_without_what_is_known_the_messages_are_saved_for_a_new_checkpoint(tmp_path: Path) -> None:
    given = spool_of(tmp_path)
    os.truncate(tmp_path / "about.json", 10)
    with pytest.raises(StateError, match=r"about\.json is damaged") as caught:
        opened(tmp_path)
    assert "salvage" in caught.value.fix
    assert "start from an empty checkpoint" in salvage(tmp_path)
    assert opened(tmp_path) == given


def test_a_spool_of_an_earlier_version_is_gone_on_with(tmp_path: Path) -> None:
    """Its parts had no marks, and what is known of it had no checksum."""
    given = spool_of(tmp_path)
    for path in tmp_path.glob("*.part"):
        content, at, kept = path.read_bytes(), 0, b""
        while at < len(content):
            after = spool_part._end_of_record(content, at) or 0
            kept += content[at:after] if len([*messages(content[at:after])]) else b""
            at = after
        path.write_bytes(kept)
    about = json.loads((tmp_path / "about.json").read_bytes())
    old = {name: about[name] for name in ("id", "removed")}
    (tmp_path / "about.json").write_text(json.dumps(old))
    os.truncate(path := tmp_path / "00000002.part", path.stat().st_size - 3)
    assert opened(tmp_path) == given[:-1]
    with Spool(tmp_path) as spool:
        spool.add(Message("new", b"", 1))
    assert opened(tmp_path) == [*given[:-1], Message("new", b"", 1)]
    first = tmp_path / "00000000.part"
    first.write_bytes(first.read_bytes().replace(b"message 1", b"message 7"))
    with pytest.raises(StateError, match=r"00000000\.part is damaged"):
        opened(tmp_path)


@pytest.mark.parametrize("doing", ["open", "open anew", "remove", "keep", "repair"])
def test_a_full_disk_is_told_whatever_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    given = spool_of(tmp_path / "spool", parts=1)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def act() -> None:
        if doing == "open":
            opened(tmp_path / "new")
        elif doing in ("open anew", "repair"):
            opened(tmp_path / "spool")
        else:
            spool.remove(1) if doing == "remove" else spool.keep(client="me")

    with contextlib.ExitStack() as stack:
        if doing in ("remove", "keep"):
            spool = stack.enter_context(Spool(tmp_path / "spool"))
        patched = stack.enter_context(monkeypatch.context())
        patched.setattr(os, "truncate" if doing == "repair" else "fsync", full)
        with pytest.raises(StateError, match=r"can't be written: No space left") as caught:
            act()
        assert "make room" in caught.value.fix
        patched.undo()
        if doing in ("remove", "keep"):
            act()
    assert opened(tmp_path / "spool") == given[2 if doing == "remove" else 0 :]


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """On a file system of 256 kB, which only that process sees, and which ends with it."""
    made = f"mount -t tmpfs -o size=256k,nr_inodes=100 tmpfs '{tmp_path}' || exit 77"
    driver = f"exec '{sys.executable}' -m tests.support.full_disk '{tmp_path}'"
    root = Path(__file__).resolve().parents[2]
    found = subprocess.run(  # noqa: S603
        ["unshare", "--mount", "sh", "-c", f"{made}; {driver}"],  # noqa: S607
        capture_output=True,
        text=True,
        cwd=root,
    )
    if found.returncode == 77 or "unshare failed" in found.stderr:
        pytest.skip("only the superuser may make a file system")
    assert found.stdout == "all is there\n", found.stderr


def test_only_its_owner_may_read_a_spool(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Spool(tmp_path / "spool") as spool:
            spool.keep(client_id="a")
            spool.add(Message("bids", b"{}", 1))
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "spool").iterdir()}
    assert modes == dict.fromkeys(("about.json", "lock", "00000000.part"), 0o600)
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700
