"""Two services on this machine that stand in for real ones, each with a key of its own."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answering = Callable[[list[str], int], list[dict[str, Any]]]
"""From keys and a moment: what is known of each."""


@contextlib.contextmanager
def serving(routes: dict[str, tuple[str, Answering]]) -> Iterator[str]:
    """The address of a server; for each path the token that it wants, and what it answers."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            told = parse_qs(asked.query)
            token, answer = routes.get(asked.path, ("", None))
            status, said = 404, b"[]"
            if answer is not None and self.headers["Authorization"] != f"Bearer {token}":
                status = 401
            elif answer is not None:
                rows = answer(told["keys"][0].split(","), int(told["at"][0]))
                status, said = 200, json.dumps(rows).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
