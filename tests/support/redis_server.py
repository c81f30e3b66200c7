"""A real Redis server for the tests, started when first asked for, stopped at the end.

It is the machine's `redis-server`. Where there is none, tests of it are skipped and say so; if
TOPWATER_REDIS names it, as in `.ci/run`, they fail.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from redis import connection as driver

from tests.support.ports import free_port

PASSWORD = "s3cr:t/p@ss w%rd"  # noqa: S105
"""Of the default user: with all that must be quoted in a URL."""

QUOTED = "s3cr%3At%2Fp%40ss%20w%25rd"


class RedisServer:
    """One server, in memory, with a folder of its own."""

    def __init__(self, program: str, *options: str) -> None:
        self._command = [program, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
        self._command += ["--requirepass", PASSWORD, *options]
        self.folder = Path(tempfile.mkdtemp(prefix="topwater-redis-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is, with the login."""
        return f"redis://:{QUOTED}@127.0.0.1:{self.port}"

    def run(self, *commands: tuple[Any, ...]) -> list[Any]:
        """What it says to some commands."""
        link: Any = driver.Connection(  # type: ignore[no-untyped-call]
            host="127.0.0.1", port=self.port, password=PASSWORD, protocol=2, socket_timeout=30
        )
        try:
            link.connect()
            link.send_packed_command(link.pack_commands(commands))
            return [link.read_response() for _ in commands]
        finally:
            link.disconnect()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [*self._command, "--port", str(self.port), "--dir", str(self.folder)],
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """End the process that was started, by its id, at once."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def new_server(*options: str) -> RedisServer:
    """A server of one's own, started; whoever asks removes it."""
    told = os.environ.get("TOPWATER_REDIS", "")
    program = told or shutil.which("redis-server")
    if program is None:
        pytest.skip("there is no redis-server on this machine: apt-get install redis-server")
    made = RedisServer(program, *options)
    atexit.register(made.remove)
    made.start()
    return made


@cache
def server() -> RedisServer:
    """The server of this test run."""
    return new_server()
