"""The rows that users see: of items, of windows, of both, or of what changed.

::

    one row a window, packed ──► items: a row each, with the user's columns
                             ├─► windows: a row each, with what is said of the whole
                             ├─► both, told apart by a column
                             └─► deltas, behind one more stage: :mod:`topwater.spark.deltas`

Spark plans every micro-batch anew, column by column. So items carry few columns, and what is said
of a window travels as one structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from pyspark.sql import functions as F  # noqa: N812

from topwater.errors import QueryError
from topwater.query.answer_columns import AnswerColumns, free_name
from topwater.query.keyed_query import forms_of
from topwater.spark.deltas import delta_rows
from topwater.spark.extra_columns import REMOTES, TEXTS, Extras
from topwater.spark.key_expressions import key_outside
from topwater.spark.packed_rows import ANSWER, CELLS, ESTIMATES, FIGURES, LATE, TOLD
from topwater.spark.score_columns import quoted
from topwater.validation import checked_call, choice_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from topwater.model import KeyForm
    from topwater.query import TopKQuery

Give = Literal["items", "windows", "both", "deltas"]

KIND, ITEM, WINDOW = "kind", "item", "window"
"""The column that tells rows apart, and what stands in it; for late rows it is ``"late"``."""

_SAID, _CELL, _PLACE = "said", "cell", "rank"
_ENDS = ("window_start", "window_end")


@dataclass(frozen=True, slots=True)
class Frames:
    """Makes what users see of the rows inside.

    Attributes
    ----------
    query
        The query over keys as they are inside.
    columns
        What the columns are called.
    extras
        What items have beside the usual.
    late
        Whether there are rows that came too late.
    """

    query: TopKQuery
    columns: AnswerColumns
    extras: Extras
    late: bool = False

    def given(self, rows: DataFrame, give: Give) -> DataFrame:
        """The rows of a kind that :func:`topwater.spark.topk` was asked for."""
        make = {"items": self.items, "windows": self.windows, "both": self.both}
        return make.get(give, self.deltas)(rows)

    def items(self, rows: DataFrame) -> DataFrame:
        """One row for each item, and if wanted for each that came too late."""
        answer = F.col("kind") == ANSWER
        rows = rows.filter(F.col("kind").isin(ANSWER, LATE) if self.late else answer)
        flat = self._flat(rows, self._cells(), *self._kind())
        rank = F.col(_PLACE) + 1
        kind = [F.when(answer, ITEM).otherwise(LATE).alias(KIND)] if self.late else []
        rank = F.when(answer, rank) if self.late else rank
        return flat.select(*kind, *self._of_item(rank))

    def windows(self, rows: DataFrame) -> DataFrame:
        """One row for each window, or for each window of a group."""
        rows = rows.filter(F.col("kind") == ANSWER)
        groups = self._groups()
        names = [each.name for each in rows.schema[TOLD].dataType]  # type: ignore[attr-defined]
        told = rows.select(*_ends(), *groups.values(), "exact", *ESTIMATES, self._figures())
        taken = {*_ENDS, *groups}
        return told.select(
            *_ENDS,
            *(quoted(name) for name in groups),
            *(quoted(name) for name in ("exact", *ESTIMATES)),
            *(F.col(FIGURES)[name].alias(free_name(name, taken)) for name in names),
        )

    def both(self, rows: DataFrame) -> DataFrame:
        """One row for each window, before those of its items; none says what the other says."""
        answer = F.col("kind") == ANSWER
        rows = rows.filter(F.col("kind").isin(ANSWER, LATE) if self.late else answer)
        cells = self._cells()
        before = F.array_prepend(cells, F.lit(None))
        cells = F.when(answer, before).otherwise(cells) if self.late else before
        flat = self._flat(rows, cells, *self._kind(), self._figures())
        first = F.col(_PLACE) == 0
        kind, rank = F.when(first, WINDOW).otherwise(ITEM), F.when(~first, F.col(_PLACE))
        if self.late:
            kind = F.when(answer, kind).otherwise(LATE)
            first, rank = first & answer, F.when(answer, rank)
        figures = F.when(first, F.col(FIGURES)).alias(FIGURES)
        return flat.select(kind.alias(KIND), *self._of_item(rank), figures)

    def deltas(self, rows: DataFrame) -> DataFrame:
        """One row for each item that is not where it was in the window before."""
        rows = delta_rows(rows.filter(F.col("kind") == ANSWER), each=self.query.take == "each")
        more = ("change", "rank", "previous_rank", "previous_score")
        cells = self._cells(more)
        flat = self._flat(rows, cells)
        shown = self._of_item(F.col(f"{_CELL}.rank"))
        ends = len(_ENDS) + len(self._groups())
        change, _, *previous = (F.col(f"{_CELL}.{name}") for name in more)
        return flat.select(*shown[:ends], change, *shown[ends:], *previous)

    def _cells(self, more: tuple[str, ...] = ()) -> Column:
        """The cells of a window, item by item."""
        lists = [F.col(name).alias(name) for name in (*CELLS, *more)]
        if self.extras:
            lists.append(self.extras.cells().alias(_SAID))
        return F.arrays_zip(*lists)

    def _flat(self, rows: DataFrame, cells: Column, *more: Column) -> DataFrame:
        """A row for each of the cells, with what is needed of the window."""
        group = ["group"] if self.columns.groups else []
        cell = F.posexplode(cells).alias(_PLACE, _CELL)
        return rows.select(*_ENDS, *group, "exact", *ESTIMATES, *more, cell)

    def _kind(self) -> list[Column]:
        return [F.col(KIND)] if self.late else []

    def _of_item(self, rank: Column) -> list[Column]:
        """The columns of an item, in their order."""
        key, _ = forms_of(self.query)
        groups = self._groups()
        keys = _named(key, F.col(_CELL)["key"], self.columns.keys)
        return [
            *_ends(),
            *groups.values(),
            rank.alias("rank"),
            *(each for name, each in keys.items() if name not in groups),
            F.col(_CELL)["score"].alias("score"),
            F.timestamp_millis(F.col(_CELL)["time"]).alias("time"),
            *self._values(),
            *self._remotes(),
            *(F.col(name) for name in ("exact", *ESTIMATES)),
        ]

    def _groups(self) -> dict[str, Column]:
        _, group = forms_of(self.query)
        return _named(group, F.col("group"), self.columns.groups) if self.columns.groups else {}

    def _values(self) -> list[Column]:
        """What the stream contributed: numbers, and texts and whole numbers where it has such."""
        labels = dict(self.extras.labels)
        aggregation = self.query.aggregation
        functions = {} if aggregation is None else aggregation.aggregates
        counts = [name for name, each in functions.items() if each.function == "count"]
        found = []
        for place, (name, column) in enumerate(self.columns.values.items()):
            value = F.get(F.col(_CELL)["values"], F.lit(place))
            if name in labels:
                text = F.get(F.col(_CELL)[_SAID][TEXTS], F.lit(place))
                whole = F.coalesce(text.cast("bigint"), value.cast("bigint"))
                value = text if labels[name] else whole
            elif name in counts:
                value = value.cast("bigint")
            found.append(value.alias(column))
        return found

    def _remotes(self) -> list[Column]:
        found = []
        for name, columns in self.columns.remotes.items():
            cell, first = F.col(_CELL), "remote"
            if self.extras.remotes:
                cell, first = cell[_SAID][REMOTES][name], "value"
            inside = (first, "age", "confidence", "assumed")
            found += [
                cell[own].alias(column) for own, column in zip(inside, columns.names, strict=True)
            ]
        return found

    def _figures(self) -> Column:
        """What is said of the window, with keys of look-ups as the stream has them."""
        form, _ = forms_of(self.query)
        told = F.col(TOLD)
        if form is not None and self.query.joins is None:
            looked_up = F.transform(
                told["looked_up"], lambda each: each.withField("key", _one(form, each["key"]))
            )
            told = F.when(told.isNotNull(), told.withField("looked_up", looked_up))
        return told.alias(FIGURES)


def _ends() -> list[Column]:
    return [F.timestamp_millis(name).alias(name) for name in _ENDS]


def _named(form: KeyForm | None, inside: Column, names: tuple[str, ...]) -> dict[str, Column]:
    """The columns of a key by the names that they have in the stream."""
    found = [inside] if form is None else key_outside(form, inside)
    return {name: each.alias(name) for name, each in zip(names, found, strict=True)}


def _one(form: KeyForm, inside: Column) -> Column:
    """A key as one value; one of several columns is a struct of them."""
    found = key_outside(form, inside)
    return F.struct(*found) if form.composite else found[0]


def require_give(give: Any, *, late: bool) -> Give:
    """Raise unless there are such rows."""
    found = cast("Give", choice_of(give, get_args(Give), "give"))
    if late and found not in ("items", "both"):
        raise QueryError(
            f"what came too late is items, and {found} have none",
            field="late_rows",
            fix='leave it out, or use give="items" or give="both"',
        )
    return found


@checked_call()
def items(both: DataFrame) -> DataFrame:
    """The items among rows of :func:`topwater.spark.topk` with ``give="both"``.

    The same columns as with ``give="items"``.

    Parameters
    ----------
    both
        The rows: a stream, the batch of ``foreachBatch``, or a table that was written.
    """
    _require_both(both)
    return both.filter(F.col(KIND) == ITEM).drop(KIND, FIGURES)


@checked_call()
def windows(both: DataFrame) -> DataFrame:
    """The windows among rows of :func:`topwater.spark.topk` with ``give="both"``.

    The same columns as with ``give="windows"``.

    Parameters
    ----------
    both
        The rows: a stream, the batch of ``foreachBatch``, or a table that was written.
    """
    _require_both(both)
    groups = both.columns[both.columns.index(_ENDS[1]) + 1 : both.columns.index("rank")]
    taken = {*_ENDS, *groups}
    told = both.schema[FIGURES].dataType
    return both.filter(F.col(KIND) == WINDOW).select(
        *(quoted(name) for name in (*_ENDS, *groups, "exact", *ESTIMATES)),
        *(
            F.col(FIGURES)[name].alias(free_name(name, taken))
            for name in told.fieldNames()  # type: ignore[attr-defined]
        ),
    )


def _require_both(both: DataFrame) -> None:
    if not {KIND, FIGURES, "rank", *_ENDS} <= set(both.columns):
        raise QueryError(
            "these rows are not of windows and items",
            field="both",
            fix='pass what topk(…, give="both") gave, with its columns',
        )
