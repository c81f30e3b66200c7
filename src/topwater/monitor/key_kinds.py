"""Whether a stream and its sources have keys of one kind: a text is never a whole number."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from topwater.errors import BatchError
from topwater.protocols import Source
from topwater.query import TopKQuery
from topwater.replica.joins.join import Join

_WORDS = {"text": "text", "number": "whole numbers"}


def require_kinds(query: TopKQuery, sources: Mapping[str, Source], schema: pa.Schema) -> None:
    """Raise if values are looked up by a text where a source has numbers, or the other way round.

    Every look-up would find nothing. A source that does not say what its keys are is believed.

    Parameters
    ----------
    query, sources
        What is asked, and by name where.
    schema
        Of the stream.

    Raises
    ------
    BatchError
        If a key column and the source that is asked by it differ.
    """
    for join in () if query.joins is None else query.joins.joins:
        column = _column(query, join)
        if column is None or column not in schema.names:
            continue
        here = kind_of(schema.field(column).type)
        there = getattr(sources[join.source], "key_kind", None)
        if here is not None and there in _WORDS and here != there:
            raise BatchError(
                f"{column!r} is {_WORDS[here]} in the stream, and the keys of {join.source!r} are "
                f"{_WORDS[there]}: no look-up would find anything",
                fix="cast one of them: the column of the stream, or the keys of the source",
            )


def kind_of(kind: pa.DataType) -> str | None:
    """What keys a column of this type has; None for types that keys are made of in other ways.

    Examples
    --------
    >>> kind_of(pa.int64()), kind_of(pa.dictionary(pa.int32(), pa.string())), kind_of(pa.null())
    ('number', 'text', None)
    """
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return "number" if pa.types.is_integer(kind) else None


def _column(query: TopKQuery, join: Join) -> str | None:
    """The column of the stream that a value is looked up by, if it is one."""
    if join.key is None:
        return query.key if isinstance(query.key, str) else None
    aggregation = query.aggregation
    return None if aggregation is None else aggregation.aggregates[join.key].column
