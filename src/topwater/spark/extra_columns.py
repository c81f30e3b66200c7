"""What some items have beside the usual: texts of the stream, and several remote values.

Inside it is one text in JSON for a window, so that queries without such things pay nothing for it.
Java makes columns of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from topwater.model import Answer, LookUp, Row, plain_key
from topwater.monitor.source_table import SourceTable
from topwater.query.keyed_query import forms_of

if TYPE_CHECKING:
    from pyspark.sql import Column

    from topwater.model import Key
    from topwater.query import TopKQuery

TEXTS, REMOTES = "texts", "remotes"
_NUMBER, _TEXT = DoubleType(), StringType()
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Extras:
    """What the items of a query have beside the usual.

    Attributes
    ----------
    labels
        What the stream says that is not a number: by its name, whether it is text, or else whole
        numbers by which something is looked up, which a double might not hold.
    remotes
        Each of several remote values, and whether it is text.
    """

    labels: tuple[tuple[str, bool], ...] = ()
    remotes: tuple[tuple[str, bool], ...] = ()

    @staticmethod
    def of(query: TopKQuery, labels: Mapping[str, pa.Array], source: Any) -> Extras:
        """Those of a query; its sources say which of their values are texts."""
        told = tuple((name, not pa.types.is_integer(each.type)) for name, each in labels.items())
        if query.joins is None or not isinstance(source, SourceTable):
            return Extras(told)
        found = [
            (name, name in getattr(source.sources[join.source], "text_names", ()))
            for join in query.joins.joins
            for name in join.remote
        ]
        return Extras(told, tuple(found))

    def __bool__(self) -> bool:
        return bool(self.labels) or bool(self.remotes)

    @property
    def texts(self) -> bool:
        """Whether something that the stream says may be text."""
        return bool(self.labels)

    def schema(self) -> StructType:
        """What the text holds, as Java reads it."""
        row = [StructField(TEXTS, ArrayType(_TEXT))] if self.texts else []
        if self.remotes:
            cells = [StructField(name, _cell(text)) for name, text in self.remotes]
            row.append(StructField(REMOTES, StructType(cells)))
        return StructType([StructField("rows", ArrayType(StructType(row)))])

    def cells(self) -> Column:
        """What the text says, as a list with a cell for each row; empty where there is no text."""
        schema = self.schema()
        told = F.from_json("extras", schema)["rows"]
        return F.coalesce(told, F.array().cast(schema["rows"].dataType))

    def of_row(self, row: Column) -> list[Column]:
        """The columns of a row, from its own part of the text."""
        names = [TEXTS] * self.texts + [REMOTES] * bool(self.remotes)
        return [row[name].alias(name) for name in names]


NO_EXTRAS = Extras()
"""Of queries with numbers alone."""


def _cell(text: bool) -> StructType:
    return StructType(
        [
            StructField("value", _TEXT if text else _NUMBER),
            StructField("age", LongType()),
            StructField("confidence", _NUMBER),
            StructField("assumed", _TEXT),
        ]
    )


def packed_extras(answer: Answer, query: TopKQuery) -> str | None:
    """What an answer says beside the usual, as text; None if that is nothing."""
    if query.joins is None:
        if not query.label_names or not any(map(_has_text, answer.rows)):
            return None
        return json.dumps({"rows": [{TEXTS: texts_of(row.values)} for row in answer.rows]})
    rows = [
        {
            TEXTS: texts_of(row.values),
            REMOTES: {name: asdict(each) for name, each in row.remotes.items()},
        }
        for row in answer.rows
    ]
    return json.dumps({"rows": rows})


def packed_late_texts(values: Sequence[Sequence[float | str | None]]) -> str | None:
    """The same of rows that came too late, of which only texts are known."""
    if not any(each is not None and _is_text(each) for row in values for each in row):
        return None
    return json.dumps({"rows": [{TEXTS: texts_of(row)} for row in values]})


def numbers_of(values: Sequence[float | str | None]) -> list[float | None]:
    """What the stream contributed, without texts.

    Examples
    --------
    >>> numbers_of([2.0, "a chair", None, 2**60 + 1]), texts_of([2.0, "a chair", None, 2**60 + 1])
    ([2.0, None, None, None], [None, 'a chair', None, '1152921504606846977'])
    """
    return [None if each is None or _is_text(each) else float(each) for each in values]


def texts_of(values: Sequence[float | str | None]) -> list[str | None]:
    """The texts among what the stream contributed, and keys that no double can hold."""
    return [str(each) if each is not None and _is_text(each) else None for each in values]


def _is_text(value: float | str) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and abs(value) > _EXACT)


def both_of(
    numbers: Sequence[float | None], texts: Sequence[str | None] | None
) -> tuple[float | str | None, ...]:
    """What the stream contributed, from its numbers and its texts."""
    if texts is None:
        return tuple(numbers)
    pairs = zip(numbers, texts, strict=True)
    return tuple(number if text is None else text for number, text in pairs)


def with_texts(rows: tuple[Row, ...], said: str | None) -> tuple[Row, ...]:
    """The rows of a window with the texts that :func:`packed_extras` told."""
    if said is None:
        return rows
    told_rows = json.loads(said)["rows"]
    return tuple(
        replace(row, values=both_of(row.values, each[TEXTS]))  # type: ignore[arg-type]
        for row, each in zip(rows, told_rows, strict=True)
    )


def _has_text(row: Row) -> bool:
    return any(each is not None and _is_text(each) for each in row.values)


def told_look_up(each: LookUp, query: TopKQuery) -> dict[str, Any]:
    """What was looked up of one of several sources, with its key as text."""
    return {
        "source": each.source,
        "key": _in_words(each.key, each.source, query),
        "before": each.before,
        "after": each.after,
        "ok": each.ok,
    }


def _in_words(key: Key, source: str, query: TopKQuery) -> str:
    """A key as text: as the stream has it, its parts one after the other."""
    assert query.joins is not None  # noqa: S101  for the type checker
    form, _ = forms_of(query)
    if form is not None and source not in query.joins.by_columns:
        key = form.key(key)
    plain = plain_key(key)
    return ", ".join(map(str, plain)) if isinstance(plain, list) else str(plain)
