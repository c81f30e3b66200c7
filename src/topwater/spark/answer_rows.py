"""Rows of windows and items → answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from topwater.errors import QueryError
from topwater.model import Answer, Frozen, Remote, taken_together
from topwater.model import Row as AnswerRow
from topwater.query.answer_columns import AnswerColumns, RemoteColumns
from topwater.spark.frames import ITEM, KIND, WINDOW
from topwater.spark.packed_rows import ESTIMATES, FIGURES, of_figures, window_of

if TYPE_CHECKING:
    from topwater.model import Key
    from topwater.query import TopKQuery


def answers_from(table: pa.Table, query: TopKQuery) -> list[Answer]:
    """The answers that rows of windows and items stand for, in the order of windows.

    Parameters
    ----------
    table
        Rows of :func:`topwater.spark.topk` with ``give="both"``, of whole windows: for instance
        ``spark.read.parquet(…).toArrow()``, or ``batch.toArrow()`` inside ``foreachBatch``.
    query
        The query that was answered.

    Raises
    ------
    QueryError
        If the rows are others.
    """
    if not {KIND, FIGURES} <= set(table.column_names):
        raise QueryError(
            "these rows are not of windows and items",
            field="table",
            fix='pass what topk(…, give="both") gave, with its columns',
        )
    table = table.filter(pc.is_in(table.column(KIND), pa.array([ITEM, WINDOW])))
    for name in ("window_start", "window_end", "time"):
        millis = table.column(name).cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, millis)
    reader = _Reader(query)
    whole: dict[tuple[Any, ...], dict[str, Any]] = {}
    ranked: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        place = (row["window_end"], reader.group(row))
        if row[KIND] == WINDOW:
            whole[place] = row
        else:
            ranked.setdefault(place, []).append(row)
    return [reader.answer(whole[place], ranked.get(place, [])) for place in sorted(whole)]


class _Reader:
    """Reads the rows of one query."""

    def __init__(self, query: TopKQuery) -> None:
        self._query = query
        self._columns = AnswerColumns.of(query)

    def answer(self, whole: Mapping[str, Any], ranked: list[dict[str, Any]]) -> Answer:
        """An answer from the row of its window and those of its items."""
        query = self._query
        told = of_figures(whole[FIGURES], {name: whole[name] for name in ESTIMATES})
        told["looked_up"] = tuple(
            each if each.source else replace(each, key=self._key_of(each.key))
            for each in told["looked_up"]
        )
        return Answer(
            window=window_of(whole["window_start"], whole["window_end"], query),
            rows=tuple(map(self._item, sorted(ranked, key=lambda row: row["rank"]))),
            exact=whole["exact"],
            group=self.group(whole),
            key_columns=query.key if isinstance(query.key, tuple) else (),
            group_columns=query.group_by if isinstance(query.group_by, tuple) else (),
            **told,
        )

    def group(self, row: Mapping[str, Any]) -> Key | None:
        """The group of a row."""
        columns = self._query.group_by
        return None if columns is None else _key(row, columns)

    def _item(self, row: Mapping[str, Any]) -> AnswerRow:
        own = (row["rank"], _key(row, self._query.key), row["score"], row["time"])
        labels = self._query.label_names
        values = tuple(
            row[column] if name in labels or row[column] is None else float(row[column])
            for name, column in self._columns.values.items()
        )
        cells = {name: _cell(row, each) for name, each in self._columns.remotes.items()}
        several = self._query.joins is not None
        whole = taken_together(cells.values()) if several else next(iter(cells.values()), None)
        if whole is None:
            return AnswerRow(*own, values)
        remote: Any = whole.value
        fresh = (whole.age, whole.confidence, whole.assumed)
        return AnswerRow(*own, values, remote, *fresh, Frozen(cells if several else {}))

    def _key_of(self, key: Any) -> Key:
        """The key of a look-up: a structure if it has several columns."""
        names = self._query.key
        return _key(key if isinstance(names, tuple) else {names: key}, names)


def _cell(row: Mapping[str, Any], columns: RemoteColumns) -> Remote:
    return Remote(*(row[name] for name in columns.names))


def _key(row: Mapping[str, Any], columns: str | tuple[str, ...]) -> Key:
    """A key of a row; a moment in UTC, whatever the zone of the session that read it."""
    cells = [row[columns]] if isinstance(columns, str) else [row[each] for each in columns]
    parts = [
        each.astimezone(UTC) if isinstance(each, datetime) and each.tzinfo else each
        for each in cells
    ]
    return parts[0] if isinstance(columns, str) else tuple(parts)
