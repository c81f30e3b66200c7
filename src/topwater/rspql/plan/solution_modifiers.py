"""The layers around a pattern: SELECT, ORDER BY, LIMIT, GROUP BY, HAVING, and CONSTRUCT."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rdflib.term import Variable

from topwater.rspql.parser.tokens import Document

_ORDER = "write ORDER BY DESC(?score) LIMIT 10 at the end"


@dataclass(slots=True)
class Layers:
    """What stands around a pattern.

    Attributes
    ----------
    shown
        The variables in the answer, in order.
    rank_by, descending
        The expression that ranks.
    then
        What decides between equals, in its order, and whether the largest comes first.
    extends
        What ``SELECT`` computes of groups, innermost first; of a query without groups it is
        part of the pattern.
    groups
        The variables grouped by; None without ``GROUP BY``.
    """

    k: int = 0
    distinct: bool = False
    shown: tuple[str, ...] = ()
    rank_by: Any = None
    descending: bool = True
    then: list[tuple[Any, bool]] = field(default_factory=list)
    groups: list[Any] | None = None
    aggregates: list[Any] = field(default_factory=list)
    extends: list[tuple[str, Any]] = field(default_factory=list)
    having: list[Any] = field(default_factory=list)
    pattern: Any = None
    template: list[Any] | None = None


def layers_of(document: Document, algebra: Any) -> Layers:
    """Take the layers of a query off, one by one."""
    layers = Layers()
    if algebra.name == "ConstructQuery":
        layers.template = list(algebra.template or ())
        if not layers.template:
            document.fail(
                "CONSTRUCT has no template",
                document.find("CONSTRUCT"),
                "write CONSTRUCT { ?user a :Influential } WHERE { … }",
            )
    node = _modifiers(document, algebra.p, layers)
    if node.name == "ToMultiSet" and node.p.name in ("Slice", "Project", "Distinct"):
        node = _subquery(document, node.p, layers)
    _require_ranking(document, layers)
    layers.pattern = _grouping(document, node, layers)
    return layers


def _modifiers(document: Document, node: Any, layers: Layers) -> Any:
    while node.name in ("Slice", "Distinct", "Reduced", "Project", "OrderBy"):
        if node.name == "Slice":
            _limit(document, node, layers)
        elif node.name == "Distinct":
            layers.distinct = True
        elif node.name == "Project":
            layers.shown = _in_order(document, node.PV)
        elif node.name == "OrderBy":
            _order(node.expr, layers)
        node = node.p
    return node


def _in_order(document: Document, found: list[Any]) -> tuple[str, ...]:
    """The variables as the text has them: ``*`` gives them in any order."""
    names = [str(each) for each in found if not str(each).startswith("__agg_")]
    if not takes_all(document):
        return tuple(names)
    return tuple(sorted(names, key=lambda name: document.find(f"?{name}", f"${name}")))


def takes_all(document: Document) -> bool:
    """Is there a ``SELECT *``? A star after anything else multiplies."""
    before = ("SELECT", "DISTINCT", "REDUCED", "RSTREAM", "ISTREAM", "DSTREAM")
    pairs = zip(document.tokens, document.tokens[1:], strict=False)
    return any(token.text == "*" and first.word in before for first, token in pairs)


def _limit(document: Document, node: Any, layers: Layers) -> None:
    if node.start:
        document.fail(
            "OFFSET would leave out the best",
            document.find("OFFSET"),
            "leave it out: every row of an answer has its rank",
        )
    if node.length is None:
        return
    if not 0 < node.length <= 100_000:
        document.fail(
            f"LIMIT {node.length} gives no ranking" if not node.length else "LIMIT is too large",
            document.find("LIMIT"),
            "ask for one item or more, up to 100,000",
        )
    layers.k = int(node.length)


def _order(conditions: list[Any], layers: Layers) -> None:
    first, *others = conditions
    layers.rank_by, layers.descending = first.expr, first.order == "DESC"
    layers.then = [(each.expr, each.order == "DESC") for each in others]


def _subquery(document: Document, node: Any, layers: Layers) -> Any:
    """A query whose pattern is nothing but another query: that one ranks."""
    if layers.rank_by is not None or layers.k:
        document.fail(
            "both the query and its subquery rank",
            document.find("LIMIT", "ORDER"),
            "rank in the subquery only",
        )
    outer, distinct, layers.distinct = layers.shown, layers.distinct, False
    inner = _modifiers(document, node, layers)
    if distinct and not layers.distinct and not _is_grouped(inner):
        document.fail(
            "DISTINCT stands outside of the query that ranks",
            document.find("DISTINCT"),
            "write it in the subquery: { SELECT DISTINCT … ORDER BY … LIMIT … }",
        )
    layers.shown = tuple(name for name in outer if name in layers.shown)
    return inner


def _require_ranking(document: Document, layers: Layers) -> None:
    end = document.tokens[-1].start
    if layers.rank_by is None and layers.k:
        document.fail(
            f"LIMIT {layers.k} of what order? Without ORDER BY there is no score to rank by",
            document.find("LIMIT"),
            f"write ORDER BY DESC(?score) before it: ORDER BY DESC(?score) LIMIT {layers.k}",
        )
    if layers.rank_by is None:
        document.fail("without ORDER BY there is no score to rank by", end, _ORDER)
    if not layers.k:
        document.fail(
            "without LIMIT the answer would be the whole window",
            document.find("ORDER"),
            "say how many are wanted after ORDER BY, as LIMIT 10",
        )


def _grouping(document: Document, node: Any, layers: Layers) -> Any:
    if not _is_grouped(node):
        return node
    while node.name != "AggregateJoin":
        if node.name == "Extend":
            layers.extends.insert(0, (str(node.var), node.expr))
        else:
            layers.having.append(node.expr)
        node = node.p
    layers.aggregates = list(node.A)
    layers.groups = list(node.p.expr or ())
    if not layers.groups:
        document.fail(
            "aggregates without GROUP BY give one row, which is not a ranking",
            document.find("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "HAVING", "ORDER"),
            "write GROUP BY ?user before ORDER BY, with the variable to rank",
        )
    if not all(isinstance(each, Variable) for each in layers.groups):
        document.fail(
            "GROUP BY takes variables only", document.find("GROUP"), "BIND the expression first"
        )
    return node.p.p


def _is_grouped(node: Any) -> bool:
    while node.name in ("Extend", "Filter"):
        node = node.p
    return bool(node.name == "AggregateJoin")
