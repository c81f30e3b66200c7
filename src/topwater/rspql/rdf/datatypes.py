"""The datatypes of numbers, for ``CONSTRUCT``: rankings compute with doubles, and RDF with more.

What a key of the answer says is known as the stream wrote it. Of numbers that the stream
contributes, the datatypes are aggregated next to them, as numbers; see :attr:`Plan.kinds`. What is
computed gets the datatype that SPARQL gives it, as far as those of its parts are known; a remote
value is taken for an integer or a decimal, as it looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from topwater.rspql.plan.compilation import is_bounded
from topwater.rspql.plan.formula_names import free_name
from topwater.rspql.plan.plan import Plan
from topwater.rspql.rdf.term_values import DATATYPES, KIND
from topwater.rspql.rdf.triples import XSD
from topwater.scoring.aggregates import Aggregate
from topwater.scoring.expressions import Call, Expression, Name, Node, Number, parse

_INTEGER, _DECIMAL, _DOUBLE = (DATATYPES.index(name) for name in ("integer", "decimal", "double"))
_KEEP = ("+", "-", "*", "neg", "abs", "floor", "ceil", "round", "min", "max", "clip")
"""What gives an integer of integers."""

_EXACT = 2**53


def with_kinds(plan: Plan) -> Plan:
    """The same plan, which also asks for the datatypes of the numbers in its triples.

    It does so unless that would take more memory than the query allows.
    """
    if plan.form == "select" or isinstance(plan.take, str) or is_bounded(plan):
        return plan
    numbers = [each for each in plan.projection if each.role != "key"]
    formulas = [plan.score if each.role == "score" else each.formula for each in numbers]
    used = {name for text in formulas for name in parse(text).columns}
    take, kinds = dict(plan.take), {}
    for name, form in plan.take.items():
        aggregate = Aggregate.parse(form, field="take")
        if name in used and aggregate.column is not None and name not in plan.errors.values():
            kinds[name] = free_name(f"{name}_kind", {*take, *used})
            function = "last" if aggregate.function == "last" else "max"
            take[kinds[name]] = f"{function}(`{aggregate.column}{KIND}`)"
    return replace(plan, take=take, kinds=kinds)


def literals_of(
    plan: Plan, formula: str, values: Sequence[float | None], read: Mapping[str, Sequence[Any]]
) -> list[str | None]:
    """Numbers as literals.

    Parameters
    ----------
    plan, formula
        What the numbers were computed by.
    values
        The numbers; None where there is none.
    read
        What is known of each row, by name.
    """
    tree = parse(formula).tree
    known = not isinstance(plan.take, str)
    return [
        None
        if value is None
        else _literal(value, _kind(plan, tree, read, row) if known else _looks(value))
        for row, value in enumerate(values)
    ]


def _kind(plan: Plan, node: Node, read: Mapping[str, Sequence[Any]], row: int) -> int:
    """The number of a datatype in ``DATATYPES``."""
    if isinstance(node, Name):
        return _kind_of_name(plan, node.name, read, row)
    if isinstance(node, Number):
        return _looks(node.value)
    assert isinstance(node, Call)  # noqa: S101
    if node.op == "if":
        return _kind(plan, node.args[1 if _holds(node.args[0], read, row) else 2], read, row)
    if node.op not in (*_KEEP, "/"):
        return _DOUBLE
    parts = [_promoted(_kind(plan, each, read, row)) for each in node.args]
    return max(*parts, _DECIMAL if node.op == "/" else _INTEGER)


def _holds(condition: Node, read: Mapping[str, Sequence[Any]], row: int) -> bool:
    test = Expression(condition)
    columns = {name: np.array([read[name][row]], np.float64) for name in test.columns}
    return bool(test.evaluate(columns)[0] > 0)


def _kind_of_name(plan: Plan, name: str, read: Mapping[str, Sequence[Any]], row: int) -> int:
    kind = read[plan.kinds[name]][row] if name in plan.kinds else None
    if kind is None:
        return _looks(read[name][row])
    assert not isinstance(plan.take, str)  # noqa: S101
    function = Aggregate.parse(plan.take[name], field="take").function
    if function == "last":
        return int(kind)
    return max(_promoted(int(kind)), _DECIMAL if function == "mean" else _INTEGER)


def _promoted(kind: int) -> int:
    """What becomes of a datatype in a computation: all kinds of whole numbers are integers."""
    return kind if kind >= _DECIMAL else _INTEGER


def _looks(value: float | None) -> int:
    return _INTEGER if value is None or float(value).is_integer() else _DECIMAL


def _literal(value: float, kind: int) -> str:
    """A number as N-Triples writes it; decimals have no exponents."""
    if kind < _DECIMAL and not (value.is_integer() and abs(value) < _EXACT):
        kind = _DECIMAL
    if kind < _DECIMAL:
        text = str(int(value))
    else:
        text = format(Decimal(repr(value)), "f") if kind == _DECIMAL else repr(value)
    return f'"{text}"^^<{XSD}{DATATYPES[kind]}>'
