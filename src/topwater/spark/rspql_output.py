"""What a query in RSP-QL shows of its answers: variables or triples, all, new or gone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from topwater.rspql.plan.plan import Plan
from topwater.rspql.plan.projection import (
    Rows,
    Solution,
    best_rows,
    constructed,
    difference,
    shown,
)
from topwater.rspql.registration import require_single
from topwater.spark.extra_columns import REMOTES, TEXTS, both_of
from topwater.spark.planned_processor import planned
from topwater.spark.workers import set_modules_aside

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

TRIPLES = "triples"
"""The column with the triples of ``CONSTRUCT``."""

_OURS = ("key", "score", "values", "remote", TEXTS, REMOTES)
_ROWWISE = ("rank", "time", "age", "confidence", "assumed")
_PLACE = "place"


def shown_rows(answers: DataFrame, plan: Plan) -> DataFrame:
    """The rows that the query asks for, from those of :func:`topwater.spark.topk`."""
    if plan.then:
        answers = answers.mapInArrow(partial(_settled, plan), answers.schema)
    if plan.form == "construct":
        schema = _schema(answers, {TRIPLES: StringType()}, per_row=False)
        rows = answers.mapInArrow(partial(_constructs, plan), schema)
        watched = [TRIPLES]
    else:
        kinds = {
            each.name: StringType() if each.role in ("key", "text") else DoubleType()
            for each in plan.projection
        }
        schema = _schema(answers, kinds, per_row=True)
        rows = answers.mapInArrow(partial(_selects, plan), schema)
        watched = list(kinds)
    return rows if plan.operator == "RSTREAM" else _changes(rows, plan.operator, watched)


def _schema(answers: DataFrame, added: Mapping[str, Any], *, per_row: bool) -> StructType:
    """Window and rank, then what the query shows, then what is said of the answer."""
    kept = [
        StructField(column.name, column.dataType)
        for column in answers.schema
        if column.name not in (*_OURS, *added) and (per_row or column.name not in _ROWWISE)
    ]
    first = 3 if per_row else 2
    shown = [StructField(name, kind) for name, kind in added.items()]
    return StructType([*kept[:first], *shown, *kept[first:]])


def _rows(plan: Plan, table: pa.Table) -> Rows:
    values = _values(table)
    names = () if isinstance(plan.take, str) else tuple(plan.take)
    return Rows(
        table.column("key").to_pylist(),
        table.column("score").to_pylist(),
        {
            name: [None if each is None else each[place] for each in values]
            for place, name in enumerate(names)
        },
        _remotes(plan, table),
    )


def _values(table: pa.Table) -> list[Any]:
    """What the stream contributed to each row; None in windows without rows."""
    numbers: list[Any] = table.column("values").to_pylist()
    if TEXTS not in table.column_names:
        return numbers
    pairs = zip(numbers, table.column(TEXTS).to_pylist(), strict=True)
    return [None if each is None else both_of(each, texts) for each, texts in pairs]


def _remotes(plan: Plan, table: pa.Table) -> dict[str, list[Any]]:
    """What services said of each row, by the variables."""
    if plan.service is not None:
        return {plan.service.value: table.column("remote").to_pylist()}
    cells = table.column(REMOTES).to_pylist() if REMOTES in table.column_names else []
    return {
        name: [None if each is None else each[name]["value"] for each in cells]
        for service in plan.services
        for name in service.names
    }


def _require_single(plan: Plan, table: pa.Table) -> None:
    """Stop where the service has several values for a key."""
    if plan.services:
        told = table.column("problems").to_pylist()
        require_single(plan, {name for each in told for name, _ in each or ()})


def _settled(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The k best rows of each window by all conditions, of which one micro-batch holds all."""
    set_modules_aside()
    parts = list(batches)
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    ranked, scores = (table.column(name).to_pylist() for name in ("rank", "score"))
    order: list[int] = []
    ranks: list[int | None] = []
    for rows in _windows(table):
        there = np.array([row for row in rows if ranked[row] is not None], np.int64)
        best = best_rows(
            plan,
            [scores[row] for row in there],
            lambda at, there=there: _rows(plan, table.take(there[at])),  # type: ignore[misc]
        )
        order += there[best].tolist() or rows[:1]
        ranks += range(1, len(best) + 1) if best else [None]
    place = table.column_names.index("rank")
    found = table.take(order)
    rank = pa.array(ranks, found.schema.field("rank").type)
    yield from found.set_column(place, "rank", rank).combine_chunks().to_batches()


