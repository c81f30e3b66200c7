"""Keys as files and command lines write them, in the types that the stream's schema gives them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from topwater.errors import QueryError
from topwater.model import Key, KeyPart
from topwater.query import TopKQuery

WHOLE = ("bigint", "long", "int", "integer", "smallint", "tinyint", "short", "byte")
_TRUTHS = {"true": True, "false": False}
_READ: dict[str, Callable[[str], KeyPart]] = {
    **dict.fromkeys(WHOLE, int),
    **dict.fromkeys(("timestamp", "timestamp_ltz", "timestamp_ntz"), datetime.fromisoformat),
    **dict.fromkeys(("dec", "decimal", "numeric"), Decimal),
    "date": date.fromisoformat,
    "boolean": lambda text: _TRUTHS[text.lower()],
}


def key_from(cells: Sequence[Any], kinds: Sequence[str]) -> Key | None:
    """A key as the query will see it; None if it can't be one.

    Parameters
    ----------
    cells
        What stands in its columns.
    kinds
        The types of these in Spark's words; ``""`` where they are not known.

    Examples
    --------
    >>> key_from(["tea", "2026-11-18"], ["string", "date"]), key_from(["7"], ["bigint"])
    (('tea', datetime.date(2026, 11, 18)), 7)
    """
    parts = [_part(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    return known if len(known) > 1 else known[0]


def key_of_text(text: str, query: TopKQuery, columns: Mapping[str, str]) -> Key:
    """A key as a command line names it: the parts of one of several columns with commas between.

    Raises
    ------
    QueryError
        If it is not a key of this query.
    """
    names = query.key_columns
    cells = next(csv.reader([text]), []) if len(names) > 1 else [text]
    if len(cells) != len(names):
        raise QueryError(
            f"{text!r} has {len(cells)} parts, and keys have {len(names)}: {', '.join(names)}",
            field="--key",
            fix="write them with commas between; one that has a comma in double quotes",
        )
    found = key_from(cells, [columns.get(name, "") for name in names])
    if found is None:
        raise QueryError(
            f"{text!r} is not a key of the stream",
            field="--key",
            fix="write each part as its type is written: a date as 2026-11-18, a boolean as true",
        )
    return found


def _part(cell: Any, kind: str) -> KeyPart | None:
    read = _READ.get(kind)
    if isinstance(cell, date | Decimal) or (isinstance(cell, bool) and kind == "boolean"):
        found: KeyPart = cell
        return found
    if isinstance(cell, bool) or not isinstance(cell, int | str | float):
        return None
    if read is None:
        return cell if isinstance(cell, int | str) else None
    try:
        return read(str(cell))
    except (ValueError, ArithmeticError, KeyError):
        return None
