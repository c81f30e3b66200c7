"""What some answers say beside the usual: texts of the stream, and several remote values.

Inside it is one text in JSON for a window, so that queries without such things pay nothing for it.
Java makes columns of it: ``texts``, ``remotes``, ``spent``, ``left`` and ``looked_up``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from topwater.model import Answer, Frozen, LookUp, Remote, Row, plain_key
from topwater.monitor.source_table import SourceTable
from topwater.query.keyed_query import forms_of

if TYPE_CHECKING:
    from pyspark.sql import Column

    from topwater.model import Key
    from topwater.query import TopKQuery

TEXTS, REMOTES = "texts", "remotes"
_OF_WINDOW = ("spent", "left")
_NUMBER, _TEXT = DoubleType(), StringType()
_WHOLE = 2**53


@dataclass(frozen=True, slots=True)
class Extras:
    """Which columns the rows of a query have beside the usual ones.

    Attributes
    ----------
    texts
        Whether something that the stream says may be text.
    remotes
        Each of several remote values, and whether it is text.
    """

    texts: bool = False
    remotes: tuple[tuple[str, bool], ...] = ()

    @staticmethod
    def of(query: TopKQuery, texts: bool, source: Any) -> Extras:
        """Those of a query; its sources say which of their values are texts."""
        if query.joins is None or not isinstance(source, SourceTable):
            return Extras(texts)
        found = [
            (name, name in getattr(source.sources[join.source], "text_names", ()))
            for join in query.joins.joins
            for name in join.remote
        ]
        return Extras(texts, tuple(found))

    def __bool__(self) -> bool:
        return self.texts or bool(self.remotes)

    def schema(self) -> StructType:
        """What the text holds, as Java reads it."""
        row = [StructField(TEXTS, ArrayType(_TEXT))] if self.texts else []
        if self.remotes:
            cells = [StructField(name, _cell(text)) for name, text in self.remotes]
            row.append(StructField(REMOTES, StructType(cells)))
        whole = [StructField("rows", ArrayType(StructType(row)))]
        if self.remotes:
            whole += [
                StructField("spent", _NUMBER),
                StructField("left", MapType(_TEXT, _NUMBER)),
                StructField("looked_up", ArrayType(_look_up())),
            ]
        return StructType(whole)

    def of_row(self, row: Column) -> list[Column]:
        """The columns of a row, from its own part of the text."""
        names = [TEXTS] * self.texts + [REMOTES] * bool(self.remotes)
        return [row[name].alias(name) for name in names]

    def of_window(self, told: Column) -> list[Column]:
        """The columns of all rows of a window."""
        return [told[name].alias(name) for name in _OF_WINDOW] if self.remotes else []

    def look_ups(self, told: Column) -> Column:
        """What was looked up of several sources; their keys are told as text."""
        return F.coalesce(told["looked_up"], F.array().cast(ArrayType(_look_up())))


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


def _look_up() -> StructType:
    return StructType(
        [
            StructField("source", _TEXT),
            StructField("key", _TEXT),
            StructField("before", _NUMBER),
            StructField("after", _NUMBER),
            StructField("ok", BooleanType()),
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
    looked_up = [_told_look_up(each, query) for each in answer.looked_up]
    return json.dumps(
        {"rows": rows, "spent": answer.spent, "left": dict(answer.left), "looked_up": looked_up}
    )


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
    return isinstance(value, str) or (isinstance(value, int) and abs(value) > _WHOLE)


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


def remotes_of(row: Mapping[str, Any]) -> Frozen[Remote]:
    """The remote values of a row of the table that users see."""
    return Frozen({name: Remote(**cell) for name, cell in (row.get(REMOTES) or {}).items()})


def _has_text(row: Row) -> bool:
    return any(each is not None and _is_text(each) for each in row.values)


def _told_look_up(each: LookUp, query: TopKQuery) -> dict[str, Any]:
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
