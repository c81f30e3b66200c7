"""``IF``: what it asks of each solution, and what it gives, as columns of their own.

Whether a condition holds is worked out where solutions are found, with the exact comparisons of
``FILTER``. What the branches give is a column too: a solution where only the branch that is not
taken has no value is a solution like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from topwater.rspql.plan.condition_kinds import AllOf, AnyOf, Compare, Condition, Not
from topwater.rspql.plan.plan import Bind, Binding, Derived, EventPattern, Fixed, Holds
from topwater.scoring.expressions import Call, Expression, Name, Node, Number, parse

Choices: TypeAlias = "dict[str, Condition | Node]"
"""By the names of columns, the conditions and the formulas behind them."""

_MARK = "=if "


def noted(choices: Choices, what: Condition | Node) -> Name:
    """The column of a condition, or of a formula with ``IF`` in it: equal ones share one."""
    name = _MARK + hashlib.sha256(repr(what).encode()).hexdigest()[:12]
    choices[name] = what
    return Name(name)


def with_choices(pattern: EventPattern, names: Iterable[str], choices: Choices) -> EventPattern:
    """The same pattern, which binds what some formulas need of ``IF``."""
    bound = {bind.variable for bind in pattern.binds}
    added = {each.variable: each for each in _needed(names, choices)}
    new = [bind for name, bind in added.items() if name not in bound]
    return replace(pattern, binds=(*pattern.binds, *new)) if new else pattern


def _needed(names: Iterable[str], choices: Choices) -> Iterator[Bind | Holds]:
    """In an order in which later ones use earlier ones."""
    from topwater.rspql.plan.conditions import names_in

    for name in names:
        what = choices.get(name)
        if isinstance(what, Name | Number | Call):
            formula = Expression(what)
            yield from _needed(formula.columns, choices)
            yield Bind(name, str(formula))
        elif what is not None:
            yield from _needed(sorted(names_in(what)), choices)
            yield Holds(name, what)


def variables_behind(names: Iterable[str], choices: Choices) -> set[str]:
    """The names that are left when those of ``IF`` are taken for what they stand for."""
    added = {each.variable: each for each in _needed(names, choices)}
    inner = set().union(*map(uses, added.values()))
    return ({*names} | inner) - {*added}


def uses(bind: Binding) -> set[str]:
    """The names that a bind is made of."""
    from topwater.rspql.plan.conditions import names_in

    if isinstance(bind, Fixed | Derived):
        return set() if isinstance(bind, Fixed) else {bind.of}
    return {*parse(bind.formula).columns} if isinstance(bind, Bind) else names_in(bind.condition)


def has_if(node: Node) -> bool:
    """Is there an ``IF`` in a formula?"""
    return isinstance(node, Call) and (node.op == "if" or any(map(has_if, node.args)))


def condition_tree(condition: Condition) -> Node | None:
    """A condition on numbers as a formula: 1 where it holds, else 0; None if it is on terms.

    Examples
    --------
    >>> print(Expression(condition_tree(Not(Compare("a", ">=", "3")))))
    1 - (1 - positive(3 - a))
    """
    if isinstance(condition, AllOf | AnyOf):
        parts = [condition_tree(each) for each in condition.parts]
        known = tuple(each for each in parts if each is not None)
        word = "all" if isinstance(condition, AllOf) else "any"
        return Call(word, known) if len(known) == len(parts) else None
    if isinstance(condition, Not):
        part = condition_tree(condition.part)
        return None if part is None else _denied(part)
    return _compared(condition) if isinstance(condition, Compare) else None


def _compared(condition: Compare) -> Node:
    left, right = parse(condition.left).tree, parse(condition.right).tree
    if condition.op in ("<", ">="):
        left, right = right, left
    apart: Node = Call("-", (left, right))
    if condition.op in ("=", "!="):
        apart = Call("abs", (apart,))
    found = Call("positive", (apart,))
    return found if condition.op in ("<", ">", "!=") else _denied(found)


def _denied(node: Node) -> Node:
    return Call("-", (Number(1.0), node))
