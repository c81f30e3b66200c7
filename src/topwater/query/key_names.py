"""The names of a key's columns: which may be, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from topwater.errors import QueryError
from topwater.model import Counts, Freshness, Row

TAKEN = frozenset(
    {
        *(field.name for kind in (Row, Freshness, Counts) for field in fields(kind)),
        *("window_start", "window_end", "group", "exact", "candidates", "problems", "looked_up"),
        *("kind", "spent", "left", "texts", "notices"),
    }
)
"""What answers call their columns, as a table: the columns of a key stand beside them."""


def names_of(columns: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as several."""
    return (columns,) if isinstance(columns, str) else tuple(columns)


def one_column(columns: str | Sequence[str], field: str) -> str:
    """The only column.

    Raises
    ------
    QueryError
        If there are several: where keys are kept, they are one column.
    """
    if isinstance(columns, str):
        return columns
    raise QueryError(
        f"keys of several columns ({', '.join(columns)}) are made one where events come in",
        field=field,
        fix="use run(), or topwater.monitor.KeyedMonitor",
    )


def check_key_names(columns: str | Sequence[str], field: str, others: Sequence[str]) -> None:
    """Raise if several columns can't stand in an answer by their names.

    Parameters
    ----------
    columns, field
        The columns, and the setting that names them.
    others
        What the query calls its other values.
    """
    if isinstance(columns, str):
        return
    for name in columns:
        if name in TAKEN:
            raise QueryError(
                f"{name!r} is the name of a column that answers have anyway",
                field=field,
                fix="give the stream's column another name before the query",
            )
        if name in others:
            raise QueryError(
                f"{name!r} names both a column of the {_WORDS[field]} and another value",
                field=field,
                fix="give one of them another name",
            )


_WORDS = {"key": "key", "group_by": "groups"}
