"""Rows of windows and of items, as a run shows them: by the same names for any query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from topwater.model import Remote, taken_together
from topwater.query import TopKQuery
from topwater.query.answer_columns import AnswerColumns

Told = dict[str, Any]


def told_rows(rows: Iterable[Mapping[str, Any]], query: TopKQuery) -> Iterator[Told]:
    """The rows of :func:`topwater.spark.topk` with ``give="both"``, by names that are ours.

    A key of one column is ``key``, a group of one ``group``. What the stream contributed is in
    ``values``, and the remote value in ``remote``; several are in ``remotes``.
    """
    columns = AnswerColumns.of(query)
    for row in rows:
        if row["kind"] != "late":
            yield _window(row, query) if row["kind"] == "window" else _item(row, query, columns)


def _window(row: Mapping[str, Any], query: TopKQuery) -> Told:
    whole = {name: row[name] for name in ("exact", "precision", "ndcg")}
    return _where(row, query) | {"rank": None} | whole | dict(row["figures"])


def _item(row: Mapping[str, Any], query: TopKQuery, columns: AnswerColumns) -> Told:
    cells = {
        name: Remote(*(row[each] for each in of.names)) for name, of in columns.remotes.items()
    }
    several = query.joins is not None
    whole = taken_together(cells.values()) if several else next(iter(cells.values()), Remote(None))
    found = _where(row, query) | {name: row[name] for name in ("rank", "score", "time", "exact")}
    found |= _named("key", query.key, row)
    found["values"] = [row[column] for column in columns.values.values()]
    found |= {"remote": whole.value, "age": whole.age}
    found |= {"confidence": whole.confidence, "assumed": whole.assumed}
    if several:
        found["remotes"] = {name: asdict(each) for name, each in cells.items()}
    return found


def _where(row: Mapping[str, Any], query: TopKQuery) -> Told:
    found = {name: row[name] for name in ("window_start", "window_end")}
    return found | ({} if query.group_by is None else _named("group", query.group_by, row))


def _named(name: str, columns: str | tuple[str, ...], row: Mapping[str, Any]) -> Told:
    """A key of one column by a name that is ours; else its columns, by theirs."""
    if isinstance(columns, str):
        return {name: row[columns]}
    return {each: row[each] for each in columns}
