"""What a service answered, or why its answer can't be used."""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from topwater.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import httpx

_SHORT = 16_384


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes
    ----------
    problem
        What went wrong; None if the body can be used.
    status, headers, body
        As far as they came. Names of headers are in lower case.
    wait
        After how many seconds the service wants to be asked again.
    """

    problem: Problem | None
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    wait: float | None = None


async def read(response: httpx.Response, largest: int) -> Reply:
    """The reply that a response gives, read to its end or to ``largest`` bytes."""
    status, headers = response.status_code, dict(response.headers)
    wait = retry_after(headers.get("retry-after"), datetime.now(UTC))
    problem = _problem_with(status)
    if problem is not None or status == 304:
        await _skip(response)
        return Reply(problem, status, headers, wait=wait)
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        return Reply("garbled", status, headers)
    body = await _body(response.aiter_raw(), largest, packed=coding != "identity")
    return Reply("large" if body is None else None, status, headers, body or b"")


async def _skip(response: httpx.Response) -> None:
    """Read a short body that is of no use, so that the connection can be; but do not wait for it.

    Where it is not read to its end, the connection is closed.
    """
    import asyncio

    told = response.headers.get("content-length", "")
    if told.isdecimal() and int(told) <= _SHORT:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(0.05):
                async for _ in response.aiter_raw():
                    pass


async def _body(chunks: AsyncIterator[bytes], largest: int, *, packed: bool) -> bytes | None:
    """All of the body, unpacked; None if that is more than ``largest`` bytes.

    httpx would unpack a whole chunk before we could count: a small answer may fill the memory.
    """
    unpacking = zlib.decompressobj(wbits=47) if packed else None
    body = bytearray()
    async for chunk in chunks:
        if unpacking is None:
            body += chunk
        else:
            body += unpacking.decompress(chunk, largest + 1 - len(body))
        if len(body) > largest or (unpacking is not None and unpacking.unconsumed_tail):
            return None
        if unpacking is not None and unpacking.unused_data:
            break  # what follows belongs to nothing, and may have no end
    return bytes(body)


def _problem_with(status: int) -> Problem | None:
    if 200 <= status < 300 or status == 304:
        return None
    if status == 429:
        return "limited"
    if status == 408:
        return "timeout"
    return "client" if 400 <= status < 500 else "server" if status >= 500 else "garbled"


def problem_of(error: Exception) -> Problem:
    """The name of what went wrong on the way."""
    import ssl

    import httpx

    if any(isinstance(each, ssl.SSLError) for each in _causes(error)):
        return "tls"
    if isinstance(error, httpx.RemoteProtocolError):
        # One class for a connection that ended and for an answer that is not HTTP.
        ended = "disconnected" in str(error) or "closed connection" in str(error)
        return "dropped" if ended else "garbled"
    by_class: tuple[tuple[type[Exception], Problem], ...] = (
        (httpx.TimeoutException, "timeout"),
        (httpx.ConnectError, "refused"),
        (httpx.ProxyError, "refused"),
        (httpx.NetworkError, "dropped"),
        (zlib.error, "garbled"),
        (httpx.HTTPError, "client"),
        (httpx.InvalidURL, "client"),
        (OSError, "refused"),
    )
    return next((name for kind, name in by_class if isinstance(error, kind)), "broken")


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def retry_after(told: str | None, now: datetime) -> float | None:
    """How many seconds ``Retry-After`` asks to wait: it holds a number, or a date.

    Examples
    --------
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> retry_after("120", now), retry_after("Thu, 01 Jan 2026 00:00:30 GMT", now)
    (120.0, 30.0)
    >>> retry_after("soon", now) is None
    True
    """
    if told is None:
        return None
    told = told.strip()
    if told.isascii() and told.isdecimal():
        return float(told[:12])
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(told)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
        return max(0.0, (at - now).total_seconds())
    except (ValueError, OverflowError):
        return None
