"""Plan → TopKQuery over binding tables."""

from __future__ import annotations

from typing import Any

from topwater.query import TopKQuery
from topwater.replica import RefreshSettings
from topwater.replica.budget import Budget
from topwater.replica.joins.join import SOURCE
from topwater.rspql.plan.conditions import condition_formula, guards, names_in
from topwater.rspql.plan.plan import SILENT, TIME, Plan, Refresh, StreamWindow
from topwater.scoring import Formula
from topwater.scoring.expressions import Call, Expression, Name, Node, Number
from topwater.scoring.expressions import parse as parse_formula
from topwater.windows import FARTHEST, Windows

BOUNDED = "panes+n"
"""The list that remembers k + spare keys of each window, and not the window."""

ALL = 2**31 - 1
"""As many as there are, where more than the score decides which are the k best."""


def compiled(plan: Plan) -> TopKQuery:
    """The query that a plan describes.

    Where windows are made whole before, it sees the query's windows end to end, and time as whoever
    makes them tells it.
    """
    window, whole = plan.windows[0], plan.by_window
    cut = whole and plan.take == "each"
    return TopKQuery(
        key=plan.key,
        time=TIME if window.by == "time" else None,
        window=Windows(window.width, window.width) if whole else windows_of(window),
        jump=FARTHEST if whole else None,
        score=Formula(score_text(plan), order=plan.order),
        k=ALL if plan.then and not cut else plan.k,
        take=plan.take,
        list=_list(plan),
        refresh=_refresh(plan),
        where=where_of(plan) if plan.joins_services else None,
        heartbeat=SILENT,
    )


def _list(plan: Plan) -> str | None:
    if is_bounded(plan):
        return BOUNDED
    return "recompute" if plan.then and plan.take == "each" and not plan.by_window else None


def _refresh(plan: Plan) -> RefreshSettings | dict[str, Any] | None:
    if plan.joins_services:
        return joins_of(plan)
    return None if plan.service is None else refreshing(plan)


def windows_of(window: StreamWindow) -> Windows:
    """The windows that the hosts slide over the stream."""
    return Windows(window.width, window.step, by=window.by)


def score_text(plan: Plan) -> str:
    """The score, and for items that may not be in the answer NaN."""
    score = parse_formula(plan.score).tree
    parts = [str(Expression(guarded(plan, score)))]
    used = outside_if(score).union(*map(names_in, plan.conditions))
    flags = dict.fromkeys(plan.errors[name] for name in sorted(used & {*plan.errors}))
    parts += [str(Expression(_error(flag))) for flag in flags]
    for condition in () if plan.joins_services else plan.conditions:
        parts += [str(Expression(node)) for node in guards(condition) or ()]
    if plan.service is not None and plan.service.value not in parse_formula(plan.score).columns:
        # A join value that the service does not know has NaN, and times 0 it stays so.
        parts.append(f"0 * {parse_formula(f'`{plan.service.value}`')}")
    return " + ".join(parts)


def _error(flag: str) -> Node:
    """NaN where a flag is 1, as the root of a negative number is: there is no sum of texts."""
    return Call("*", (Number(0.0), Call("sqrt", (Call("neg", (Name(flag),)),))))


def guarded(plan: Plan, node: Node, *, chosen: bool = False) -> Node:
    """A formula whose parts in ``IF`` are NaN by themselves where they have an error.

    The branch that is not taken may have one.
    """
    if isinstance(node, Call):
        inner = chosen or node.op == "if"
        return Call(node.op, tuple(guarded(plan, each, chosen=inner) for each in node.args))
    if chosen and isinstance(node, Name) and node.name in plan.errors:
        return Call("+", (node, _error(plan.errors[node.name])))
    return node


def outside_if(node: Node) -> set[str]:
    """The names in a formula of which every value is needed."""
    if isinstance(node, Call):
        return set() if node.op == "if" else set().union(*map(outside_if, node.args))
    return {node.name} if isinstance(node, Name) else set()


def is_bounded(plan: Plan) -> bool:
    """Does the query ask to remember k + spare keys only, and is that possible?"""
    if plan.service is None or plan.refresh.spare is None or isinstance(plan.take, str):
        return False
    if [form.split("(")[0] for form in plan.take.values()] != ["last"]:
        return False
    # What the list forgets is bounded by that, and the list knows of no filters.
    return all(parse_formula(score_text(plan)).monotone(name) is not None for name in plan.take)


def refreshing(plan: Plan) -> RefreshSettings:
    """How the service's values are kept fresh."""
    assert plan.service is not None  # noqa: S101
    said = plan.refresh
    settings: dict[str, Any] = {"remote": plan.service.value, "budget": _budget(said)}
    given = {"policy": said.policy, "spare": said.spare, "default": plan.service.default}
    settings |= {name: value for name, value in given.items() if value is not None}
    return RefreshSettings(**settings)


def joins_of(plan: Plan) -> dict[str, Any]:
    """How the values of several look-ups are kept fresh."""
    said = plan.refresh
    named = {"cost": said.fetches, "deadline": said.deadline, "accuracy": said.accuracy}
    budget = {name: value for name, value in named.items() if value is not None}
    joins = [
        {
            "remote": service.names,
            "from": service.label or SOURCE,
            "key": service.by,
            "default": {n.name: n.default for n in service.numbers if n.default is not None},
        }
        for service in plan.services
    ]
    return {"joins": joins, "budget": budget}


def where_of(plan: Plan) -> str | None:
    """What items have to fulfil; among it that each service knows them."""
    used = {*parse_formula(plan.score).columns}.union(*map(names_in, plan.conditions))
    parts = [condition_formula(each) for each in plan.conditions]
    for service in plan.services:
        if not used & {each.name for each in service.numbers}:
            # What is missing is not even equal to itself.
            value = str(parse_formula(f"`{service.value}`"))
            parts.append(f"{value} == {value}")
    return " and ".join(f"({part})" for part in parts) or None


def _budget(said: Refresh) -> Budget:
    """What the query says; what it does not say is left to the budget."""
    named = ("fetches", "deadline", "accuracy", "at_most")
    given = {name: getattr(said, name) for name in named}
    return Budget.of({name: value for name, value in given.items() if value is not None})
