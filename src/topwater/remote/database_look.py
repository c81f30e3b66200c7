"""What a database said of one key, as a check tells it, and which names were probably meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from topwater.model import Key
from topwater.remote.database_rows import Asked
from topwater.remote.look import Look, NoValue, excerpt, no_value
from topwater.remote.statements import Lookup
from topwater.validation import nearest, shown

_LISTED = 8


def look_at(
    rows: Sequence[Any], asked: Asked, key: Key, lookup: Lookup, columns: Sequence[str]
) -> Look | NoValue:
    """What the rows say of a key, or the error to raise."""
    got = asked.answer((row[0], row[1]) for row in rows)
    where = lookup.value or "the second column"
    if not rows:
        place = "query" if lookup.query is not None else "key"
        fix = f"is {lookup.key} the column with the keys? If so, name a key that is there"
        fix = fix if lookup.query is None else "correct the query, or name a key that is there"
        return no_value(key, "not_found", field=place, fix=fix)
    said = excerpt(", ".join(repr(tuple(row)) for row in rows[:3]))
    reason = "" if got.why is None else str(got.why[0])
    if not reason:
        return Look(key, float(got.values[0]), said, str(where))
    field = "query" if lookup.query is not None else "value"
    if reason == "doubled":
        return no_value(key, reason, said, field, "let it be one: write a query with MAX or AVG")
    if reason == "not_found":
        fix = "the database takes other keys for equal: compare them exactly"
        return no_value(key, reason, said, "key", fix)
    others = ", ".join(each for each in columns[:_LISTED] if each != lookup.value)
    fix = f"name a key that has one, or a column of numbers: {others}" if others else ""
    return no_value(key, reason, said, field, fix)


def number_columns(connection: sa.Connection, lookup: Lookup) -> list[str]:
    """The columns of the table that hold numbers, but for its keys; none where it has no table."""
    if lookup.table is None:
        return []
    *schema, name = lookup.parts
    try:
        found = sa.inspect(connection).get_columns(name, ".".join(schema) or None)
    except Exception:  # it is only advice
        return []
    return [
        each["name"]
        for each in found
        if isinstance(each["type"], sa.Numeric | sa.Float | sa.Integer)
        and each["name"] != lookup.key
    ]


def similar(connection: sa.Connection, lookup: Lookup, setting: str) -> str:
    """What to write instead of the name of a table or a column that is not there."""
    *schema, table = lookup.parts
    inspector, place = sa.inspect(connection), ".".join(schema) or None
    if setting == "table":
        wrong, known = table, [*inspector.get_table_names(place), *inspector.get_view_names(place)]
    else:
        wrong = str(getattr(lookup, setting))
        known = [each["name"] for each in inspector.get_columns(table, place)]
    if not known:
        return ""
    near = nearest(wrong, known)
    more = ", …" if len(known) > _LISTED else ""
    listed = ", ".join(shown(each) for each in known[:_LISTED])
    return f"did you mean {near}?" if near is not None else f"use one of: {listed}{more}"
