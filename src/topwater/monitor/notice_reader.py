"""Batches of a stream of changes → notices.

What can't be read is counted, and still says something: that an entry, or one of all, is another
than it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.errors import BatchError, QueryError
from topwater.model import BoolArray, FloatArray, IntArray, KeyForm
from topwater.monitor.columns import Batch, as_table, keys_of, named_column, readable, times_of
from topwater.monitor.debezium import Envelopes, envelopes
from topwater.monitor.key_columns import form_of, keys_inside
from topwater.monitor.notice_settings import (
    KEY,
    NoticeSettings,
    key_names,
    names_of,
    sources_of,
    used_names,
    value_name,
)
from topwater.query import TopKQuery
from topwater.replica.notices import (
    ALL,
    BEAT,
    BLIND,
    LOST,
    STALE,
    TEXTS,
    VALUE,
    VALUES,
    alike,
    notice_table,
)
from topwater.validation import suggestion


class Reading(NamedTuple):
    """Notices as columns, and how many of them could not be read, by why."""

    notices: pa.Table
    tallies: Counter[str]


class Rows(NamedTuple):
    """Notices of one source, row by row, before it is known what they say.

    Attributes
    ----------
    source
        The source's name.
    key, time
        Null, or not timed, where that is not known.
    values, texts
        By remote names.
    given
        Whether a value was given, and not merely that there is another.
    bad
        Where a value was given that can't be one.
    """

    source: str
    key: pa.Array
    time: IntArray
    timed: BoolArray
    values: Mapping[str, FloatArray]
    texts: Mapping[str, pa.Array]
    given: BoolArray
    bad: BoolArray


def read_notices(
    query: TopKQuery, settings: NoticeSettings, batch: Batch, form: KeyForm | None = None
) -> Reading:
    """The notices of a batch.

    Parameters
    ----------
    query, settings
        What is asked, and how notices are written.
    batch
        As of events.
    form
        What keys are in the stream of events, where they are not plain.

    Raises
    ------
    BatchError
        If a column is missing or has a type that can't be used.
    """
    table, tallies = _table(query, batch), Counter[str]()
    if not table.num_rows and not table.num_columns:
        return Reading(notice_table({"source": [], "time": [], "kind": []}), tallies)
    if settings.form == "debezium":
        found = [
            _from_envelopes(query, each, form)
            for each in envelopes(query, settings, table, tallies)
        ]
    else:
        found = [
            _notices(_rows(query, settings, source, part, form), tallies)
            for source, part in _by_source(query, settings, table, tallies)
            if part.num_rows  # a source may push nothing, and its values have no columns then
        ]
    found = [each for each in found if each.num_rows]
    if not found:
        return Reading(notice_table({"source": [], "time": [], "kind": []}), tallies)
    return Reading(pa.concat_tables(alike(found), promote_options="default"), tallies)


def _table(query: TopKQuery, batch: Batch) -> pa.Table:
    try:
        return as_table(batch)
    except BatchError as error:
        fix = error.fix
        if len(sources_of(query)) > 1:
            fix += "; the notices of each source may come in a batch of their own"
        raise BatchError(f"changes: {error.problem}", fix=fix) from error


def check_columns(query: TopKQuery, settings: NoticeSettings, schema: pa.Schema) -> None:
    """Raise if a stream of such columns can't be one of changes.

    Raises
    ------
    QueryError
        If its key, its time or its values are missing, or have types that can't be used.
    """
    try:
        table = schema.empty_table()
        if settings.form == "debezium":
            named_column(table, "value", "changes.value")
            return
        for source, part in _by_source(query, settings, table, Counter()):
            _rows(query, settings, source, part, None)
    except BatchError as error:
        raise QueryError(error.problem, field="changes", fix=error.fix) from None


def _by_source(
    query: TopKQuery, settings: NoticeSettings, table: pa.Table, tallies: Counter[str]
) -> list[tuple[str, pa.Table]]:
    """The rows of each source."""
    known = sources_of(query)
    if settings.source not in table.column_names:
        if len(known) > 1:
            raise BatchError(
                f"the query has several sources ({', '.join(known)}), and the changes have no "
                f"column {settings.source!r} that says whose they are",
                fix='add the column, or name it, as ChangeStream(…, source="table")',
            )
        return [(known[0], table)]
    named = named_column(table, settings.source, "changes.source").cast(pa.large_string())
    if len(known) == 1:
        named = pc.fill_null(named, known[0])
    parts = [
        (source, table.filter(pc.fill_null(pc.equal(named, source), False))) for source in known
    ]
    # One that is of no source may be a heartbeat of all.
    others = table.filter(pc.invert(pc.is_in(named, pa.array(known, pa.large_string()))))
    if others.num_rows:
        tallies["bad_source"] += others.num_rows
    return parts


def _rows(
    query: TopKQuery,
    settings: NoticeSettings,
    source: str,
    table: pa.Table,
    form: KeyForm | None,
) -> Rows:
    """The rows of one source, column by column."""
    key = _keys(query, settings, source, table, form)
    column = named_column(table, settings.time, "changes.time")
    time, timed = times_of(column, settings.time)
    used = used_names(query, source)
    values: dict[str, FloatArray] = {}
    texts: dict[str, pa.Array] = {}
    bad, given = np.zeros(len(key), bool), np.zeros(len(key), bool)
    for name in names_of(query, source):
        column = _value_column(query, settings, source, table, name)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        there = np.asarray(column.is_valid())
        if text and name not in used:
            texts[name] = readable(column.cast(pa.large_string())).cast(pa.string())
            values[name] = np.full(len(key), np.nan)
            continue
        numbers = _numbers(column, name)
        there &= ~np.isnan(numbers) | text
        bad |= there & ~np.isfinite(numbers)
        values[name] = numbers
        if name in used:
            given |= there
    return Rows(source, key, time, timed, values, texts, given, bad)


def _keys(
    query: TopKQuery,
    settings: NoticeSettings,
    source: str,
    table: pa.Table,
    form: KeyForm | None,
) -> pa.Array:
    """What is looked up by, as it is inside."""
    names = key_names(query, settings, source, table.column_names)
    columns = [named_column(table, name, "changes.key") for name in names]
    return _inside(query, source, columns, form)


def _inside(
    query: TopKQuery, source: str, columns: Sequence[pa.Array], form: KeyForm | None
) -> pa.Array:
    """The parts of keys as they are inside."""
    wanted = 1 if form is None or not by_ranked_key(query, source) else len(form.names)
    if len(columns) != wanted:
        raise BatchError(
            f"{source!r} is looked up by {wanted} columns, and the changes name {len(columns)}",
            fix="name all columns of its key, and no other, in changes.key",
        )
    if form is None or form.plain or not by_ranked_key(query, source):
        (column,) = columns
        if pa.types.is_floating(column.type):
            column = _whole(column)
        return keys_of(pa.table({KEY: column}), KEY, "changes.key")
    parts = pa.table(dict(zip(form.names, columns, strict=True)))
    return keys_inside(parts, form_of(parts, form.names, "changes.key"), "changes.key")


def by_ranked_key(query: TopKQuery, source: str) -> bool:
    """Whether a source is asked by the ranked key."""
    joins = () if query.joins is None else query.joins.joins
    return query.joins is None or any(join.key is None for join in joins if join.source == source)


def _value_column(
    query: TopKQuery, settings: NoticeSettings, source: str, table: pa.Table, name: str
) -> pa.Array:
    alone = len(names_of(query, source)) == 1
    column = value_name(settings, name, table.column_names, alone=alone)
    if table.num_columns and column not in table.column_names:
        raise BatchError(
            f"the changes of {source!r} have no column {column!r}: a notice has all values of a "
            "look-up",
            fix=suggestion(column, table.column_names, f'name it, as value={{"{name}": …}}'),
        )
    return named_column(table, column, "changes.value")


def _numbers(column: pa.Array, name: str) -> FloatArray:
    """A column as numbers; infinite where there is something else."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array([_number(each) for each in column.to_pylist()], np.float64)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        raise BatchError(
            f"the changes' column of {name!r} is of type {kind}, not numeric",
            fix="cast it to a number",
        )
    numbers = pc.fill_null(column.cast(pa.float64(), safe=False), float("nan"))
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def _number(text: str | None) -> float:
    if text is None:
        return np.nan
    try:
        found = float(text)
    except ValueError:
        return np.inf
    return found if np.isfinite(found) else np.inf


