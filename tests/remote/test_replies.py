"""What a service answered: bodies up to a size, and names for what is wrong."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import zlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from topwater.remote.replies import Reply, problem_of, read, retry_after

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Chunks(httpx.AsyncByteStream):
    """A body that comes in pieces, and counts those that were taken."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            self.taken += 1
            yield piece


def reply_to(
    *pieces: bytes, status: int = 200, largest: int = 100, **headers: str
) -> tuple[Reply, int]:
    """The reply, and how many pieces of the body were read for it."""
    chunks = Chunks(*pieces)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx.Response(status, headers=named, stream=chunks)
    return asyncio.run(read(response, largest)), chunks.taken


def test_a_body_comes_whole() -> None:
    reply, _ = reply_to(b"one ", b"two", x_id="7")
    assert reply == Reply(None, 200, {"x-id": "7"}, b"one two")


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", " GZIP"])
def test_a_packed_body_is_unpacked(coding: str) -> None:
    packed = gzip.compress(b"x" * 100)
    reply, _ = reply_to(packed[:10], packed[10:], content_encoding=coding)
    assert (reply.problem, reply.body) == (None, b"x" * 100)


def test_a_body_is_read_no_further_than_it_may_be() -> None:
    reply, taken = reply_to(b"x" * 60, b"x" * 41, b"x")
    assert (reply.problem, reply.body, taken) == ("large", b"", 2)
    assert reply_to(b"x" * 60, b"x" * 40)[0].problem is None


def test_a_small_body_that_unpacks_to_a_large_one() -> None:
    assert reply_to(gzip.compress(b"x" * 101), content_encoding="gzip")[0].problem == "large"
    assert reply_to(gzip.compress(b"x" * 10**6), content_encoding="gzip")[0].problem == "large"


def test_what_follows_a_packed_body_is_not_read_to_its_end() -> None:
    pieces = [gzip.compress(b"{}"), *[b"x" * 1_000] * 50]
    reply, taken = reply_to(*pieces, content_encoding="gzip")
    assert (reply.problem, reply.body, taken) == (None, b"{}", 2)


def test_a_body_in_another_coding_is_not_read() -> None:
    reply, taken = reply_to(b"x", content_encoding="br")
    assert (reply.problem, taken) == ("garbled", 0)


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (204, None), (299, None), (304, None), (100, "garbled"), (302, "garbled"), (400, "client"),
        (404, "client"), (408, "timeout"), (429, "limited"), (500, "server"), (503, "server"),
    ],
)  # fmt: skip
def test_a_status_has_a_meaning(status: int, problem: str | None) -> None:
    reply, _ = reply_to(status=status, retry_after="3")
    assert (reply.problem, reply.status) == (problem, status)
    assert reply.wait == (3.0 if problem or status == 304 else None)


def test_the_body_of_a_refusal_is_read_away_only_where_it_is_short() -> None:
    assert reply_to(b"no", status=500, content_length="2")[1] == 1
    assert reply_to(b"no", status=500, content_length="16385")[1] == 0
    assert reply_to(b"no", status=500)[1] == 0
    assert reply_to(b"no", status=500, content_length="2")[0].body == b""


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (httpx.ConnectTimeout(""), "timeout"),
        (httpx.ReadTimeout(""), "timeout"),
        (httpx.ConnectError(""), "refused"),
        (httpx.ProxyError(""), "refused"),
        (httpx.ReadError(""), "dropped"),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), "dropped"),
        (httpx.RemoteProtocolError("peer closed connection"), "dropped"),
        (httpx.RemoteProtocolError("illegal status line"), "garbled"),
        (zlib.error(""), "garbled"),
        (httpx.InvalidURL(""), "client"),
        (httpx.TooManyRedirects(""), "client"),
        (OSError(), "refused"),
        (caused(httpx.ConnectError(""), ssl.SSLError()), "tls"),
        (caused(OSError(), caused(OSError(), ssl.SSLError())), "tls"),
        (ZeroDivisionError(), "broken"),
    ],
)
def test_an_error_has_a_name(error: Exception, problem: str) -> None:
    assert problem_of(error) == problem


def test_errors_that_cause_each_other_come_to_an_end() -> None:
    one, other = OSError(), OSError()
    one.__cause__, other.__cause__ = other, one
    assert problem_of(one) == "refused"


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        (None, None), ("", None), ("soon", None), ("-1", None), ("1.5", None), ("٣", None),
        (" 0 ", 0.0), ("9" * 400, 999_999_999_999.0),
        ("Wed, 31 Dec 2025 23:59:00 GMT", 0.0), ("Thu, 01 Jan 2026 02:00:30 +0200", 30.0),
        ("Thu, 01 Jan 2026 00:01:00 -0000", 60.0), ("Thu, 01 Jan 99999999999 00:00:30 GMT", None),
    ],
)  # fmt: skip
def test_how_long_a_service_asks_to_wait(told: str | None, seconds: float | None) -> None:
    assert retry_after(told, NOW) == seconds


def test_a_wait_is_counted_from_now() -> None:
    told: Any = "Thu, 01 Jan 2026 00:01:00 GMT"
    assert retry_after(told, NOW + timedelta(seconds=20)) == 40.0
