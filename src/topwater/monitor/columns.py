"""Batches → clean columns. What can't be used is counted here, and goes no further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.errors import BatchError
from topwater.model import BoolArray, Counts, FloatArray, IntArray
from topwater.monitor.time_texts import moments
from topwater.query import TopKQuery
from topwater.validation import nearest
from topwater.windows import FARTHEST


@runtime_checkable
class ArrowTable(Protocol):
    """A table of any library that hands out its columns as Arrow: pandas, Polars, DuckDB, …"""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns, as a stream of Arrow's C data interface."""


Batch: TypeAlias = ArrowTable | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Columns by name: a table or record batch of Arrow, a frame of pandas or Polars, a mapping of
arrays; or rows, as a list of mappings."""

_ACCEPTED = (
    "pass a table of Arrow, pandas or Polars, a mapping of equally long arrays, or a list of rows"
)

_MILLIS = {"s": (1_000, 1), "ms": (1, 1), "us": (1, 1_000), "ns": (1, 1_000_000)}


@dataclass(frozen=True, slots=True)
class Readout:
    """The rows of a batch that can be used: time in milliseconds, keys as Arrow data.

    ``labels`` are what the stream says that is not a number, by names of the query's ``take``.
    ``beats`` are the times of heartbeats and of rows without a key: of no use, but they tell how
    late it is.
    """

    time: IntArray
    key: pa.Array
    values: dict[str, FloatArray]
    counts: Counts
    beats: IntArray
    labels: dict[str, pa.Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.key)


def read(query: TopKQuery, batch: Batch) -> Readout:
    """Pick the query's columns, and drop and count the rows without a usable key or time.

    For count windows ``time`` is 0: positions are given later, by whoever knows the order.

    Raises
    ------
    BatchError
        If a column is missing or has a type that can't be used.
    """
    table = as_table(batch)
    key = keys_of(table, query.key_column, "key")
    if query.group_column is not None:
        keys_of(table, query.group_column, "group_by")
    role = "score" if query.take == "each" else "take"
    labels = _labels(query, table)
    numeric = _numeric(query, labels)
    values = {name: _floats(named_column(table, name, role), name, role) for name in numeric}
    time = np.zeros(len(key), np.int64)
    time_ok = np.ones(len(key), bool)
    if query.time is not None and query.window.by == "time":
        time, time_ok = times_of(named_column(table, query.time, "time"), query.time)
    silent = heartbeats(table, query.heartbeat)
    key_ok = _present(key) & ~silent
    early = time_ok & (time <= query.window.start)
    if query.window.by == "count":
        early[:] = False
    counts = Counts(
        events=len(key) - int(np.count_nonzero(silent)),
        bad_key=int(np.count_nonzero(~key_ok & ~silent)),
        bad_time=int(np.count_nonzero(key_ok & ~time_ok)),
        before_start=int(np.count_nonzero(early & key_ok)),
    )
    beats = np.empty(0, np.int64) if key_ok.all() else time[time_ok & ~key_ok & ~early]
    return _where(Readout(time, key, values, counts, beats, labels), key_ok & time_ok & ~early)


def _labels(query: TopKQuery, table: pa.Table) -> dict[str, pa.Array]:
    """What is looked up by, and what is text and only shown, by the query's names."""
    found: dict[str, pa.Array] = {}
    if not query.label_names or query.aggregation is None:
        return found
    for name in query.label_names:
        source = query.aggregation.aggregates[name].column or ""
        column = named_column(table, source, "take")
        if name in query.lookup_names:
            found[name] = keys_of(table, source, "take")
        elif pa.types.is_null(column.type) or _is_text(column.type):
            found[name] = readable(column.cast(pa.large_string()))
    return found


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _numeric(query: TopKQuery, labels: Mapping[str, pa.Array]) -> tuple[str, ...]:
    """The columns that numbers are read from."""
    aggregation = query.aggregation
    if aggregation is None or not labels:
        return query.value_columns
    rest = [each for name, each in aggregation.aggregates.items() if name not in labels]
    return tuple(dict.fromkeys(each.column for each in rest if each.column))


