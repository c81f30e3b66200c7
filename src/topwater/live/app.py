"""The server: one page, its files, and the feed as server-sent events.

It answers only requests that name a host it is known by, so that no page of another origin can
reach it by pointing a name of its own at this machine (DNS rebinding); it sets no CORS header, so
that no such page can read it either.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import json
import re
from collections.abc import AsyncIterator, Collection
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from topwater.live.feed import Feed, now

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
EVERY = frozenset({"0.0.0.0", "::"})  # noqa: S104
BEAT = 10.0
"""Seconds between signs of life, by which a browser sees that the connection is still there."""

_SCRIPTS = ("app", "accuracy", "connection", "costs", "elements", "known", "ranking", "words")
_FILES = {
    "/": ("index.html", "text/html"),
    "/app.css": ("app.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in _SCRIPTS},
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_BRACKETED = re.compile(r"\[([^\]]*)\](?::\d+)?")
_PLACE = re.compile(r"([0-9a-f]{8})-(\d{1,15})")


def application(feed: Feed, bound: str, known_as: Collection[str] = ()) -> ASGIApp:
    """The application for a server that is bound to a host.

    Parameters
    ----------
    feed
        What is shown.
    bound
        The host that the server listens on.
    known_as
        More names by which browsers may ask for it, for instance that of a proxy.
    """
    routes = [Route(path, functools.partial(_file, path)) for path in _FILES]
    routes += [
        Route("/events", functools.partial(_events, feed)),
        Route("/state.json", functools.partial(_state, feed)),
    ]
    return Guarded(Starlette(routes=routes), bound, known_as)


async def _file(path: str, _: Request) -> Response:
    name, kind = _FILES[path]
    return Response(_read(name), media_type=kind)


@functools.cache
def _read(name: str) -> bytes:
    return (files("topwater.live") / "static" / name).read_bytes()


async def _state(feed: Feed, _: Request) -> Response:
    return Response(json.dumps(feed.state()), media_type="application/json")


async def _events(feed: Feed, request: Request) -> Response:
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    told = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return StreamingResponse(
        _sent(feed, _after(feed, told)),
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no"},  # nginx would hold events back
    )


def _after(feed: Feed, told: str) -> int:
    """Where a browser left off; from the beginning, if that was in another run."""
    found = _PLACE.fullmatch(told)
    return int(found[2]) if found is not None and found[1] == feed.run else 0


async def _sent(feed: Feed, number: int) -> AsyncIterator[bytes]:
    """What happened since, then what happens, with a sign of life in between."""
    loop, woken = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the server has just ended
            loop.call_soon_threadsafe(woken.set)

    unwatch = feed.watch(wake)
    about = None
    try:
        yield b"retry: 1000\n\n"
        while not feed.closed:
            woken.clear()
            if feed.about is not about:
                about = feed.about
                yield _event("about", {"run": feed.run, "at": now(), **asdict(about)})
            for entry in feed.since(number):
                number = entry.number
                yield b"id: %s-%d\n" % (feed.run.encode(), number) + _lines(entry.kind, entry.body)
                await asyncio.sleep(0)  # so that it is seen when nobody is there any more
            try:
                await asyncio.wait_for(woken.wait(), BEAT)
            except TimeoutError:
                yield _event("beat", {"at": now()})
    finally:
        unwatch()


def _event(kind: str, told: dict[str, Any]) -> bytes:
    return _lines(kind, json.dumps(told).encode())


def _lines(kind: str, body: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), body)


class Guarded:
    """Refuses foreign hosts, and sets the headers that keep the page to itself."""

    def __init__(self, app: ASGIApp, bound: str, known_as: Collection[str]) -> None:
        self._app = app
        self._any_address = bound in EVERY
        self._hosts = LOOPBACK | {_plain(each) for each in (bound, *known_as)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if self.knows(host):
            await self._app(scope, receive, sent)
        else:
            refusal = PlainTextResponse("this server is not known by that name\n", 421)
            await refusal(scope, receive, sent)

    def knows(self, host: str) -> bool:
        """Whether a ``Host`` header names this server.

        Addresses are safe: only names can be pointed elsewhere.
        """
        name = _plain(host)
        if name in self._hosts:
            return True
        if not self._any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _plain(host: str) -> str:
    """A host without its port and brackets.

    Examples
    --------
    >>> _plain("LOCALHOST:8787"), _plain("[::1]:8787"), _plain("::1")
    ('localhost', '::1', '::1')
    """
    host = host.strip().lower()
    if (bracketed := _BRACKETED.fullmatch(host)) is not None:
        return bracketed[1]
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and ":" not in name else host
