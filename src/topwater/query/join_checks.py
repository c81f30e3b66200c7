"""Filters and several remote values: what can't work together, said when the query is built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from topwater.errors import QueryError
from topwater.replica.joins.join import Join
from topwater.scoring.aggregates import Aggregation
from topwater.validation import nearest, suggestion

if TYPE_CHECKING:
    from topwater.query.topk_query import TopKQuery


def check_joins(query: TopKQuery, aggregation: Aggregation) -> None:
    """Raise if joins and what the stream contributes do not fit together."""
    if query.joins is None:
        return
    taken = [*aggregation.aggregates]
    if query.list is not None:
        raise QueryError(
            f"{query.list!r} keeps keys by one remote value, and there are others, or a filter",
            field="list",
            fix="leave it out: per-pane aggregates are kept instead",
        )
    for join in query.joins.joins:
        _check_names(join, taken)
        _check_key(query, join, aggregation)
    check_known("score", query.score.columns, [*taken, *query.joins.names])
    used = {*query.score.columns, *(() if query.condition is None else query.condition.columns)}
    for join in query.joins.joins:
        if not used.intersection(join.remote):
            raise QueryError(
                f"nothing that comes from {join.source!r} is used: {', '.join(join.remote)}",
                field="refresh",
                fix="use a value in score or where, or look it up with another that is used",
            )


def check_condition(query: TopKQuery, aggregation: Aggregation | None) -> None:
    """Raise if a filter names what is not there, or nothing can ever pass it."""
    condition = query.condition
    if condition is None:
        return
    if aggregation is None:
        raise QueryError(
            "filters keys, and each event is an item of its own here",
            field="where",
            fix='leave events out before the query, or take values, as {"amount": "last(amount)"}',
        )
    if query.list is not None:
        raise QueryError(
            f"{query.list!r} does not know which keys a filter leaves",
            field="list",
            fix="leave it out: per-pane aggregates are kept instead",
        )
    remote = () if query.joins is None else query.joins.names
    check_known("where", condition.columns, [*aggregation.aggregates, *remote])
    counts = {
        name: (1.0, math.inf)
        for name, each in aggregation.aggregates.items()
        if each.function == "count"
    }
    if not condition.can_hold({n: counts[n] for n in condition.columns if n in counts}):
        raise QueryError(
            f"{query.where} can never hold: no answer would have a row",
            field="where",
            fix="check its limits, and where it has and and or",
        )


def check_known(field: str, used: Sequence[str], names: Sequence[str]) -> None:
    """Raise if a name is used that nothing contributes."""
    for name in used:
        if name not in names:
            raise QueryError(
                f"{name!r} is not among what the stream contributes",
                field=field,
                fix=suggestion(name, names, "add it to take"),
            )


def _check_names(join: Join, taken: Sequence[str]) -> None:
    for name in join.remote:
        if name in taken:
            raise QueryError(
                f"{name!r} names both a remote and a stream value",
                field="refresh.remote",
                fix="give one of them another name",
            )


def _check_key(query: TopKQuery, join: Join, aggregation: Aggregation) -> None:
    """What is looked up by has to be known of each ranked key, and from the stream."""
    key = join.key
    if key is None or query.joins is None:
        return
    if key in query.joins.names:
        raise QueryError(
            f"{key!r} is itself looked up, and look-ups are not chained",
            field="refresh.key",
            fix="look up by the ranked key or a column of the stream, or let the source join them",
        )
    found = aggregation.aggregates.get(key)
    if found is None:
        near = nearest(key, [*query.key_columns, *aggregation.aggregates])
        meant = f"did you mean {near}? Or " if near else ""
        raise QueryError(
            f"{key!r} is not among what the stream contributes",
            field="refresh.key",
            fix=f'{meant}add it to take, as {{"{key}": "last({key})"}}, '
            f"or look up by {query.key!r}",
        )
    if found.function != "last":
        raise QueryError(
            f"{key!r} is a {found.function}, which nothing can be looked up by",
            field="refresh.key",
            fix=f'take the last one, as {{"{key}": "last({key})"}}',
        )
    if key not in query.label_names:
        raise QueryError(
            f"{key!r} is a key for look-ups, which can't be computed with",
            field="refresh.key",
            fix="take it a second time under another name for the score",
        )