def only_finite(readout: Readout, scores: FloatArray) -> tuple[Readout, FloatArray]:
    """Drop and count the rows whose score is not a number."""
    finite = np.isfinite(scores)
    if finite.all():
        return readout, scores
    bad = int(np.count_nonzero(~finite))
    kept = _where(readout, finite)
    return (
        replace(kept, counts=kept.counts + Counts(bad_score=bad)),
        scores[finite],
    )


def _where(readout: Readout, good: BoolArray) -> Readout:
    if good.all():
        return readout
    return Readout(
        readout.time[good],
        readout.key.filter(pa.array(good)),
        {name: values[good] for name, values in readout.values.items()},
        readout.counts,
        readout.beats,
        {name: each.filter(pa.array(good)) for name, each in readout.labels.items()},
    )


def as_table(batch: Batch) -> pa.Table:
    """A batch as an Arrow table.

    Raises
    ------
    BatchError
        If it is not a table, or its columns can't be read.

    Examples
    --------
    >>> as_table([{"who": "ann", "at": 1}, {"who": "bob"}]).to_pydict()
    {'who': ['ann', 'bob'], 'at': [1, None]}
    """
    if isinstance(batch, pa.Table):
        return _without_views(batch)
    if isinstance(batch, pa.RecordBatch):
        return _without_views(pa.Table.from_batches([batch]))
    try:
        return _without_views(_table(batch))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise BatchError(f"the batch can't be read as columns: {error}", fix=_ACCEPTED) from error


def of_query(query: TopKQuery, batch: Batch) -> pa.Table:
    """A batch as an Arrow table with the query's columns only; with all if one of them is missing.

    So the error, when it is read, can say which columns there are.
    """
    table = as_table(batch)
    names = [*query.columns]
    whole = all(table.column_names.count(name) == 1 for name in names)
    return table.select(names) if whole else table


