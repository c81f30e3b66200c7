"""The columns of a stream, as its schema names them in Spark's words."""

from __future__ import annotations

import re

from topwater.errors import QueryError
from topwater.validation import nearest, text_of

_COLUMN = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|([\w-]+))\s*+(?::\s++|(?<=\s))([A-Za-z_]+)(.*)", re.DOTALL
)
_TYPES = (
    *("array", "bigint", "binary", "boolean", "byte", "char", "date", "dec", "decimal", "double"),
    *("float", "int", "integer", "interval", "long", "map", "numeric", "real", "short"),
    *("smallint", "string", "struct", "time", "timestamp", "timestamp_ltz", "timestamp_ntz"),
    *("tinyint", "varchar", "variant", "void"),
)


def columns(schema: str, field: str = "schema") -> dict[str, str]:
    """The columns of a schema in Spark's words, and the first word of their types.

    Spark reads it again, and finds what is missed here.

    Examples
    --------
    >>> columns("user string, at timestamp, seen array<struct<a: int, b: int>>")
    {'user': 'string', 'at': 'timestamp', 'seen': 'array'}
    """
    found: dict[str, str] = {}
    folded: set[str] = set()
    for part in _parts(text_of(schema, field, 'write "user string, at timestamp"'), field):
        match = _COLUMN.fullmatch(part)
        if match is None:
            raise QueryError(
                f"{part.strip()!r} is not a column",
                field=field,
                fix='write "user string, at bigint"',
            )
        name, kind = (match[1] or match[2]).replace("``", "`"), match[3].lower()
        if kind not in _TYPES:
            near = nearest(kind, _TYPES)
            raise QueryError(
                f"the column {name} has the unknown type {match[3]}",
                field=field,
                fix=f"did you mean {near}?"
                if near
                else "use string, bigint, double, timestamp, boolean, … as Spark does",
            )
        if name.lower() in folded:
            raise QueryError(f"the column {name} is there twice", field=field, fix="name it once")
        folded.add(name.lower())
        found[name] = kind
    return found


def _parts(schema: str, field: str) -> list[str]:
    """The text between the commas that are in no bracket and no quote."""
    parts, depth, quote, start = [], 0, "", 0
    for at, char in enumerate(schema):
        if quote:
            quote = "" if char == quote else quote
        elif char in "`'\"":
            quote = char
        else:
            depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0 and not quote:
            parts.append(schema[start:at])
            start = at + 1
    if depth or quote:
        raise QueryError("a bracket or quote is not closed", field=field, fix="close it")
    return [*parts, schema[start:]]
