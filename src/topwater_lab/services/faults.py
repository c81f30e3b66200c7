"""Answers that go wrong, in all the ways in which a service that is there can misbehave."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from topwater_lab.services.service_settings import FAULTS

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_CHUNK = b" " * 2**16
_CHUNKS = 1_024
_SLOW = 2.0
_LONG = 60.0


class Faults:
    """Decides which requests go wrong, and how: the same each time for the same seed.

    Examples
    --------
    >>> faults = Faults(share=0.5, always=None, seed=1)
    >>> [faults.next() for _ in range(4)]
    ['dropped', None, 'slow', 'invalid-json']
    """

    def __init__(self, share: float, always: str | None, seed: int) -> None:
        self._share = share
        self._always = always
        self._random = random.Random(seed)  # noqa: S311 - nothing to keep secret
        self._names = list(FAULTS)

    def next(self) -> str | None:
        """The fault of the next request, if it has one."""
        if self._always is not None:
            return self._always
        if self._random.random() >= self._share:
            return None
        return self._random.choice(self._names)


def altered(name: str | None, rows: list[Any], extra: list[Any]) -> list[Any]:
    """The rows of an answer, as this fault changes them."""
    if name == "missing":
        return rows[::2]
    return rows + extra if name == "extra" else rows


class Faulty(Response):
    """An answer that goes wrong on its way."""

    def __init__(self, name: str, answer: Response, wrong: Any) -> None:
        super().__init__()
        self._name = name
        self._answer = answer
        self._wrong = wrong

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, wrongly."""
        ways: dict[str, Callable[[], Awaitable[object]]] = {
            "hangs": lambda: _pause(receive, _LONG),
            "slow": lambda: self._slowly(scope, receive, send),
            "drips": lambda: self._drip(receive, send),
            "huge": lambda: self._flood(receive, send),
            "dropped": lambda: self._drop(send),
        }
        await ways.get(self._name, lambda: self._replaced(scope)(scope, receive, send))()

    def _replaced(self, scope: Scope) -> Response:
        host, port = "localhost", scope["server"][1]
        body = bytes(self._answer.body)
        return {
            "limited": Response(status_code=429),
            "limited-wait": Response(status_code=429, headers={"retry-after": "1"}),
            "500": Response(status_code=500),
            "503": Response(status_code=503, headers={"retry-after": "1"}),
            "invalid-json": Response(body[:-3], media_type="application/json"),
            "wrong-type": Response(json.dumps(self._wrong), media_type="application/json"),
            "redirect": Response(
                status_code=302, headers={"location": f"http://{host}:{port}/elsewhere"}
            ),
        }.get(self._name, self._answer)

    async def _slowly(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not await _pause(receive, _SLOW):
            await self._answer(scope, receive, send)

    async def _drip(self, receive: Receive, send: Send) -> None:
        await _start(send, len(self._answer.body))
        for byte in bytes(self._answer.body):
            await _send(send, bytes([byte]))
            if await _pause(receive, 0.05):
                return
        await _send(send, b"", more=False)

    async def _flood(self, receive: Receive, send: Send) -> None:
        await _start(send, len(_CHUNK) * _CHUNKS)
        for _ in range(_CHUNKS):
            await _send(send, _CHUNK)
            if await _pause(receive, 0.0):
                return
        await _send(send, b"", more=False)

    async def _drop(self, send: Send) -> None:
        """The server cuts a connection whose answer stays shorter than it was told."""
        body = bytes(self._answer.body)
        await _start(send, len(body))
        await _send(send, body[: len(body) // 2])


async def _pause(receive: Receive, seconds: float) -> bool:
    """Wait, but no longer than the client does. Whether it has gone."""
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return False
    return True


async def _start(send: Send, length: int) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _send(send: Send, body: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})
