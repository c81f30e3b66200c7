"""Settings that are right one by one, and can't work together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from topwater.candidates import approximate, lists
from topwater.candidates.rescorable import changing
from topwater.errors import QueryError
from topwater.query.join_checks import check_condition, check_joins, check_known
from topwater.query.key_names import check_key_names
from topwater.scoring.aggregates import Aggregation
from topwater.validation import (
    FARTHEST,
    choice_of,
    whole_of,
)

if TYPE_CHECKING:
    from topwater.query.topk_query import TopKQuery


def check_query(query: TopKQuery) -> None:
    """Raise if the settings can't work together."""
    _check_time(query)
    _check_list_name(query)
    _check_aggregates(query)
    check_condition(query, query.aggregation)
    _check_names(query)


def _check_names(query: TopKQuery) -> None:
    remote = [] if query.single is None else [query.single.remote]
    remote += [] if query.joins is None else [*query.joins.names]
    others = [*query.names_taken, *remote]
    check_key_names(query.key, "key", others)
    if query.group_by is not None:
        check_key_names(query.group_by, "group_by", others)


def _check_list_name(query: TopKQuery) -> None:
    if isinstance(query.list, str) and query.list in [*approximate]:
        raise QueryError(
            f"{query.list!r} may lose what belongs in an answer, and does not know when it did",
            field="list",
            fix="use 'auto' or 'rapf', which are exact, or topwater.standing",
        )
    if query.list is not None:
        choice_of(query.list, [*lists, *changing], "list")


def _check_time(query: TopKQuery) -> None:
    if query.window.by == "time" and query.time is None:
        raise QueryError(
            "time windows need the column with the event time",
            field="time",
            fix="name it, or count events with counting(…)",
        )
    whole_of(query.lateness, "lateness", 0, FARTHEST, 'give a duration, as "10 s"')
    whole_of(query.jump, "jump", 1, FARTHEST, 'give a duration, as "1 h", or leave it out')
    if query.window.by == "count" and query.group_by is not None:
        raise QueryError(
            "a position in the stream is not a position in a group",
            field="group_by",
            fix="use time windows, or leave it out",
        )
    if query.window.by == "count" and query.lateness:
        raise QueryError(
            "count windows take events as they come: none is late",
            field="lateness",
            fix="leave it out, or use time windows",
        )


def _check_aggregates(query: TopKQuery) -> None:
    aggregation = query.aggregation
    if not query.score.columns:
        raise QueryError(
            "names no column: all items would be equal",
            field="score",
            fix="use a numeric column of the stream, or a name of take",
        )
    if aggregation is None:
        _check_each(query)
        return
    if not aggregation.aggregates:
        raise QueryError("is empty", field="take", fix='name one, as {"n": "count"}')
    _check_score_names(query, [*aggregation.aggregates])
    check_joins(query, aggregation)
    if query.list in changing:
        _check_changing(query, aggregation)
    elif query.list is not None:
        raise QueryError(
            f"{query.list!r} ranks single events; an aggregate falls as the window slides",
            field="list",
            fix="leave it out: per-pane aggregates are kept instead",
        )
    if query.score.running:
        raise QueryError(
            "running ranges have no meaning for aggregates",
            field="score.ranges",
            fix="declare the range as (low, high)",
        )


def _check_changing(query: TopKQuery, aggregation: Aggregation) -> None:
    """A list for changing scores keeps one object per key, whose stream part stays."""
    if query.single is None:
        raise QueryError(
            f"{query.list!r} is for scores that change with a remote value, and there is none",
            field="list",
            fix="leave it out, or name the remote value in refresh",
        )
    functions = {name: each.function for name, each in aggregation.aggregates.items()}
    if list(functions.values()) != ["last"]:
        raise QueryError(
            f"{query.list!r} keeps one number per key, and {_fallen(functions)}",
            field="take",
            fix='take one value, as {"amount": "last(amount)"}, or leave list out: '
            "per-pane aggregates are kept instead",
        )
    (name,) = functions
    if query.score.monotone(name) is None:
        raise QueryError(
            f"whether it rises or falls with {name!r} is unclear, and what {query.list!r} "
            "forgets is bounded by that",
            field="score",
            fix=f"use {name!r} in one direction, with a factor whose sign is clear, as "
            f"{name} * max({query.single.remote}, 0); or leave list out",
        )
    if query.list == "mintopk+" and query.single.spare:
        raise QueryError(
            f"'mintopk+' keeps none to spare, and {query.single.spare} are asked for",
            field="refresh.spare",
            fix='set it to 0, or use list="topk+n"',
        )


def _check_each(query: TopKQuery) -> None:
    if query.list in changing:
        raise QueryError(
            f"{query.list!r} keeps one object per key, and each event is an item here",
            field="list",
            fix='say what a key contributes, as take={"amount": "last(amount)"}',
        )
    if query.refresh is not None:
        raise QueryError(
            "remote values belong to keys, and each event is an item of its own here",
            field="take",
            fix='say what a key contributes, as {"amount": "last(amount)"}',
        )


def _check_score_names(query: TopKQuery, names: Sequence[str]) -> None:
    if query.joins is not None:
        return  # the names of several have their own check
    refresh = query.single
    if refresh is not None:
        refresh.refuse_truth()
        if refresh.remote in names:
            raise QueryError(
                f"{refresh.remote!r} names both a remote and a stream value",
                field="refresh.remote",
                fix="give one of them another name",
            )
        names = [*names, refresh.remote]
    check_known("score", query.score.columns, names)
    if refresh is not None and refresh.remote not in query.score.columns:
        raise QueryError(
            f"the remote value {refresh.remote!r} is not used",
            field="score",
            fix="use it in the score, or leave refresh out",
        )


def _fallen(functions: Mapping[str, str]) -> str:
    """Why these aggregates can't be one number per key."""
    for name, function in functions.items():
        if function != "last":
            return f"{name!r}, a {function}, may fall as the window slides"
    return f"there are {len(functions)} values"
