"""Lines of text from a server.

A server's socket has no memory: what it sends while nobody is connected is lost, and so is what
was received and could not be written to the spool. What is in the spool is not.
"""

from __future__ import annotations

import json
import logging
import select
import socket
import time

from topwater.errors import SourceError
from topwater.streams.network_settings import SocketStream
from topwater.streams.spool import Message, Spool
from topwater.streams.spool_feed import Feed

_PATIENCE = 10.0
_AT_ONCE = 1 << 16


class SocketFeed(Feed):
    """A client that reads lines, each an event.

    Parameters
    ----------
    settings
        The server.
    spool
        Where lines go.
    """

    def __init__(self, settings: SocketStream, spool: Spool) -> None:
        super().__init__(spool, settings.spool_limit, settings.max_bytes)
        self._server = settings.server
        self._documents = settings.format in ("json", "jsonld")

    def check(self) -> None:
        """Connect once."""
        try:
            self._connected().close()
        except OSError as error:
            raise SourceError(
                f"no connection to {self._server} ({error.strerror or error})",
                field="url",
                fix="check the host and port, and that the server runs",
            ) from None

    def serve(self) -> None:
        """Read lines until we are stopped."""
        with self._connected() as connection:
            lines = _Lines(self._max_bytes)
            while not self.stopping.is_set():
                # A spool that is full is not written to: the server then has to wait.
                if self.full or not select.select([connection], [], [], 0.1)[0]:
                    self.stopping.wait(0.05 if self.full else 0)
                    continue
                received = connection.recv(_AT_ONCE)
                self._take(lines.lines(received))
                if not received:
                    self._take_rest(lines.rest())
                    raise ConnectionError("the server hung up")

    def _take_rest(self, found: list[bytes | None]) -> None:
        """Take the line that the server did not end, unless it may have been cut off.

        A document that is cut off is not JSON; a number in CSV looks whole wherever it is cut.
        """
        if any(line is not None and not (self._documents and _is_json(line)) for line in found):
            self.counts["cut_off"] += 1
            logging.getLogger("topwater").warning(
                "%s hung up in the middle of a line, which is left out", self._server
            )
            return
        self._take(found)

    def _take(self, found: list[bytes | None]) -> None:
        now = time.time_ns() // 1_000_000
        for line in found:
            self.counts["too_long"] += line is None
            self.keep(Message("", line, now))
        self.spool.sync()

    def _connected(self) -> socket.socket:
        found = socket.create_connection((self._server.host, self._server.port), _PATIENCE)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return found


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


class _Lines:
    """Bytes cut into lines that are not empty; None in place of one that is too long."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._begun = bytearray()
        self._skipping = False

    def lines(self, received: bytes) -> list[bytes | None]:
        """The lines that end here."""
        first, *more = received.split(b"\n")
        self._begun += first
        whole: list[bytes] = []
        if more:
            whole = [bytes(self._begun), *more[:-1]]
            self._begun = bytearray(more[-1])
        found: list[bytes | None] = []
        for line in whole:
            if self._skipping:
                self._skipping = False
                continue
            found += self._found(line)
        if len(self._begun) > self._max_bytes:
            found += [] if self._skipping else [None]
            self._skipping, self._begun = True, bytearray()
        return found

    def rest(self) -> list[bytes | None]:
        """The line that was begun, if the server ends without ending it."""
        begun, self._begun = bytes(self._begun), bytearray()
        return [] if self._skipping else self._found(begun)

    def _found(self, line: bytes) -> list[bytes | None]:
        text = line.removesuffix(b"\r")
        if not text.strip():
            return []
        return [None if len(text) > self._max_bytes else text]
