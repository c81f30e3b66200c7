"""What a database is asked. Keys are bound as parameters, never written into a statement."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from topwater.errors import QueryError
from topwater.remote.database_rows import KeyKind
from topwater.remote.wanted_values import Places, Wanted, names_of, wanted_values

MOST_ROWS = 50_000
"""Rows read for one request. More of them are not a look-up by key."""

_NAME = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))(?:\.|$)')
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?(?:\*/|\Z)""", re.DOTALL)

_SELECT = re.compile(r"[\s(]*+(?:select|with|values)\b", re.IGNORECASE)


class OtherColumns(LookupError):
    """A query yields other columns than those that are wanted."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where a key's value stands: columns of a table, or a query of the user's.

    Examples
    --------
    >>> lookup = Lookup(table="sales.users", key="id", value="followers")
    >>> " ".join(str(lookup.probe()).split())
    'SELECT sales.users.id, sales.users.followers FROM sales.users WHERE false'
    """

    table: str | None = None
    key: str | tuple[str, ...] | None = None
    value: Places | None = None
    query: str | None = None
    text: Places | None = None
    wanted: tuple[Wanted, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise QueryError(
                "needs either a table or a query",
                field="table",
                fix="write table=, key= and value=, or query=",
            )
        for name in ("table", "key", "value") if self.query is None else ("query",):
            given = getattr(self, name)
            if name == "value" and isinstance(given, list | tuple | Mapping):
                continue
            if name == "key" and isinstance(given, tuple):
                continue
            if type(given) is not str or not given.strip() or "\0" in given:
                raise QueryError(f"{given!r} is not a name", field=name, fix=f"name the {name}")
        of_query = self.query is not None and self.value is None and self.text is None
        wanted = (Wanted("", ""),) if of_query else wanted_values(self.value, self.text)
        object.__setattr__(self, "wanted", wanted)
        if self.query is not None:
            object.__setattr__(self, "query", checked(self.query, several=not of_query))
            if self.key is not None or not (of_query or names_of(wanted)):
                raise QueryError(
                    "a query says itself what the key and the value are",
                    field="key" if self.key is not None else "value",
                    fix="leave it out: the query's first column is the key, its second the value; "
                    'for several write value=["price", "stock"]',
                )
        else:
            _ = self.parts

    def statement(
        self, kind: KeyKind, postgres: bool = False, sqlite: bool = False
    ) -> sa.Executable:
        """The statement that looks up the values of the parameter ``keys``."""
        if self.query is not None:
            return _own(self.query, MOST_ROWS if postgres else None)
        columns = self._columns()
        if len(self.keys) > 1:
            return self._of_several(columns, sqlite)
        key, *values = columns
        shown = sa.cast(key, sa.Text) if kind == "other" else key
        found = sa.select(shown, *(self._merged(values, sqlite) if self.merges else values))
        if postgres:
            bound = sa.bindparam("keys", type_=ARRAY(_TYPES[kind]))
            found = found.where(shown == sa.func.any(bound))
        else:
            found = found.where(key.in_(sa.bindparam("keys", expanding=True)))
        if self.merges:
            found = found.group_by(shown, *([sa.func.hex(key)] if sqlite else []))
        return found.limit(MOST_ROWS)

    def _of_several(self, columns: Sequence[sa.ColumnElement[Any]], sqlite: bool) -> sa.Select[Any]:
        """The statement for keys of several columns: a row has all parts of one."""
        keys, values = columns[: len(self.keys)], columns[len(self.keys) :]
        found = sa.select(*keys, *(self._merged(values, sqlite) if self.merges else values))
        found = found.where(sa.tuple_(*keys).in_(sa.bindparam("keys", expanding=True)))
        if self.merges:
            found = found.group_by(*keys, *(map(sa.func.hex, keys) if sqlite else ()))
        return found.limit(MOST_ROWS)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self.key if isinstance(self.key, tuple) else (str(self.key),)

    def probe(self, postgres: bool = False) -> sa.Executable:
        """A statement with the same columns and no rows; its parameter ``keys`` is one NULL."""
        if self.query is not None:
            return _own(self.query, 0 if postgres else None)
        return sa.select(*self._columns()).where(sa.false())

    @property
    def merges(self) -> bool:
        """Whether the database itself makes one value of several; a query of the user's does so."""
        return self.table is not None and all(each.merge is not None for each in self.wanted)

    @property
    def arriving(self) -> tuple[Wanted, ...]:
        """What is wanted, as its rows come."""
        return tuple(each.merged for each in self.wanted) if self.merges else self.wanted

    def rows(self, names: Sequence[str], rows: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Keys and values, in the order in which they are wanted.

        Raises
        ------
        OtherColumns
            If a query yields other columns than those.
        """
        at, of_key = self._at(names), len(self.keys)
        for row in rows:
            key = row[0] if of_key == 1 else tuple(row[:of_key])
            values = (row[place] for place in at)
            if self.merges:  # the greatest of texts is not that of the numbers they write
                told = zip(self.wanted, values, strict=True)
                yield (key, *(_merged_number(wanted, value) for wanted, value in told))
            else:
                yield (key, *values)

    def _at(self, names: Sequence[str]) -> list[int]:
        """Where the values stand in a row."""
        if self.query is None or not names_of(self.wanted):
            if len(names) != len(self.keys) + len(self.wanted):
                raise OtherColumns(f"yields {len(names)} columns, not a key and a value")
            return [*range(len(self.keys), len(names))]
        found = {name: at for at, name in enumerate(names) if at}
        for each in self.wanted:
            if each.place not in found:
                raise OtherColumns(f"yields no column {each.place} beside its first, the key")
        return [found[each.place] for each in self.wanted]

    def _columns(self) -> tuple[sa.ColumnElement[Any], ...]:
        *schema, name = self.parts
        places = dict.fromkeys([*self.keys, *(each.place for each in self.wanted if each.place)])
        columns: list[sa.ColumnClause[Any]] = [sa.column(place) for place in places]
        table = sa.table(name, *columns, schema=".".join(schema) or None)
        one: sa.ColumnElement[Any] = sa.literal_column("1")  # of which a count is one of rows
        values = [table.c[each.place] if each.place else one for each in self.wanted]
        return (*(table.c[each] for each in self.keys), *values)

    def _merged(
        self, values: Sequence[sa.ColumnElement[Any]], sqlite: bool
    ) -> list[sa.ColumnElement[Any]]:
        told = zip(self.wanted, values, strict=True)
        found = [_AGGREGATES[str(each.merge)](value) for each, value in told]
        if not sqlite:
            return found
        # SQLite takes any text in a sum for 0. Of the names of its types, that of texts is last.
        return [
            sa.case((sa.func.max(sa.func.typeof(value)) == "text", "text"), else_=each)
            if wanted.merge in ("sum", "mean")
            else each
            for wanted, value, each in zip(self.wanted, values, found, strict=True)
        ]

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


_AGGREGATES: Mapping[str, Callable[[Any], sa.ColumnElement[Any]]] = {
    "max": sa.func.max,
    "min": sa.func.min,
    "mean": sa.func.avg,
    "sum": sa.func.sum,
    "count": sa.func.count,
    "sample": sa.func.min,
}


def _merged_number(wanted: Wanted, value: Any) -> Any:
    return math.nan if isinstance(value, str) and not wanted.text else value


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


def checked(query: str, *, several: bool = False) -> str:
    """A query that can be asked: one SELECT of two columns with the parameter ``:keys``.

    Parameters
    ----------
    query
        As the user wrote it.
    several
        Whether it has more columns than two, which are told apart by their names.

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
    if columns is not None and columns != 2 and not several:
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
