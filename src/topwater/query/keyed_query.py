"""A query as it is inside, where keys are whole numbers or text in one column."""

from __future__ import annotations

from dataclasses import replace

from topwater.model import KeyForm
from topwater.query.topk_query import TopKQuery


def inner_query(query: TopKQuery, key: KeyForm, group: KeyForm | None) -> TopKQuery:
    """The same query over keys as they are inside; the query itself where they are what they were.

    Its columns tell by their names what keys were. So a state that was written for dates does not
    belong to a query over numbers.

    Examples
    --------
    >>> from topwater.model import KeyColumn
    >>> from topwater.windows import tumbling
    >>> query = TopKQuery(key="day", time="at", window=tumbling(10), score="value", k=1)
    >>> inner = inner_query(query, KeyForm((KeyColumn("day", "date"),)), None)
    >>> inner.key, outer_query(inner) == query
    ('[["day", "date"]]', True)
    """
    found = {"key": query.key if key.plain else key.column}
    if group is not None:
        found["group_by"] = query.group_columns[0] if group.plain else group.column
    return replace(query, **found)  # type: ignore[arg-type]


def outer_query(inner: TopKQuery) -> TopKQuery:
    """What :func:`inner_query` was given, as the user wrote it."""
    key, group = forms_of(inner)
    found = {}
    if key is not None:
        found["key"] = key.names
    if group is not None:
        found["group_by"] = group.names
    return replace(inner, **found) if found else inner  # type: ignore[arg-type]


def forms_of(inner: TopKQuery) -> tuple[KeyForm | None, KeyForm | None]:
    """How keys and groups look inside, by the columns; None where they are what they were."""
    key, group = (
        KeyForm.of_column(columns) if isinstance(columns, str) else None
        for columns in (inner.key, inner.group_by)
    )
    return key, group