def _whole(column: pa.Array) -> pa.Array:
    """Whole numbers that a frame had to write with a fraction, as some of them were missing."""
    numbers = column.to_numpy(zero_copy_only=False)
    whole = [int(each) if np.isfinite(each) and each == int(each) else None for each in numbers]
    return pa.array(whole, pa.int64())


def _from_envelopes(query: TopKQuery, given: Envelopes, form: KeyForm | None) -> pa.Table:
    """What the envelopes of one source say."""
    parts = [*zip(*given.keys, strict=True)] if given.keys else [()]
    key = _inside(query, given.source, [_part(each) for each in parts], form)
    kind = np.array(given.kinds, np.int8)
    lost = ~np.asarray(key.is_valid()) & ~np.isin(kind, (ALL, BEAT))
    columns: dict[str, Any] = {
        "source": [given.source] * len(kind),
        "key": key,
        "time": given.times,
        "kind": np.where(lost & (kind != LOST), BLIND, kind).astype(np.int8),
    }
    for name, values in given.values.items():
        texts = [each if isinstance(each, str) else None for each in values]
        numbers = [np.nan if isinstance(each, str) else each for each in values]
        columns |= {VALUES + name: np.array(numbers, np.float64), TEXTS + name: texts}
    return notice_table(columns)


def _part(values: Sequence[Any]) -> pa.Array:
    """A part of keys; as text if some are."""
    if any(isinstance(each, str) for each in values):
        values = [None if each is None else str(each) for each in values]
    return pa.array(values)


def _notices(rows: Rows, tallies: Counter[str]) -> pa.Table:
    """What rows say; nothing of those that say nothing."""
    keyed = np.asarray(rows.key.is_valid())
    given = rows.given | rows.bad
    kind = np.where(rows.given & ~rows.bad, VALUE, STALE)
    kind = np.where(keyed, kind, np.where(given, BLIND, BEAT))
    kind = np.where(rows.timed, kind, LOST)
    tallies["bad_key"] += int(np.count_nonzero(~keyed & given))
    tallies["bad_time"] += int(np.count_nonzero(~rows.timed))
    tallies["bad_value"] += int(np.count_nonzero(rows.bad))
    columns: dict[str, Any] = {
        "source": [rows.source] * len(kind),
        "key": rows.key,
        "time": rows.time,
        "kind": kind.astype(np.int8),
    }
    columns |= {VALUES + name: each for name, each in rows.values.items()}
    columns |= {TEXTS + name: each for name, each in rows.texts.items()}
    columns |= {
        TEXTS + name: pa.nulls(len(kind), pa.string())
        for name in rows.values
        if name not in rows.texts
    }
    return notice_table(columns)
