"""Ports for servers that tests start."""

from __future__ import annotations

import atexit
import socket

_held: list[socket.socket] = []


def free_port() -> int:
    """A port that nobody listens on, and that nobody else gets until this process ends.

    It stays bound by a socket that does not listen. Servers bind it all the same, as they ask to
    reuse addresses; the system does not give it to others, as it might before the server starts
    or while it is restarted.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _held.append(held)
    return int(held.getsockname()[1])


@atexit.register
def _close() -> None:
    for held in _held:
        held.close()