def _table(batch: Any) -> pa.Table:
    """By what the batch offers. No library is imported: whoever has a frame has its library."""
    if isinstance(batch, Mapping):
        return pa.table({name: _values(name, values) for name, values in batch.items()})
    if hasattr(batch, "__arrow_c_stream__") or hasattr(batch, "__arrow_c_array__"):
        return pa.table(batch)
    if hasattr(batch, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return from_dataframe(batch)
    if isinstance(batch, list | tuple) and all(isinstance(row, Mapping) for row in batch):
        names = dict.fromkeys(name for row in batch for name in row)
        return pa.table({name: _values(name, [row.get(name) for row in batch]) for name in names})
    # Who passes one table where many are expected passes the names of its columns.
    fix = "pass a list of tables, not one table" if isinstance(batch, str) else _ACCEPTED
    raise BatchError(f"a batch can't be a {type(batch).__name__}", fix=fix)


def _values(name: Any, values: Any) -> pa.Array | pa.ChunkedArray:
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        if not _mixed(values):
            raise
    raise BatchError(
        f"the column {name!r} has texts and numbers",
        fix="make all of them texts, or all of them numbers",
    )


def _mixed(values: Any) -> bool:
    """Whether texts and numbers are in one column."""
    try:
        kinds = {isinstance(each, str) for each in values if isinstance(each, str | int | float)}
    except TypeError:
        return False
    return len(kinds) == 2


def named_column(table: pa.Table, name: str, role: str) -> pa.Array:
    """A column in one piece, without a dictionary."""
    if table.num_columns == 0 and table.num_rows == 0:
        return pa.nulls(0)  # a list without rows has no columns either
    require_column(table, name, role)
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = _decoded(column, column.type.value_type)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def require_column(table: pa.Table, name: str, role: str) -> None:
    """Raise if a column is not there, or is there twice."""
    if table.column_names.count(name) != 1:
        there = "is there twice" if name in table.column_names else "is not there"
        place = role if "." in role else f"the query's {role}"
        raise BatchError(
            f"the {role} column {name!r} {there}; there are: {', '.join(table.column_names)}",
            fix=f"{_near(name, table)}name one of them in {place}, or rename the column",
        )


def _near(name: str, table: pa.Table) -> str:
    near = nearest(name, table.column_names)
    return "" if near in (None, name) else f"did you mean {near}? Or "


def _without_views(table: pa.Table) -> pa.Table:
    """The same with plain text where Polars has views of it: Arrow can't take rows of these."""
    for at, one in enumerate(table.schema):
        if one.type == pa.string_view():
            plain = table.column(at).cast(pa.large_string())
        elif pa.types.is_dictionary(one.type) and one.type.value_type == pa.string_view():
            plain = _decoded(table.column(at), pa.large_string())
        else:
            continue
        table = table.set_column(at, one.name, plain)
    return table


def _decoded(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Chunk by chunk: each may have its own dictionary."""
    coded = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(kind))
        for chunk in column.chunks
    ]
    return pa.chunked_array([chunk.dictionary_decode() for chunk in coded], kind)


def keys_of(table: pa.Table, name: str, role: str) -> pa.Array:
    """A column of keys, as int64 or strings; null where there is none."""
    column = named_column(table, name, role)
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_uint64(kind) or not (
        pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        raise BatchError(
            f"the {role} column {name!r} is of type {kind}",
            fix="keys are strings or integers up to 64 bits: cast the column first",
        )
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    return readable(column.cast(pa.large_string()))


def readable(text: pa.Array) -> pa.Array:
    """Text, and null where the bytes are not UTF-8: neither Parquet nor Spark looks at them."""
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        plain = [_decoded_text(each) for each in text.cast(pa.large_binary()).to_pylist()]
        return pa.array(plain, pa.large_string())
    return text


def _decoded_text(given: bytes | None) -> str | None:
    try:
        return None if given is None else given.decode()
    except UnicodeDecodeError:
        return None


def heartbeats(table: pa.Table, name: str | None) -> BoolArray:
    """Which rows are not events, but signs of life."""
    if name is None:
        return np.zeros(table.num_rows, bool)
    column = named_column(table, name, "heartbeat")
    if not (pa.types.is_boolean(column.type) or pa.types.is_null(column.type)):
        raise BatchError(
            f"the heartbeat column {name!r} is of type {column.type}",
            fix="use booleans: true where a row is not an event",
        )
    found = pc.fill_null(column.cast(pa.bool_()), False)
    return np.asarray(found.to_numpy(zero_copy_only=False))


def times_of(column: pa.Array, name: str) -> tuple[IntArray, BoolArray]:
    """A column as milliseconds since 1970, and which of its rows are times."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = moments(readable(column))
    kind = column.type
    times, per = 1, 1
    if pa.types.is_timestamp(kind):
        times, per = _MILLIS[kind.unit]
    elif pa.types.is_date32(kind):
        column, times = column.cast(pa.int32()), 86_400_000
    elif not (pa.types.is_date64(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise BatchError(
            f"the time column {name!r} is of type {kind}",
            fix="use timestamps, texts in ISO 8601, or integers as milliseconds since 1970",
        )
    if not pa.types.is_integer(column.type):
        column = column.cast(pa.int64())
    ticks = column.fill_null(0).to_numpy(zero_copy_only=False)
    return _scaled(ticks, times, per, _present(column))


def _scaled(ticks: IntArray, times: int, per: int, good: BoolArray) -> tuple[IntArray, BoolArray]:
    """Ticks as milliseconds; those too far from zero would overflow, and are not good."""
    limit = FARTHEST * per // times
    if len(ticks) and (ticks.min() <= -limit or ticks.max() >= limit):
        good = good & (ticks > -limit) & (ticks < limit)
        ticks = np.where(good, ticks, 0)
    ticks = ticks.astype(np.int64, copy=False)
    if times > 1:
        ticks = ticks * times
    # Floor, also before 1970: a moment belongs to the millisecond that it is in.
    return (ticks // per if per > 1 else ticks), good


def _floats(column: pa.Array, name: str, role: str) -> FloatArray:
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        raise BatchError(
            f"the {role} column {name!r} is of type {kind}, not numeric",
            fix="cast it to a number before the query",
        )
    numbers = column.cast(pa.float64(), safe=False)
    if numbers.null_count:
        numbers = pc.fill_null(numbers, float("nan"))
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def _present(column: pa.Array) -> BoolArray:
    if column.null_count == 0:
        return np.ones(len(column), bool)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
