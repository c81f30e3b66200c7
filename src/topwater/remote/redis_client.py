"""One trip to a Redis server that ends when it must, and what it means if it fails."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from topwater.errors import EnvironmentProblem, QueryError
from topwater.problems import Problem
from topwater.redaction import shown_address
from topwater.remote.database_address import from_environment
from topwater.validation.addresses import VARIABLE

try:
    from redis import connection as connections
    from redis import exceptions as failures
except ImportError:
    raise EnvironmentProblem(
        "Redis needs the package redis", fix='pip install "topwater[redis]"'
    ) from None

_driver: Any = connections  # which has no types

_FIX = "write it like redis://ann:${REDIS_PASSWORD}@redis.example:6379/0"

_WORDS: tuple[tuple[re.Pattern[str], Problem], ...] = (
    (re.compile("MOVED|ASK"), "redirect"),
    (re.compile("LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY|OOM"), "server"),
    (re.compile("NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|CROSSSLOT"), "client"),
)
"""What the first words of an error mean."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and who asks; secrets may be named by their variables.

    Examples
    --------
    >>> Address.of("redis://:${PASSWORD}@redis.example/2")
    Address('redis://redis.example')
    """

    host: str
    port: int
    db: int
    user: str
    password: str
    verify: bool | str | None

    @staticmethod
    def of(url: Any, verify: Any = True) -> Address:
        """From an address with the scheme ``redis`` or ``rediss``."""
        read = _split(url)
        if read is None or read.scheme not in ("redis", "rediss") or not read.hostname:
            raise _wrong("is not the address of a Redis server")
        db, port = read.path.strip("/") or "0", read.port or 6379
        if read.query or read.fragment or "@" in read.path or not re.fullmatch("[0-9]{1,5}", db):
            raise _wrong("has more than a host, a port and the number of a database")
        if not isinstance(verify, bool | str) or verify == "":
            fix = "name the file with the authorities to trust, or leave it out"
            raise QueryError("is not a file", field="verify", fix=fix)
        user, password = read.username or "", read.password or ""
        safe = verify if read.scheme == "rediss" else None
        return Address(read.hostname, port, int(db), user, password, safe)

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @property
    def shown(self) -> str:
        """The address without anything that may be secret."""
        scheme = "redis" if self.verify is None else "rediss"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return shown_address(f"{scheme}://{host}" + (f":{self.port}" if self.port != 6379 else ""))

    def secrets(self) -> list[str]:
        """What must not be shown if a reply repeats it."""
        named = [os.environ.get(name, "") for name in VARIABLE.findall(self.password)]
        return [self.password, unquote(self.password), *named]

    def connection(self, timeout: float) -> Any:
        """A connection that is not made yet. ``Unset`` if a variable is not there."""
        settings: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "db": self.db,
            "username": _filled(self.user) or None,
            "password": _filled(self.password) or None,
            "socket_timeout": timeout,
            "socket_connect_timeout": timeout,
            "protocol": 2,
            "client_name": "topwater",
        }
        if self.verify is None:
            return _driver.Connection(**settings)
        settings["ssl_cert_reqs"] = "none" if self.verify is False else "required"
        settings["ssl_check_hostname"] = self.verify is not False
        if isinstance(self.verify, str):
            settings["ssl_ca_certs"] = self.verify
        return _driver.SSLConnection(**settings)


class Trip:
    """A connection for one request: commands go out together, replies come back in order."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._cut = False
        self.connecting = True

    def run(self, commands: Sequence[tuple[str | bytes, ...]]) -> list[Any]:
        """What the server says to each; an error that is about one of them only is its reply."""
        link = self._connection
        link.connect()
        self.connecting = False
        with self._lock:
            if self._cut:
                raise TimeoutError("too late to ask")
        link.send_packed_command(link.pack_commands(commands))
        return [self._reply() for _ in commands]

    def _reply(self) -> Any:
        try:
            return self._connection.read_response()
        except failures.ResponseError as error:
            return error

    def cut(self) -> None:
        """Make the thread that waits go on; called from another one."""
        with self._lock:
            self._cut = True
            wire = getattr(self._connection, "_sock", None)
            if wire is not None:
                with contextlib.suppress(OSError):
                    wire.shutdown(socket.SHUT_RDWR)


def problem_of(error: BaseException, *, connecting: bool) -> Problem:
    """What an error means for the keys that were asked for."""
    if any(isinstance(each, ssl.SSLError) for each in (error, error.__cause__, error.__context__)):
        return "tls"
    words = str(error).upper()
    told = next((name for sign, name in _WORDS if sign.match(words)), None)
    if isinstance(error, failures.MovedError | failures.AskError):
        told = "redirect"
    if isinstance(error, failures.AuthenticationError | failures.AuthorizationError):
        told = "client"
    if isinstance(error, failures.ClusterCrossSlotError | failures.NoPermissionError):
        told = "client"
    if isinstance(error, failures.BusyLoadingError):
        told = "server"
    if told is not None:
        return told
    if isinstance(error, failures.TimeoutError | TimeoutError):
        return "timeout"
    if isinstance(error, failures.ConnectionError | OSError):
        return "refused" if connecting else "dropped"
    if isinstance(error, failures.InvalidResponse):
        return "garbled"
    return "server" if isinstance(error, failures.ResponseError) else "broken"


def _split(url: Any) -> SplitResult | None:
    """The parts of an address; None if it is none. The error would tell a part of it."""
    with contextlib.suppress(ValueError):
        read = urlsplit(str(url))
        return read if read.port is None or read.port > 0 else None
    return None


def _filled(text: str) -> str:
    return VARIABLE.sub(lambda found: from_environment(found[1]), unquote(text))


def _wrong(problem: str) -> QueryError:
    """The address itself is never shown: it may hold a password."""
    return QueryError(problem, field="url", fix=_FIX)
