"""Lines to a server that are bad on purpose: silent, slow, dripping, cut."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Literal

How = Literal["through", "silent", "slow", "drips", "cut"]


class Line:
    """A way through 127.0.0.1 to a server there, which can be made bad at any time.

    ``silent`` accepts and says nothing; ``slow`` waits before each answer, ``drips`` sends one
    byte of it at a time, ``cut`` ends in the middle of the next one. Without a server it is silent.
    """

    def __init__(self, server: int | None = None, *, pause: float = 0.2) -> None:
        self.how: How = "through" if server else "silent"
        self.pause = pause
        self._server = server
        self._open: list[socket.socket] = []
        self._ended = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End the line and all that goes through it."""
        self._ended = True
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while not self._ended:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            if self._server is None:
                continue
            server = socket.create_connection(("127.0.0.1", self._server))
            self._open.append(server)
            for source, target, answers in ((client, server, False), (server, client, True)):
                threading.Thread(
                    target=self._pass, args=(source, target, answers), daemon=True
                ).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if answers:
                    self._send(target, data)
                elif self.how != "silent":
                    target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _send(self, target: socket.socket, data: bytes) -> None:
        if self.how == "cut":
            target.sendall(data[: len(data) // 2])
            raise OSError("cut")
        if self.how == "slow":
            time.sleep(self.pause)
        if self.how != "drips":
            target.sendall(data)
            return
        for at in range(len(data)):
            target.sendall(data[at : at + 1])
            time.sleep(self.pause)


@contextlib.contextmanager
def line(server: int | None = None, *, pause: float = 0.2) -> Iterator[Line]:
    """A line that is closed afterwards."""
    made = Line(server, pause=pause)
    try:
        yield made
    finally:
        made.close()
