"""What a query of Prometheus asks for: metrics by name, and which labels of each it uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import promql_parser as promql


class Asked(NamedTuple):
    """A metric that a query names, and the labels that it needs to have."""

    metric: str
    labels: frozenset[str]


def asked(query: str) -> list[Asked]:
    """What a query names; a query that can't be parsed is an error.

    >>> asked('rate(a_total{job=~"x"}[5m])')
    [Asked(metric='a_total', labels=frozenset({'job'}))]
    """
    return [*_asked(promql.parse(query), frozenset())]


def _asked(node: Any, used: frozenset[str]) -> Iterator[Asked]:
    """What a part of a query names; ``used`` are the labels that the parts around it use."""
    match node:
        case promql.VectorSelector():
            own = {each.name for each in node.matchers.matchers}
            yield Asked(str(node.name), used | own)
        case promql.MatrixSelector():
            yield from _asked(node.vector_selector, used)
        case promql.AggregateExpr():
            yield from _asked(node.expr, used | _labels(node.modifier))
        case promql.BinaryExpr():
            both = used | _labels(getattr(node.modifier, "matching", None))
            yield from (*_asked(node.lhs, both), *_asked(node.rhs, both))
        case promql.Call():
            for each in node.args:
                yield from _asked(each, used)
        case promql.NumberLiteral() | promql.StringLiteral():
            return
        case _:
            yield from _asked(node.expr, used)


def _labels(modifier: Any) -> frozenset[str]:
    """Those of ``by (…)`` and ``on (…)``."""
    return frozenset() if modifier is None else frozenset(modifier.labels)