def _windows(table: pa.Table) -> list[list[int]]:
    """The rows of each window, in their order."""
    windows: dict[Any, list[int]] = {}
    for row, closes in enumerate(table.column("window_end").cast(pa.int64()).to_pylist()):
        windows.setdefault(closes, []).append(row)
    return list(windows.values())


def _selects(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    set_modules_aside()
    kinds = {
        each.name: pa.string() if each.role in ("key", "text") else pa.float64()
        for each in plan.projection
    }
    for batch in batches:
        table = pa.Table.from_batches([batch])
        _require_single(plan, table)
        columns = shown(plan, _rows(plan, table))
        arrays = {name: pa.array(column, kinds[name]) for name, column in columns.items()}
        rest = {name: table.column(name) for name in table.column_names}
        rest = {name: column for name, column in rest.items() if name not in (*_OURS, *arrays)}
        first, last = list(rest.items())[:3], list(rest.items())[3:]
        found = pa.table(dict([*first, *arrays.items(), *last]))
        yield from found.combine_chunks().to_batches()


def _constructs(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    set_modules_aside()
    parts = list(batches)
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    _require_single(plan, table)
    columns = shown(plan, _rows(plan, table))
    solutions: list[Solution] = list(zip(*columns.values(), strict=True))
    windows = _windows(table)
    ends = table.column("window_end").cast(pa.int64())
    ranked = table.column("rank").to_pylist()
    texts = []
    for rows in windows:
        mine = [solutions[row] for row in rows if ranked[row] is not None]
        texts.append("\n".join(constructed(plan, mine, str(ends[rows[0]].as_py() // 1_000))))
    first = table.take([rows[0] for rows in windows])
    rest = {name: first.column(name) for name in first.column_names}
    for name in (*_OURS, *_ROWWISE, TRIPLES):
        rest.pop(name, None)
    head, tail = list(rest.items())[:2], list(rest.items())[2:]
    found = pa.table(dict([*head, (TRIPLES, pa.array(texts, pa.string())), *tail]))
    yield from found.combine_chunks().to_batches()


def _changes(rows: DataFrame, operator: str, watched: list[str]) -> DataFrame:
    """What is new in each window, or gone."""
    schema = rows.schema
    keyed = rows.withColumn(_PLACE, F.lit(0)).groupBy(_PLACE)
    return keyed.transformWithState(planned(Changes(operator, watched)), schema, "Append", "None")


_BEFORE = StructType([StructField("rows", StringType())])


class Changes(StatefulProcessor):
    """Compares each window with the one before, which is the state.

    Parameters
    ----------
    operator
        ``"ISTREAM"`` or ``"DSTREAM"``.
    watched
        The columns that tell rows apart. One column of triples is compared line by line.
    """

    def __init__(self, operator: str, watched: list[str]) -> None:
        self._operator = operator
        self._watched = watched

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        set_modules_aside()
        self._state = handle.getValueState("before", _BEFORE)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Compare the windows of a micro-batch."""
        stored = self._state.get()
        before = [] if stored is None else [tuple(each) for each in json.loads(stored[0])]
        windows: dict[Any, list[dict[str, Any]]] = {}
        for row in rows:
            windows.setdefault(row.window_end, []).append(row.asDict())
        found: list[dict[str, Any]] = []
        compare = self._lines if self._watched == [TRIPLES] else self._rows
        for closes in sorted(windows):
            out, before = compare(windows[closes], before)
            found += out
        self._state.update((json.dumps(before),))
        for each in found:
            each.pop(_PLACE, None)
        return (Row(**each) for each in found)

    def _rows(
        self, rows: list[dict[str, Any]], before: list[Solution]
    ) -> tuple[list[dict[str, Any]], list[Solution]]:
        rows = sorted(rows, key=lambda row: row["rank"] or 0)
        there = [row for row in rows if row["rank"] is not None]
        now = [tuple(row[name] for name in ("rank", *self._watched)) for row in there]
        new, gone = difference(self._operator, [each[1:] for each in now], [b[1:] for b in before])
        nothing = {*self._watched, *_ROWWISE}
        blank = {name: None if name in nothing else value for name, value in rows[0].items()}
        out = [there[place] for place in new]
        out += [
            blank | dict(zip(("rank", *self._watched), before[place], strict=True))
            for place in gone
        ]
        return out or [blank], now

    def _lines(
        self, rows: list[dict[str, Any]], before: list[Solution]
    ) -> tuple[list[dict[str, Any]], list[Solution]]:
        (row,) = rows
        now = [(line,) for line in row[TRIPLES].splitlines()]
        new, gone = difference(self._operator, now, before)
        lines = [now[place][0] for place in new] + [before[place][0] for place in gone]
        return [row | {TRIPLES: "\n".join(lines)}], now
