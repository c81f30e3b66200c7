"""What a database said of one key, for a check, and which names were probably meant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from topwater.model import Fetched, Key
from topwater.remote.database_rows import Asked
from topwater.remote.look import Look, NoValue, excerpt, look_of, no_value
from topwater.remote.statements import Lookup
from topwater.remote.wanted_values import Wanted
from topwater.validation import nearest, shown

_LISTED = 8


def look_at(
    rows: Sequence[Any], asked: Asked, key: Key, lookup: Lookup, columns: Sequence[str]
) -> Look | NoValue:
    """What the rows say of a key, or the error to raise."""
    got = asked.answer(rows, lookup.arriving)
    of_query = lookup.query is not None and not lookup.wanted[0].name
    places = ", ".join(each.place or "rows" for each in lookup.wanted)
    where = "the second column" if of_query else places
    if not rows:
        place = "query" if lookup.query is not None else "key"
        where_keys = " and ".join(lookup.keys)
        fix = f"is {where_keys} the column with the keys? If so, name a key that is there"
        fix = fix if lookup.query is None else "correct the query, or name a key that is there"
        return no_value(key, "not_found", field=place, fix=fix)
    said = excerpt(", ".join(repr(tuple(row)) for row in rows[:3]))
    wanted = next((each for each in lookup.wanted if _lacks(got, each)), None)
    if wanted is None and got.ok[0]:
        return look_of(got, key, said, where)
    reason = _reason(got, wanted)
    field = "query" if lookup.query is not None else "value" if wanted is None else wanted.setting
    if reason == "doubled":
        fix = f"say which of them counts, as max({lookup.wanted[0].place or 'price'})"
        fix = fix if lookup.query is None else "let it be one: write a query with MAX or AVG"
        return no_value(key, reason, said, field, fix)
    if reason == "not_found":
        fix = "the database treats different keys as equal: compare them exactly"
        return no_value(key, reason, said, "key", fix)
    taken = {each.place for each in lookup.wanted}
    others = ", ".join(each for each in columns[:_LISTED] if each not in taken)
    fix = f"name a key that has one, or a column of numbers: {others}" if others else ""
    return no_value(key, reason, said, field, fix)


def _lacks(got: Fetched, wanted: Wanted) -> bool:
    """Whether a number that is wanted is not there."""
    if wanted.text:
        return False
    return not math.isfinite((got.columns[wanted.name] if wanted.name else got.values)[0])


def _reason(got: Fetched, wanted: Wanted | None) -> str:
    if got.ok[0] and wanted is not None and wanted.name:
        return str(got.whys[wanted.name][0])
    return str(got.reasons()[0])


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
        and each["name"] not in lookup.keys
    ]


def similar(connection: sa.Connection, lookup: Lookup, setting: str) -> str:
    """What to write instead of the name of a table or a column that is not there."""
    *schema, table = lookup.parts
    inspector, place = sa.inspect(connection), ".".join(schema) or None
    if setting == "table":
        wrong, known = table, [*inspector.get_table_names(place), *inspector.get_view_names(place)]
    else:
        known = [each["name"] for each in inspector.get_columns(table, place)]
        places = [*lookup.keys] if setting == "key" else [each.place for each in lookup.wanted]
        wrong = next((each for each in places if each not in known), places[0])
    if not known:
        return ""
    near = nearest(wrong, known)
    more = ", …" if len(known) > _LISTED else ""
    listed = ", ".join(shown(each) for each in known[:_LISTED])
    return f"did you mean {near}?" if near is not None else f"use one of: {listed}{more}"
