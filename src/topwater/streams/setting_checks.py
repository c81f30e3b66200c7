"""What every setting of a stream must pass, with errors that name it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from topwater.errors import QueryError

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_COLUMN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([\w-]+))\s*:?\s+([A-Za-z_]+)(.*)", re.DOTALL)
_TYPES = re.compile(
    "array|bigint|binary|boolean|byte|char|date|dec|decimal|double|float|int|integer|interval|long"
    "|map|numeric|real|short|smallint|string|struct|time|timestamp|timestamp_ltz|timestamp_ntz"
    "|tinyint|varchar|variant|void"
)
_MOST_TOPIC_BYTES = 65_535


def text(value: Any, field: str, fix: str = "write it in quotes") -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise QueryError(f"must be text, not {value!r}", field=field, fix=fix)
    return value


def texts(value: Any, field: str, fix: str) -> tuple[str, ...]:
    """One text or more."""
    if not isinstance(value, list | tuple) or not value:
        raise QueryError(f"must be a list of names, not {value!r}", field=field, fix=fix)
    return tuple(text(each, field, fix) for each in value)


def whole(value: Any, field: str, least: int, most: int | None = None) -> int:
    """A whole number within bounds."""
    right = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not right or (most is not None and value > most):
        upto = f" to {most}" if most is not None else " or more"
        raise QueryError(
            f"must be a whole number, {least}{upto}, not {value!r}", field=field, fix="leave it out"
        )
    return int(value)


def flag(value: Any, field: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise QueryError(f"must be true or false, not {value!r}", field=field, fix="leave it out")
    return value


def one_of(value: Any, field: str, known: tuple[str, ...]) -> str:
    """One of some words."""
    if value not in known:
        raise QueryError(f"{value!r} is unknown", field=field, fix=f"use {', '.join(known)}")
    return str(value)


def secret(value: Any, field: str) -> None:
    """A template, never the secret itself: what is written here is seen in plans and logs."""
    if value is None:
        return
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


def there(path: str, field: str) -> None:
    """A path on this machine that exists; other machines' are taken on trust."""
    if not REMOTE.match(path) and not Path(path).exists():
        raise QueryError(f"{path} is not there", field=field, fix="check the path")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens.

    Examples
    --------
    >>> address("mqtt://localhost", {"mqtt": 1883, "mqtts": 8883})
    Address(scheme='mqtt', host='localhost', port=1883)
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def address(value: Any, ports: dict[str, int], field: str = "url") -> Address:
    """A server's address; the port has a default if it is above 0."""
    schemes = " or ".join(f"{scheme}://HOST:PORT" for scheme in ports)
    fix = f"write {schemes}"
    given = text(value, field, fix)
    parts, port = _split(given, field, fix)
    if parts.scheme not in ports:
        raise QueryError(f"{given!r} is of no known kind", field=field, fix=fix)
    if "@" in parts.netloc:
        raise QueryError(
            "has a user in it", field=field, fix="give user and password as settings of their own"
        )
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise QueryError(f"{given!r} is no address", field=field, fix=fix)
    found = ports[parts.scheme] if port is None else port
    if found < 1:
        raise QueryError(f"{given!r} names no port", field=field, fix=fix)
    return Address(parts.scheme, parts.hostname, found)


def _split(given: str, field: str, fix: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(given)
        return parts, parts.port
    except ValueError:
        # The text itself may hold a password, and is not told.
        raise QueryError("is no address", field=field, fix=fix) from None


def columns(schema: str, field: str = "schema") -> dict[str, str]:
    """The columns of a schema in Spark's words, and the first word of their types.

    Spark reads it again, and finds what is missed here.

    Examples
    --------
    >>> columns("user string, at timestamp, seen array<struct<a: int, b: int>>")
    {'user': 'string', 'at': 'timestamp', 'seen': 'array'}
    """
    found: dict[str, str] = {}
    for part in _parts(text(schema, field, 'write "user string, at timestamp"'), field):
        match = _COLUMN.fullmatch(part)
        if match is None:
            raise QueryError(
                f"{part.strip()!r} is no column", field=field, fix='write "user string, at bigint"'
            )
        name, kind = (match[1] or match[2]).replace("``", "`"), match[3].lower()
        if not _TYPES.fullmatch(kind):
            raise QueryError(
                f"the column {name} has the unknown type {match[3]}",
                field=field,
                fix="use string, bigint, double, timestamp, boolean, … as Spark does",
            )
        if name.lower() in {each.lower() for each in found}:
            raise QueryError(f"the column {name} is there twice", field=field, fix="name it once")
        found[name] = kind
    return found


def _parts(schema: str, field: str) -> list[str]:
    """The text between the commas that are in no bracket and no quote."""
    parts, depth, quote = [""], 0, ""
    for char in schema:
        if quote:
            quote = "" if char == quote else quote
        elif char in "`'\"":
            quote = char
        else:
            depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    if depth or quote:
        raise QueryError("a bracket or quote is not closed", field=field, fix="close it")
    return parts


def topic_filters(value: Any, field: str = "topics") -> tuple[str, ...]:
    """Topics of MQTT, in which ``+`` stands for a level, and ``#`` for all that follow."""
    found = texts(value, field, 'write topics = ["bids/#"]')
    for each in found:
        levels = each.split("/")
        group, rest = "".join(levels[1:2]), "/".join(levels[2:])
        if levels[0] == "$share" and (not group or not rest or set(group) & set("+#")):
            raise QueryError(
                f"{each!r} names no group", field=field, fix="write $share/GROUP/TOPIC"
            )
        misplaced = any("#" in level for level in levels[:-1]) or any(
            len(level) > 1 and set(level) & set("+#") for level in levels
        )
        if misplaced or "\0" in each or len(each.encode()) > _MOST_TOPIC_BYTES:
            raise QueryError(
                f"{each!r} is no topic",
                field=field,
                fix="+ stands for a whole level, and # for the last ones: bids/+/eu/#",
            )
    return found
