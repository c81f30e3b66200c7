"""Names in formulas and conditions: which there are, and how they get others."""

from __future__ import annotations

from collections.abc import Mapping

from topwater.rspql.plan.condition_kinds import AllOf, AnyOf, Compare, Condition, Not
from topwater.scoring.aggregates import RESERVED
from topwater.scoring.expressions import Call, Expression, Name, Node, parse


def columns(node: Node) -> set[str]:
    """The names in a formula."""
    return set(ordered(node))


def ordered(node: Node) -> tuple[str, ...]:
    """The names in a formula, in order of first use."""
    return Expression(node).columns


def renamed_tree(node: Node, renamed: Mapping[str, str]) -> Node:
    """A formula with other names."""
    if isinstance(node, Name):
        return Name(renamed.get(node.name, node.name))
    if isinstance(node, Call):
        return Call(node.op, tuple(renamed_tree(each, renamed) for each in node.args))
    return node


def renamed_condition(condition: Condition, renamed: Mapping[str, str]) -> Condition:
    """A condition with other names."""
    if isinstance(condition, Compare):
        left, right = (
            str(Expression(renamed_tree(parse(side).tree, renamed)))
            for side in (condition.left, condition.right)
        )
        return Compare(left, condition.op, right)
    if isinstance(condition, AllOf | AnyOf):
        return type(condition)(tuple(renamed_condition(each, renamed) for each in condition.parts))
    if isinstance(condition, Not):
        return Not(renamed_condition(condition.part, renamed))
    return condition


def free_name(name: str, taken: set[str]) -> str:
    """A name that TopKQuery takes, and that is not taken yet.

    Examples
    --------
    >>> free_name("user", set()), free_name("time", set()), free_name("1st", {"v_1st"})
    ('user', 'time_', 'v_1st_')
    """
    # SPARQL allows more characters in a name than Python.
    name = "".join(each if f"v{each}".isidentifier() else "_" for each in name)
    if not name.isidentifier():
        name = f"v_{name}"
    while name in taken or name in RESERVED:
        name += "_"
    return name
