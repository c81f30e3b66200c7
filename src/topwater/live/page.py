"""A page that shows answers in a browser while they come, served from a thread of this process."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

import uvicorn

from topwater.errors import EnvironmentProblem
from topwater.live.app import EVERY, application
from topwater.live.feed import About, Feed
from topwater.live.records import Truth, record_of
from topwater.model import Answer

HOST, PORT = "127.0.0.1", 8787
_PATIENCE = 10.0
SLOW = 30.0
"""Seconds after which a client that neither asks nor reads is let go."""


class Page:
    """A live page. Its methods may be called from any thread, and never wait for a browser.

    Attributes
    ----------
    url
        Where it is.
    feed
        What it shows.
    """

    def __init__(self, url: str, feed: Feed) -> None:
        self.url = url
        self.feed = feed

    @staticmethod
    @contextlib.contextmanager
    def started(
        title: str = "Topwater",
        explained: str = "",
        *,
        host: str = HOST,
        port: int = PORT,
        known_as: Collection[str] = (),
        waiting: str = "",
        values: Collection[str] = (),
        remote: str = "",
        budget: int | None = None,
        by: Literal["time", "count"] = "time",
    ) -> Iterator[Page]:
        """A page that is served until the end of the block.

        Parameters
        ----------
        title, explained
            What the query is called, and what it does, in a few lines.
        host, port
            Where to listen; port 0 takes any that is free. Others than this machine can read
            the page only if the host is not a loopback one.
        known_as
            More names by which browsers may ask for it, for instance that of a proxy.
        waiting
            What to say until the first window is there.
        values, remote
            What the stream's values (in the order of ``take``) and the remote value are called.
        budget
            How many look-ups a window has, if that is limited.
        by
            Whether windows span times or a number of events.

        Raises
        ------
        EnvironmentProblem
            If the port can't be used.

        Examples
        --------
        >>> from topwater.model import Answer, Row, Window
        >>> with Page.started("Top users", port=0) as page:
        ...     page.put(Answer(Window(0, 0, 60_000), (Row(1, "ann", 2.5, 7),)))
        ...     page.url.startswith("http://127.0.0.1:")
        True
        """
        feed = Feed(About(title, explained, waiting, tuple(values), remote, budget, by))
        listening = _bound(host, port)
        url = f"http://{_reached_as(host)}:{listening.getsockname()[1]}/"
        with _serving(application(feed, host, known_as), listening, feed):
            yield Page(url, feed)

    def put(
        self,
        answer: Answer | Mapping[str, Any],
        *,
        truth: Truth | None = None,
        rivals: Mapping[str, Truth] | None = None,
    ) -> None:
        """A window closed.

        Parameters
        ----------
        answer
            Its answer, or a record as ``docs/live.md`` describes.
        truth
            How right it was, if that is known.
        rivals
            How right others were on the same window.

        Raises
        ------
        QueryError
            If a record has a field that can't be read.
        """
        self.feed.put(record_of(answer, truth=truth, rivals=rivals))

    def note(self, text: str) -> None:
        """Say something that people should know, for instance that the stream started again."""
        self.feed.note(text)

    def waits(self, text: str) -> None:
        """Say what the page waits for, as long as there is no window."""
        if text != self.feed.about.waiting:
            self.feed.set_about(dataclasses.replace(self.feed.about, waiting=text))

    def ended(self, text: str) -> None:
        """Say that no more windows will come, and why. The page stays until the block ends."""
        self.feed.end(text)


def _reached_as(host: str) -> str:
    """How a browser on this machine writes a host. It can't ask for that of all addresses."""
    if host in EVERY:
        host = "::1" if ":" in host else HOST
    return f"[{host}]" if ":" in host else host


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens. IPv6 only if the host is written so."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named: asyncio sends small answers at once only where it says TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or str(error)
        raise EnvironmentProblem(
            f"the page can't be served at {host}, port {port}: {why}",
            fix="take another port, or 0 for one that is free, and a host of this machine",
        ) from None
    return listening


@contextlib.contextmanager
def _serving(app: Any, listening: socket.socket, feed: Feed) -> Iterator[None]:
    """A server in a thread, ended with the block."""
    config = uvicorn.Config(
        app,
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
        server_header=False,
        ws="none",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(
        target=lambda: asyncio.run(_served(server, listening)), name="topwater-live", daemon=True
    )
    thread.start()
    deadline = time.monotonic() + _PATIENCE
    try:
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise EnvironmentProblem("the page's server did not start", fix="try another port")
            time.sleep(0.005)
        yield
    finally:
        feed.close()
        server.should_exit = True
        thread.join(_PATIENCE)


async def _served(server: uvicorn.Server, listening: socket.socket) -> None:
    watch = asyncio.create_task(_end_slow(server))
    await server.serve(sockets=[listening])
    watch.cancel()
    # A client that does not read keeps its connection half closed: end it.
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    await asyncio.sleep(0)


async def _end_slow(server: uvicorn.Server) -> None:
    """End connections whose client neither asks nor reads for long: they would stay for ever."""
    since: dict[Any, float] = {}
    while True:
        await asyncio.sleep(SLOW / 10)
        here, now = list(server.server_state.connections), time.monotonic()
        since = {each: since.get(each, now) for each in here if _waited_for(each)}
        for connection, begun in since.items():
            if now - begun > SLOW:
                connection.transport.abort()


def _waited_for(connection: Any) -> bool:
    """Whether it is the client's turn: to read what was sent, or to ask."""
    cycle = getattr(connection, "cycle", None)
    asked = cycle is not None and not cycle.response_complete
    return not asked or connection.transport.get_write_buffer_size() > 0
