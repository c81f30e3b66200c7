"""Does a score rise or fall with each value, as refreshing needs it?"""

from __future__ import annotations

import math

from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.condition_kinds import AllOf, Compare, Condition
from topwater.rspql.plan.plan import Plan
from topwater.rspql.rdf.term_values import variable_in
from topwater.scoring.aggregates import Aggregate
from topwater.scoring.expressions import Number, parse

Range = tuple[float, float]
_ALL: Range = (-math.inf, math.inf)


def require_monotone(document: Document, plan: Plan) -> None:
    """Refuse a score with a remote part of which it can't be told which way it goes.

    What a stale value can do to the answer is bounded by that. Ranges are those that filters
    give, and counts are at least 1.
    """
    score = parse(plan.score)
    known = ranges(plan)
    for name in score.columns:
        if score.monotone(name, known) is None:
            source = _variable(plan, name)
            others = [f"?{_variable(plan, each)}" for each in score.columns if each != name]
            document.fail(
                f"whether the score rises or falls with ?{source} is unclear",
                document.find(f"?{source}", f"${source}", "ORDER"),
                f"use ?{source} in one direction; if factors or divisors are never negative, say "
                f"so: {_filters([f'?{source}', *others])}",
            )


def is_monotone(plan: Plan) -> bool:
    """Can it be told of each value which way the score goes with it?"""
    score, known = parse(plan.score), ranges(plan)
    return all(score.monotone(name, known) is not None for name in score.columns)


def _filters(names: list[str]) -> str:
    return " ".join(f"FILTER({name} > 0)" for name in names[:2])


def _variable(plan: Plan, name: str) -> str:
    if isinstance(plan.take, str) or name not in plan.take:
        return name
    return variable_in(Aggregate.parse(plan.take[name], field="take").column or name)


def ranges(plan: Plan) -> dict[str, Range]:
    """The ranges of the score's names that follow from the query."""
    columns = _filtered(plan)
    found = {}
    if not isinstance(plan.take, str):
        for name, form in plan.take.items():
            if name in plan.errors.values():
                continue
            aggregate = Aggregate.parse(form, field="take")
            found[name] = _aggregated(aggregate, columns.get(aggregate.column or "", _ALL))
    for name, (low, high) in _bounds(list(plan.conditions)).items():
        before = found.get(name, _ALL)
        found[name] = max(low, before[0]), min(high, before[1])
    return found


def _aggregated(aggregate: Aggregate, column: Range) -> Range:
    if aggregate.function == "count":
        return 1.0, math.inf
    if aggregate.function != "sum":
        return column
    return (0.0 if column[0] >= 0 else -math.inf), (0.0 if column[1] <= 0 else math.inf)


def _filtered(plan: Plan) -> dict[str, Range]:
    """The ranges of columns that hold in all alternatives."""
    found = [
        _bounds([each for part in (pattern, *pattern.parts) for each in part.filters])
        for pattern in plan.patterns
    ]
    names = set.intersection(*(set(each) for each in found))
    return {
        name: (min(each[name][0] for each in found), max(each[name][1] for each in found))
        for name in names
    }


def _bounds(conditions: list[Condition]) -> dict[str, Range]:
    found: dict[str, Range] = {}
    for condition in conditions:
        if isinstance(condition, AllOf):
            conditions.extend(condition.parts)
        elif isinstance(condition, Compare):
            name, (low, high) = _bound(condition)
            before = found.get(name, _ALL)
            found[name] = max(low, before[0]), min(high, before[1])
    return found


def _bound(condition: Compare) -> tuple[str, Range]:
    left, op, right = parse(condition.left), condition.op, parse(condition.right)
    if isinstance(left.tree, Number):
        left, right = right, left
        op = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)  # type: ignore[assignment]
    if not isinstance(right.tree, Number) or str(left) not in left.columns:
        return "", _ALL
    number = right.tree.value
    above, below = math.nextafter(number, math.inf), math.nextafter(number, -math.inf)
    low = {">": above, ">=": number, "=": number}.get(op, -math.inf)
    high = {"<": below, "<=": number, "=": number}.get(op, math.inf)
    return left.columns[0], (low, high)
