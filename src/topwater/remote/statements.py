"""What a database is asked. Keys are bound as parameters, never written into a statement."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from topwater.errors import QueryError
from topwater.remote.database_rows import KeyKind

MOST_ROWS = 50_000
"""Rows read for one request. More of them are not a look-up by key."""

_NAME = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))(?:\.|$)')
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?(?:\*/|\Z)""", re.DOTALL)

_SELECT = re.compile(r"[\s(]*+(?:select|with|values)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where a key's value stands: two columns of a table, or a query of one's own.

    Examples
    --------
    >>> lookup = Lookup(table="sales.users", key="id", value="followers")
    >>> " ".join(str(lookup.probe()).split())
    'SELECT sales.users.id, sales.users.followers FROM sales.users WHERE false'
    """

    table: str | None = None
    key: str | None = None
    value: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise QueryError(
                "needs either a table or a query",
                field="table",
                fix="write table=, key= and value=, or query=",
            )
        for name in ("table", "key", "value") if self.query is None else ("query",):
            given = getattr(self, name)
            if type(given) is not str or not given.strip() or "\0" in given:
                raise QueryError(f"{given!r} is not a name", field=name, fix=f"name the {name}")
        if self.query is not None:
            object.__setattr__(self, "query", checked(self.query))
            if self.key is not None or self.value is not None:
                raise QueryError(
                    "a query says itself what the key and the value are",
                    field="key" if self.key is not None else "value",
                    fix="leave it out: the query's first column is the key, its second the value",
                )
        else:
            _ = self.parts

    def statement(self, kind: KeyKind, postgres: bool = False) -> sa.Executable:
        """The statement that looks up the values of the parameter ``keys``."""
        if self.query is not None:
            return _own(self.query, MOST_ROWS if postgres else None)
        key, value = self._columns()
        if kind == "other":
            key = sa.cast(key, sa.Text)
        if postgres:
            bound = sa.bindparam("keys", type_=ARRAY(_TYPES[kind]))
            return sa.select(key, value).where(key == sa.func.any(bound)).limit(MOST_ROWS)
        inside = key.in_(sa.bindparam("keys", expanding=True))
        return sa.select(key, value).where(inside).limit(MOST_ROWS)

    def probe(self, postgres: bool = False) -> sa.Executable:
        """A statement with the same columns and no rows; its parameter ``keys`` is one NULL."""
        if self.query is not None:
            return _own(self.query, 0 if postgres else None)
        return sa.select(*self._columns()).where(sa.false())

    def _columns(self) -> tuple[sa.ColumnElement[Any], sa.ColumnElement[Any]]:
        *schema, name = self.parts
        key, value = str(self.key), str(self.value)
        table = sa.table(name, sa.column(key), sa.column(value), schema=".".join(schema) or None)
        return table.c[key], table.c[value]

    @property
    def parts(self) -> list[str]:
        """The names in ``schema.table``; one that has a dot stands in double quotes."""
        text, parts, at = str(self.table), [], 0
        while at < len(text):
            found = _NAME.match(text, at)
            if found is None:
                break
            parts.append(found[1].replace('""', '"') if found[1] else found[2])
            at = found.end()
        if at < len(text) or text.endswith(".") or len(parts) > 2:
            raise QueryError(
                f"{text!r} is not the name of a table",
                field="table",
                fix='write "table" or "schema.table"; put a name with dots in double quotes',
            )
        return parts


_TYPES: dict[KeyKind, sa.types.TypeEngine[Any]] = {
    "whole": sa.BigInteger(),
    "decimal": sa.Numeric(),
    "text": sa.Text(),
    "other": sa.Text(),
    "uuid": sa.Uuid(),
}


def _own(query: str, limit: int | None) -> sa.TextClause:
    """A user's query; for a database that sends all rows at once, with a limit around it."""
    text = query if limit is None else f"SELECT * FROM (\n{query}\n) AS found LIMIT {limit}"  # noqa: S608
    return sa.text(text).bindparams(sa.bindparam("keys", expanding=True))


def checked(query: str) -> str:
    """A query that can be asked: one SELECT of two columns with the parameter ``:keys``.

    Raises
    ------
    QueryError
        If it is another one. What only the database knows, ``check()`` finds.
    """
    query = query.strip().removesuffix(";").strip()
    bare = _QUOTED.sub(lambda found: "''" if found[0][0] in "'\"" else " ", query)
    names = set(sa.text(bare)._bindparams)
    fix = 'write it like "select id, followers from users where id in :keys"'
    if names != {"keys"}:
        others = sorted(names - {"keys"})
        raise QueryError(
            f"has the parameter :{others[0]}" if others else "has no parameter :keys",
            field="query",
            fix=fix,
        )
    if set(sa.text(query)._bindparams) != {"keys"}:
        raise QueryError(
            "has a colon before a word inside quotes or a comment, which reads as a parameter",
            field="query",
            fix="write \\: for the colon",
        )
    if ";" in bare:
        raise QueryError("is more than one statement", field="query", fix=fix)
    if not _SELECT.match(bare):
        raise QueryError("does not begin with select", field="query", fix=fix)
    columns = _count_columns(bare)
    if columns is not None and columns != 2:
        raise QueryError(f"yields {columns} columns, not a key and a value", field="query", fix=fix)
    return query


def _count_columns(bare: str) -> int | None:
    """How many columns the outermost SELECT has; None where only the database knows."""
    depth, inside = 0, False
    items: list[list[str]] = [[]]
    for token in re.findall(r"\w+|\s+|.", bare, re.DOTALL):
        depth += (token == "(") - (token == ")")  # noqa: S105
        word = token.lower() if depth == 0 else ""
        if inside and word in ("from", "where", "union", "intersect", "except", "limit", "order"):
            break
        if inside and word == ",":
            items.append([])
        elif inside and not token.isspace():
            items[-1].append(token)
        inside = inside or word == "select"
    stars = any(item == ["*"] or item[-2:] == [".", "*"] for item in items)
    return len(items) if inside and not stars else None
