"""A server that speaks HTTP byte by byte, so that it can do everything wrong.

It knows how many followers a few users have, and tells it as a JSON API and as a SPARQL endpoint.
It runs in a thread of its own, on a port of its own, and writes down what it received.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import json
import re
import socket
import ssl
import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator
    from pathlib import Path

USER = "http://example.org/user/"


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def keys(self) -> list[str]:
        """The keys asked for, in whatever way."""
        parts = urlsplit(self.target)
        if parts.path == "/sparql":
            return re.findall(rf"<{USER}([^>]*)>", self.query)
        if self.method == "POST":
            return [str(key) for key in json.loads(self.body)["ids"]]
        if "ids" in parse_qs(parts.query):
            return parse_qs(parts.query)["ids"][0].split(",")
        return [unquote(parts.path.removeprefix("/users/"))]

    @property
    def query(self) -> str:
        """The SPARQL query."""
        text = self.body.decode() if self.method == "POST" else urlsplit(self.target).query
        return parse_qs(text)["query"][0]


@dataclass
class FaultServer:
    """Answers rightly, unless ``fault`` says how it goes wrong."""

    values: dict[str, float]
    tls: tuple[Path, Path] | None = None
    other_tls: tuple[Path, Path] | None = None
    fault: str = ""
    received: list[Received] = field(default_factory=list)
    elsewhere: str = ""
    extra_headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    """Connections that the client ended while it waited for an answer."""

    def __post_init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.listen()

    @property
    def url(self) -> str:
        """Where it listens."""
        host = "localhost" if self.tls else "127.0.0.1"
        return f"http{'s' if self.tls else ''}://{host}:{self.port}"

    def listen(self) -> None:
        """Be there. Does nothing if it is there already."""
        if self._server is None:
            self._run(self._listen())

    def refuse(self) -> None:
        """Be gone: nobody listens, and all connections are closed."""
        self._run(self._refuse())

    def stop(self) -> None:
        """End it all."""
        self.refuse()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def misbehave(self, fault: str) -> None:
        """From now on; ``""`` for not any more."""
        before, self.fault = self.fault, fault
        if "tls" in (before, fault) or fault == "refused":
            self.refuse()
        if fault != "refused":
            self.listen()

    def _run(self, work: Awaitable[None]) -> None:
        async def done() -> None:
            await work

        asyncio.run_coroutine_threadsafe(done(), self._loop).result(10)

    async def _listen(self) -> None:
        context = None
        if self.tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            certificate = self.other_tls if self.fault == "tls" else self.tls
            assert certificate is not None
            context.load_cert_chain(*certificate)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=context)

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (request := await _read(reader)) is not None:
                self.received.append(request)
                if not await self._answer(request, reader, writer):
                    return
            writer.write(_response(400, b""))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            with contextlib.suppress(Exception):
                writer.transport.abort() if self.fault.startswith("dropped") else writer.close()

    async def _answer(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the connection stays."""
        body = self._body(request)
        whole = _response(200, body, self.extra_headers)
        fault = self.fault
        plain = self._plain(fault, body)
        if request.target.startswith("/old/"):
            status = int(request.target.split("/")[2])
            plain = _response(status, b"", {"location": "/followers?ids=1"})
        if plain is not None:
            writer.write(plain)
            await writer.drain()
            return fault not in ("not-http",)
        if fault in ("hangs", "slow"):
            gone = await self._gone(reader, 30.0 if fault == "hangs" else 1.5)
            if not gone:
                writer.write(whole)
            return False
        if fault.startswith("drips"):
            start = 0 if fault == "drips-headers" else whole.index(b"\r\n\r\n") + 4
            await self._drip(whole, reader, writer, start)
            return False
        if fault.startswith("dropped"):
            writer.write(b"" if fault == "dropped-early" else whole[: len(whole) - 9])
            await writer.drain()
            await asyncio.sleep(0.02)
            return False
        if fault == "huge":
            await self._flood(writer)
            return False
        writer.write(whole)
        await writer.drain()
        return True

    def _plain(self, fault: str, body: bytes) -> bytes | None:
        """The faults that are just another answer."""
        target = {"location": f"{self.elsewhere}/users/1"}
        return {
            "limited": lambda: _response(429, b"{}"),
            "limited-wait": lambda: _response(429, b"{}", {"retry-after": "1"}),
            "500": lambda: _response(500, b"oops"),
            "503": lambda: _response(503, b"oops", {"retry-after": "0"}),
            "400": lambda: _response(400, b"oops"),
            "invalid-json": lambda: _response(200, body[:-4]),
            "deep-json": lambda: _response(200, b"[" * 50_000),
            "empty": lambda: _response(200, b""),
            "html": lambda: _response(200, b"<html>Welcome</html>", {"content-type": "text/html"}),
            "wrong-type": lambda: _response(200, b'{"users": "x", "results": {"bindings": 7}}'),
            "not-http": lambda: b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
            "packed": lambda: _response(200, _bomb(), {"content-encoding": "gzip"}),
            "unknown-packing": lambda: _response(200, body, {"content-encoding": "br"}),
            "redirect": lambda: _response(302, b"", target),
        }.get(fault, lambda: None)()

    def _body(self, request: Received) -> bytes:
        keys = [key for key in request.keys if key in self.values]
        if self.fault == "missing":
            keys = keys[::2]
        rows = [(key, self.values[key]) for key in keys]
        if self.fault == "extra":
            rows += [("someone", 1e9), ("else", -1.0)]
        if self.fault == "no-numbers":
            rows = [(key, "many") for key, _ in rows]  # type: ignore[misc]
        if self.fault == "doubled":
            rows += [(key, value + 1) for key, value in rows]
        if request.target.startswith("/sparql"):
            return json.dumps(
                {"head": {}, "results": {"bindings": [_row(*r) for r in rows]}}
            ).encode()
        return json.dumps({"users": [{"id": key, "followers": v} for key, v in rows]}).encode()

    async def _gone(self, reader: asyncio.StreamReader, seconds: float) -> bool:
        """Whether the client ended the connection while it waited."""
        try:
            async with asyncio.timeout(seconds):
                gone = await reader.read(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            gone = True
        self.cut += gone
        return gone

    async def _drip(
        self,
        whole: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        start: int,
    ) -> None:
        writer.write(whole[:start])
        for byte in whole[start:]:
            writer.write(bytes([byte]))
            if await self._gone(reader, 0.05):
                return

    async def _flood(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
        for _ in range(1_024):
            writer.write(b" " * 2**16)
            await writer.drain()


@functools.cache
def _bomb() -> bytes:
    """Little to read, and much to unpack."""
    return gzip.compress(b" " * 64 * 2**20, 1)


async def _read(reader: asyncio.StreamReader) -> Received | None:
    start = await reader.readexactly(1)
    if start == b"\x16":  # TLS, where there is none
        return None
    head = start + await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, target, headers, body)


def _response(status: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    shown = {"content-type": "application/json", "content-length": str(len(body))} | (headers or {})
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in shown.items())]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if status == 304 else body)


def _row(key: str, value: Any) -> dict[str, Any]:
    return {
        "user": {"type": "uri", "value": USER + key},
        "followers": {"type": "literal", "value": str(value)},
    }


@contextlib.contextmanager
def serving_faults(
    values: dict[str, float], tls: tuple[Path, Path] | None = None
) -> Iterator[FaultServer]:
    """A server that is stopped at the end."""
    server = FaultServer(values, tls)
    try:
        yield server
    finally:
        server.stop()


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for localhost that only those trust who are told to, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(  # noqa: S603
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext"),
            *("subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key)),
            *("-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key
