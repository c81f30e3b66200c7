"""Where things are: servers, files, and the environment variables that hold secrets."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from topwater.errors import QueryError
from topwater.redaction import shown_address, shown_path
from topwater.validation.names import text_of

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""``${NAME}``, the environment variable NAME."""

REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""The beginning of a path that is not on this machine."""


def secret_of(value: Any, field: str) -> str:
    """A template, never the secret itself: what is written here is seen in plans and logs."""
    if not isinstance(value, str) or not VARIABLE.fullmatch(value):
        raise QueryError(
            "must be the name of an environment variable, and not the secret itself",
            field=field,
            fix=f'write {field} = "${{{field.upper()}}}", and set that variable',
        )
    name = VARIABLE.findall(value)[0]
    if name not in os.environ:
        raise QueryError(
            f"the environment variable {name} is not set", field=field, fix=f"set {name}"
        )
    return value


def path_of(value: Any, field: str) -> str:
    """A path on this machine that exists; other machines' are taken on trust."""
    path = text_of(value, field)
    with path_errors(path, field):
        there = REMOTE.match(path) or Path(path).exists()
    if not there:
        raise QueryError(f"{shown_path(path)} is not there", field=field, fix="check the path")
    return path


@contextlib.contextmanager
def path_errors(path: str | Path, field: str) -> Iterator[None]:
    """What the system says of a path that it can't look at: too long, not ours, or no path."""
    try:
        yield
    except QueryError:
        raise
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or "it is not a path"
        raise QueryError(
            f"{shown_path(str(path))} can't be read: {told}", field=field, fix="check the path"
        ) from None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens.

    Examples
    --------
    >>> address_of("mqtt://localhost", {"mqtt": 1883, "mqtts": 8883})
    Address(scheme='mqtt', host='localhost', port=1883)
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def address_of(value: Any, ports: dict[str, int], field: str = "url") -> Address:
    """A server's address; the port has a default if it is above 0."""
    schemes = " or ".join(f"{scheme}://HOST:PORT" for scheme in ports)
    fix = f"write {schemes}"
    given = text_of(value, field, fix)
    parts, port = _split(given, field, fix)
    if parts.scheme not in ports:
        raise QueryError(f"{shown_address(given)} is of an unknown kind", field=field, fix=fix)
    if "@" in parts.netloc:
        raise QueryError(
            "has a user in it", field=field, fix="give user and password as settings of their own"
        )
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        told = "has more than a host and a port" if parts.hostname else "names no host"
        problem = f"{shown_address(given)} is not an address: it {told}"
        raise QueryError(problem, field=field, fix=fix)
    found = ports[parts.scheme] if port is None else port
    if found < 1:
        raise QueryError(f"{shown_address(given)} has no port", field=field, fix=fix)
    return Address(parts.scheme, parts.hostname, found)


def listening_of(value: Any, field: str) -> Address:
    """Where metrics are served from; port 0 takes any that is free.

    Examples
    --------
    >>> listening_of("http://127.0.0.1:9464/metrics", "to")
    Address(scheme='http', host='127.0.0.1', port=9464)
    """
    fix = "write http://127.0.0.1:9464"
    given = text_of(value, field, fix)
    parts, port = _split(given, field, fix)
    problem = ""
    if parts.scheme != "http" or "@" in parts.netloc:
        problem = "is not a plain http address"
    elif not parts.hostname or port is None:
        problem = "lacks a host or a port"
    elif parts.path not in ("", "/", "/metrics") or parts.query or parts.fragment:
        problem = "has another path than /metrics"
    if problem:
        raise QueryError(f"{shown_address(given)} {problem}", field=field, fix=fix)
    return Address(parts.scheme, str(parts.hostname), int(port or 0))


def _split(given: str, field: str, fix: str) -> tuple[SplitResult, int | None]:
    with contextlib.suppress(ValueError):
        parts = urlsplit(given)
        return parts, parts.port
    # The text itself may hold a password, and is not told: not by the error of Python either.
    raise QueryError("is not an address", field=field, fix=fix)
