"""One HTTP request that ends when it must: by a deadline, at a size, on its own host.

A thread of our own runs an event loop, one for each process, because only there a request can be
cut off at any moment: while it connects, while headers or bytes drip, while a name is looked up.
Callers stay synchronous. Nothing here raises for what a service does: a reply names its problem.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import logging
import os
import time
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from topwater.errors import QueryError
from topwater.remote.event_loop import finished, let_run
from topwater.remote.replies import Reply, problem_of, read

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    import httpx

LARGEST = 8 * 2**20
"""How many bytes of an answer are read at most, unless set otherwise."""

_HOPS = 5

_ours = contextvars.ContextVar("topwater_request", default=False)


@dataclass(frozen=True, slots=True)
class Ask:
    """What is sent."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)


class Requester:
    """Sends requests of one source and keeps its connections.

    It can be pickled: the copy has no connections yet. After a fork the child makes its own.

    Parameters
    ----------
    largest
        How many bytes of an answer are read, also after unpacking.
    verify
        Whether certificates are checked; or the file with the authorities to trust.
    """

    def __init__(self, *, largest: int = LARGEST, verify: Any = True) -> None:
        if not isinstance(verify, bool | str) or verify == "":
            raise QueryError(
                f"{verify!r} is not a file",
                field="verify",
                fix="name the file with the authorities to trust, or leave it out",
            )
        self.largest = largest
        self.verify: bool | str = verify
        self._client: httpx.AsyncClient | None = None
        self._process = 0
        self._end: weakref.finalize[Any, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"largest": self.largest, "verify": self.verify}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def request(self, ask: Ask, deadline: float | None, timeout: float) -> Reply:
        """Send ``ask`` and read the whole answer.

        Parameters
        ----------
        deadline
            Seconds until the caller goes on without it: ``"late"``.
        timeout
            Seconds that any request may take: ``"timeout"``.
        """
        if deadline is not None and deadline <= 0:
            return Reply("late")
        left = timeout if deadline is None else min(deadline, timeout)
        found = finished(self._exchange(ask, time.monotonic() + left), left)
        if found is not None:
            return found
        return Reply("timeout" if deadline is None or timeout < deadline else "late")

    def close(self) -> None:
        """Close the connections. A later request opens new ones."""
        client, self._client = self._client, None
        if self._end is not None:
            self._end.detach()
        if client is not None and self._process == os.getpid():
            with contextlib.suppress(Exception):
                finished(client.aclose(), 1.0)

    async def _exchange(self, ask: Ask, until: float) -> Reply | None:
        """The reply to ``ask``; None when time is over."""
        import asyncio

        import httpx

        _ours.set(True)
        try:
            client = self._connected()
        except Exception:  # the file of authorities is missing, or holds none
            return Reply("tls")
        try:
            seconds = max(1e-3, until - time.monotonic())
            async with asyncio.timeout(seconds):
                return await _followed(client, ask, self.largest, seconds)
        except (TimeoutError, httpx.TimeoutException):
            return None
        except Exception as error:
            return Reply(problem_of(error))

    def _connected(self) -> httpx.AsyncClient:
        """In the loop's thread: loading httpx takes longer than some deadlines allow."""
        client = self._client
        if client is None or self._process != os.getpid():
            client = self._client = _client(self.verify)
            self._process = os.getpid()
            self._end = weakref.finalize(self, _abandon, client, self._process)
            self._end.atexit = False
        return client


_HERE = ("all://127.0.0.1", "all://localhost", "all://[::1]")
"""What no proxy that the environment names could reach: it is this machine that is meant."""


@functools.cache
def _authorities() -> ssl.SSLContext:
    """Those that everybody trusts: reading them takes longer than many requests."""
    import httpx

    return httpx.create_ssl_context()


def _client(verify: bool | str) -> httpx.AsyncClient:
    import ssl

    import httpx

    logging.getLogger("httpx").addFilter(_not_ours)  # once: it is the same filter every time
    trusted: ssl.SSLContext | bool = False
    if isinstance(verify, str):
        trusted = ssl.create_default_context(cafile=verify)
    elif verify:
        trusted = _authorities()
    return httpx.AsyncClient(
        verify=trusted,
        timeout=None,  # noqa: S113 - the request as a whole has a deadline
        limits=httpx.Limits(
            max_connections=None, max_keepalive_connections=32, keepalive_expiry=30.0
        ),
        headers={"accept-encoding": "gzip", "user-agent": "topwater"},
        mounts=dict.fromkeys(_HERE),
    )


def _abandon(client: httpx.AsyncClient, process: int) -> None:
    """Close the connections of a source that is no longer held, without waiting."""
    if process == os.getpid():
        let_run(client.aclose())


def _not_ours(_: logging.LogRecord) -> bool:
    """The client logs whole addresses, and there may be a secret in ours."""
    return not _ours.get()


async def _followed(client: httpx.AsyncClient, ask: Ask, largest: int, seconds: float) -> Reply:
    """The reply after redirects, which may lead nowhere but to the same host."""
    import httpx

    # Cut off from outside, a handshake leaves its socket open; with a time-out it does not.
    limits = httpx.Timeout(None, connect=0.9 * seconds)
    method, url, body = ask.method, httpx.URL(ask.url), ask.body
    for _ in range(_HOPS):
        sent = client.stream(method, url, headers=dict(ask.headers), content=body, timeout=limits)
        async with sent as response:
            if response.status_code not in (301, 302, 303, 307, 308):
                return await read(response, largest)
            to = _target(url, response.headers.get("location", ""))
        if to is None:
            return Reply("redirect", response.status_code)
        url = to
        if response.status_code == 303:
            method, body = "GET", None
    return Reply("redirect")


def _target(url: httpx.URL, location: str) -> httpx.URL | None:
    """Where to go on: the same origin, or the same host by TLS from now on."""
    import httpx

    try:
        to = url.join(location)
    except httpx.InvalidURL:
        return None
    upgraded = (url.scheme, url.port, to.scheme, to.port) == ("http", None, "https", None)
    same = upgraded or (url.scheme, url.port) == (to.scheme, to.port)
    return to if same and url.host == to.host and not to.userinfo else None
