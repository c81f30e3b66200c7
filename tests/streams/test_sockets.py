"""Lines of text from a server: cut where they end, kept as they are."""

from __future__ import annotations

import itertools
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.timing import effort
from topwater.errors import SourceError
from topwater.streams import SocketStream
from topwater.streams.sockets import SocketFeed, _Lines
from topwater.streams.spool import Spool, messages


@given(st.lists(st.binary(max_size=6), max_size=6), st.lists(st.integers(0, 30), max_size=4))
def test_lines_are_the_same_however_they_come(texts: list[bytes], cuts: list[int]) -> None:
    whole = b"\n".join(texts)
    places = [0, *sorted(cuts), len(whole)]
    lines = _Lines(max_bytes=100)
    found: list[bytes | None] = []
    for start, end in itertools.pairwise(places):
        found += lines.lines(whole[start:end])
    found += lines.rest()
    each = (line.removesuffix(b"\r") for line in whole.split(b"\n"))
    assert found == [line for line in each if line.strip()]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([b"12345\n"], [b"12345"]),
        ([b"123456\n1\n"], [None, b"1"]),
        ([b"123", b"456", b"789\n1\n"], [None, b"1"]),
        ([b"123456", b"7\n", b"1\n"], [None, b"1"]),
        ([b"123456"], [None]),
        ([b"12345\r\n"], [b"12345"]),
        ([b" \n\r\n1"], [b"1"]),
    ],
)
def test_a_line_that_is_too_long_is_told_once(
    pieces: list[bytes], found: list[bytes | None]
) -> None:
    lines = _Lines(max_bytes=5)
    got = [line for piece in pieces for line in lines.lines(piece)]
    assert got + lines.rest() == found


def feed_of(port: int, folder: Path, **more: Any) -> SocketFeed:
    url = f"tcp://127.0.0.1:{port}"
    settings = SocketStream(url=url, spool=str(folder), **{"schema": "a int", **more})
    return SocketFeed(settings, Spool(folder))


def test_what_a_server_sends_is_kept(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        feed = feed_of(server.getsockname()[1], tmp_path / "spool", max_bytes=8)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"one\n\ntoo long a line\r\ntwo\r\nthr")
                connection.sendall(b"ee\n")

        sending = threading.Thread(target=serve)
        sending.start()
        with pytest.raises(ConnectionError, match="hung up"):
            feed.serve()
        sending.join(5)
    last = feed.spool.seal()
    parts = [feed.spool.part(number) for number in range(feed.spool.first, last)]
    found = [message for part in parts for message in messages(part)]
    assert [message.payload for message in found] == [b"one", None, b"two", b"three"]
    assert all(message.arrived > 1_700_000_000_000 for message in found)
    assert feed.counts == {"received": 4, "too_long": 1}
    feed.stop()


@pytest.mark.parametrize(
    ("form", "end", "kept"),
    [
        ("csv", b"ann,12", False),  # of 123
        ("csv", b"ann,123\n", True),
        ("json", b'{"a": 12', False),
        ("json", b'{"a": 12}', True),  # it can't have been longer
        ("json", b"12", False),
        ("ntriples", b"5\t<x:a> <x:b> <x:c> .", False),  # more triples may have followed
        ("jsonld", b'{"@id": "x:a", "time": 5}', True),
    ],
)
def test_a_line_that_the_server_cuts_off_is_not_an_event(
    tmp_path: Path, form: str, end: bytes, kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        more = {} if form in ("csv", "json") else {"schema": ""}
        feed = feed_of(server.getsockname()[1], tmp_path / "spool", format=form, **more)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"first\n" + end)

        sending = threading.Thread(target=serve)
        sending.start()
        with pytest.raises(ConnectionError, match="hung up"):
            feed.serve()
        sending.join(5)
    feed.spool.seal()
    found = [message.payload for message in messages(feed.spool.part(0))]
    assert found == [b"first", *([end.strip()] if kept else [])]
    assert feed.counts["cut_off"] == (not kept)
    assert ("in the middle of a line" in caplog.text) == (not kept)
    feed.stop()


def test_bytes_that_drip_take_a_time_that_grows_with_their_number() -> None:
    """Each byte that came was added to a copy of all before it."""

    def drip() -> None:
        lines = _Lines(max_bytes=1 << 20)
        for _ in range(300_000):
            lines.lines(b"x")
        assert lines.lines(b"\n") == [b"x" * 300_000]

    assert effort(drip, 3) < 3


def test_a_server_is_looked_for_at_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        feed = feed_of(port, tmp_path / "spool")
        feed.check()
    with pytest.raises(SourceError, match=f"127.0.0.1:{port}") as caught:
        feed.check()
    assert caught.value.field == "url"
    feed.stop()
