"""Lines to a server that are bad on purpose: silent, slow, dripping, cut, or without TLS."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

How = Literal["through", "silent", "slow", "drips", "cut", "plain"]

_IDENTITY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgoqlVtNwu8ikQi6G9
ATPrR6C/xaDQqXRU1GMjSlJlF2ihRANCAAQFICpEkXYcBD8d3u4s3J0WYsUonEUf
xJ5tXvWNYs7tVGnMd8c3TyvaA/XiuSBKsmEDj5VS8J6VhkhRVq6AU/bX
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIUQfZrZO67TPRwLpxqwERHyhahZawwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTExNTE1MjMwN1oYDzIxMjYxMDIy
MTUyMzA3WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQFICpEkXYcBD8d3u4s3J0WYsUonEUfxJ5tXvWNYs7tVGnMd8c3Tyva
A/XiuSBKsmEDj5VS8J6VhkhRVq6AU/bXo2QwYjAdBgNVHQ4EFgQUnSenDqNUHdgT
ROgFxV6Dw4MfvBYwHwYDVR0jBBgwFoAUnSenDqNUHdgTROgFxV6Dw4MfvBYwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
IQCcdo0JKyRs8hqEvsFEEsoQ+ySZ94YBsjXImoVQxJaHiQIhAJR3LwuJnXCy7wzQ
CpOq10oMTQjbDDpRRKKNhyoo/iMj
-----END CERTIFICATE-----
"""
"""Of 127.0.0.1, by its own word, until 2126. Nobody trusts it, so it need not be secret."""


class Line:
    """A way through 127.0.0.1 to a server there, which can be made bad at any time.

    ``silent`` passes nothing on; ``slow`` waits before each answer; ``drips`` sends one byte of
    it at a time; ``cut`` ends in the middle of it. Without a server the line is silent. One with
    TLS speaks as PostgreSQL's clients expect; ``plain`` leaves it to the server to refuse that.
    """

    def __init__(self, server: int | None = None, *, pause: float = 0.2, tls: bool = False) -> None:
        self.how: How = "through" if server else "silent"
        self.pause = pause
        self.connections = 0
        self._server = server
        self._tls = _context() if tls else None
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End the line and all that goes through it."""
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                self._open.append(client)
                if self._server is not None:
                    threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            assert self._server is not None
            server = socket.create_connection(("127.0.0.1", self._server))
            self._open.append(server)
            with server, client:
                if self._tls is not None and self.how != "plain":
                    client.recv(8)  # the wish for TLS
                    client.sendall(b"S")
                    client = self._tls.wrap_socket(client, server_side=True)
                    self._open.append(client)
                self._pass(client, server)
        client.close()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        while True:
            ready, _, _ = select.select([client, server], [], [])
            for source in ready:
                data = source.recv(65_536)
                if not data:
                    return
                if source is server:
                    self._answer(client, data)
                elif self.how != "silent":
                    server.sendall(data)

    def _answer(self, client: socket.socket, data: bytes) -> None:
        if self.how == "cut":
            client.sendall(data[: len(data) // 2])
            raise OSError("cut")
        if self.how == "slow":
            time.sleep(self.pause)
        if self.how != "drips":
            client.sendall(data)
            return
        for at in range(len(data)):
            client.sendall(data[at : at + 1])
            time.sleep(self.pause)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "identity.pem"
        path.write_text(_IDENTITY)
        context.load_cert_chain(path)
    return context


@contextlib.contextmanager
def line(server: int | None = None, *, pause: float = 0.2, tls: bool = False) -> Iterator[Line]:
    """A line that is closed afterwards."""
    made = Line(server, pause=pause, tls=tls)
    try:
        yield made
    finally:
        made.close()
