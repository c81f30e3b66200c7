"""The columns of a query in SQL: those of the table that it needs, and those of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FractionalType,
    IntegerType,
    IntegralType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from topwater.errors import QueryError
from topwater.query.answer_columns import free_name

if TYPE_CHECKING:
    from topwater.model import Answer, Key, Millis
    from topwater.query import TopKQuery

_MICROS = pa.timestamp("us", tz="UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SqlColumn(NamedTuple):
    """A column that a query needs of a table.

    Attributes
    ----------
    name
        Of it.
    expression
        What Spark is to send of it: of a moment, microseconds.
    sent, arrow
        As which type of Arrow that comes, and as which it is read.
    shown
        As what it is shown where it is a key or a group.
    """

    name: str
    expression: str
    sent: pa.DataType
    arrow: pa.DataType
    shown: DataType


def columns_for(query: TopKQuery, table: StructType) -> tuple[SqlColumn, ...]:
    """The columns that a query needs; without one of them all, so that what is missing is named.

    Raises
    ------
    QueryError
        If one has a type that can't be used.
    """
    names = [name for name in query.columns if name in table.names]
    if len(names) < len(query.columns):
        names = table.names
    return tuple(_column(name, table[name].dataType, query) for name in names)


def _column(name: str, kind: DataType, query: TopKQuery) -> SqlColumn:
    quoted = "`{}`".format(name.replace("`", "``"))
    keys = (*query.key_columns, *query.group_columns)
    if name == query.time and name not in keys and not isinstance(kind, IntegralType):
        moment = f"unix_micros(try_cast({quoted} AS timestamp))"
        return SqlColumn(name, moment, pa.int64(), _MICROS, kind)
    if isinstance(kind, TimestampType):
        return SqlColumn(name, f"unix_micros({quoted})", pa.int64(), _MICROS, kind)
    arrow, shown = _types(kind)
    if arrow is None:
        raise QueryError(
            f"the column {name!r} is of type {kind.simpleString()}",
            field="events",
            fix="cast it to a number, a text or a timestamp, or leave it out of the table",
        )
    return SqlColumn(name, quoted, arrow, arrow, shown)


def _types(kind: DataType) -> tuple[pa.DataType | None, DataType]:
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale), DecimalType(38, kind.scale)
    if isinstance(kind, IntegralType):
        return pa.int64(), LongType()
    plain: list[tuple[type[DataType], pa.DataType]] = [
        (FractionalType, pa.float64()),
        (StringType, pa.string()),
        (BooleanType, pa.bool_()),
        (DateType, pa.date32()),
        (TimestampNTZType, pa.timestamp("us")),
    ]
    return next((arrow for each, arrow in plain if isinstance(kind, each)), None), kind


def selected(columns: Sequence[SqlColumn], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Rows as they are sent, as the table that the query reads."""
    cells = zip(*rows, strict=True) if rows else ([] for _ in columns)
    return pa.table(
        {
            each.name: pa.array(column, each.sent).cast(each.arrow)
            for each, column in zip(columns, cells, strict=True)
        }
    )


def answer_schema(query: TopKQuery, columns: Sequence[SqlColumn]) -> StructType:
    """The columns of the answers: keys and groups by their own names, and so are all values."""
    own = {each.name: each.shown for each in columns}
    double, time = DoubleType(), TimestampType()
    found: dict[str, DataType] = {name: own[name] for name in query.group_columns}
    found |= {"window_start": time, "window_end": time, "rank": IntegerType()}
    found |= {name: own[name] for name in query.key_columns}
    found |= {"score": double, "time": time}
    for name, shown in _values(query).items():
        found[shown] = StringType() if name in query.label_names else double
    found |= dict.fromkeys(_remotes(query).values(), double)
    found["exact"] = BooleanType()
    return StructType([StructField(name, kind) for name, kind in found.items()])


def answer_rows(answer: Answer, query: TopKQuery) -> Iterator[tuple[Any, ...]]:
    """The rows of an answer, in the order of these columns."""
    groups = dict(zip(query.group_columns, _parts(answer.group, query.group_by), strict=True))
    window = (_moment(answer.window.start), _moment(answer.window.end))
    for rank, row in enumerate(answer.rows, 1):
        keys = dict(zip(query.key_columns, _parts(row.key, query.key), strict=True))
        own = (value for name, value in keys.items() if name not in groups)
        yield (
            *groups.values(),
            *window,
            rank,
            *own,
            row.score,
            _moment(row.time),
            *map(_cell, row.values if query.names_taken else ()),
            *([] if query.single is None else [row.remote]),
            answer.exact,
        )


def _cell(value: Any) -> Any:
    """A value as a column of numbers or of texts has it."""
    return float(value) if isinstance(value, int) else value


def _parts(key: Key | None, columns: str | tuple[str, ...] | None) -> Sequence[Any]:
    if columns is None:
        return ()
    return (key,) if isinstance(columns, str) else tuple(key)  # type: ignore[arg-type]


def _moment(millis: Millis) -> datetime:
    return _EPOCH + timedelta(milliseconds=millis)


def _values(query: TopKQuery) -> Mapping[str, str]:
    """What the stream contributes, by name, and what its column is called."""
    return _free(query.names_taken, _taken(query))


def _remotes(query: TopKQuery) -> Mapping[str, str]:
    names = [] if query.single is None else [query.single.remote]
    return _free(names, {*_taken(query), *_values(query).values()})


def _taken(query: TopKQuery) -> set[str]:
    ours = ("window_start", "window_end", "rank", "score", "time", "exact")
    return {*ours, *query.key_columns, *query.group_columns}


def _free(names: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Names that are not taken: with underscores at their ends, if need be."""
    found: dict[str, str] = {}
    for name in names:
        found[name] = free_name(name, {*taken, *found.values()})
    return found
