"""The variables of a pattern, and what is made of them."""

from __future__ import annotations

from typing import Any, Literal

from rdflib.term import Variable

from topwater.rspql.plan.plan import Derived, EventPattern
from topwater.rspql.rdf.term_values import CASTS, KIND

_DERIVED: dict[str, Literal["lang", "datatype", "str"]] = {
    "Builtin_LANG": "lang",
    "Builtin_DATATYPE": "datatype",
    "Builtin_STR": "str",
}


def variables(pattern: EventPattern) -> set[str]:
    """The variables that a pattern binds."""
    facts = [fact for part in (pattern, *pattern.parts) for fact in part.facts]
    triples = (*pattern.triples, *(fact.triple for fact in facts))
    terms = {str(term) for triple in triples for term in triple if isinstance(term, Variable)}
    bound = {bind.variable for part in pattern.parts for bind in part.binds}
    return terms | bound | {bind.variable for bind in pattern.binds}


def with_casts(names: set[str]) -> set[str]:
    """Variables, and the names of the numbers that casts make of them."""
    return names | {f"{name}{KIND}{to}" for name in names for to in CASTS}


def derived_of(node: Any) -> Derived | None:
    """The term that ``BIND`` makes of that of a variable, if it does."""
    part = _DERIVED.get(getattr(node.expr, "name", ""))
    if part is None or not isinstance(node.expr.arg, Variable):
        return None
    return Derived(str(node.var), str(node.expr.arg), part)
