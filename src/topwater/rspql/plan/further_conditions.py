"""``ORDER BY DESC(?score) ?name``: what decides between equal scores.

Each such condition is worked out as if it were shown. Single solutions are known by the terms of
their key alone, so what is computed of them becomes a part of it, under a name of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from topwater.rspql.plan.plan import Bind, EventPattern, Shown, Then
from topwater.scoring.expressions import Expression, Name, Node

FURTHER = "=then "
"""What the names of further conditions begin with, before their number."""


def bound_further(
    patterns: Sequence[EventPattern], found: Mapping[str, Node], terms: set[str]
) -> tuple[list[EventPattern], dict[str, Node]]:
    """Patterns that bind what further conditions compute, and what these then are.

    A condition that is one of some ``terms`` stays what it is.
    """
    parts = [part for each in patterns for part in (each, *each.parts)]
    computed = {bind.variable for part in parts for bind in part.binds if isinstance(bind, Bind)}
    binds = {
        name: Bind(name, str(Expression(node)))
        for name, node in found.items()
        if not (isinstance(node, Name) and node.name in terms - computed)
    }
    bound = [replace(each, binds=(*each.binds, *binds.values())) for each in patterns]
    return bound, {name: Name(name) if name in binds else node for name, node in found.items()}


def split_further(
    projection: Sequence[Shown], said: Sequence[tuple[Any, bool]]
) -> tuple[tuple[Shown, ...], tuple[Then, ...]]:
    """What is shown, and what only decides between equal scores."""
    shown = tuple(each for each in projection if not each.name.startswith(FURTHER))
    hidden = [each for each in projection if each.name.startswith(FURTHER)]
    then = [Then(each, largest) for each, (_, largest) in zip(hidden, said, strict=True)]
    return shown, tuple(then)
