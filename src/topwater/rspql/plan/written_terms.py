"""Conditions on texts are about terms as they were written: a number that is computed has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn

from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.condition_kinds import AllOf, AnyOf, Condition, Not, Text
from topwater.rspql.plan.plan import Bind, Derived, EventPattern, Holds
from topwater.rspql.rdf.term_values import KIND
from topwater.scoring.expressions import Name, parse


def require_written(document: Document, patterns: Iterable[EventPattern]) -> None:
    """Raise if a condition asks for the text, the language or the datatype of a computed number.

    Raises
    ------
    QueryError
        If one does.
    """
    for pattern in patterns:
        computed: set[str] = set()
        for each in pattern.binds:
            if isinstance(each, Bind) and not _is_alias(each, computed):
                computed.add(each.variable)
            if isinstance(each, Derived) and each.of in computed:
                _refuse(document, each.of)
        asked = [each.condition for each in pattern.binds if isinstance(each, Holds)]
        for test in _tests((*pattern.filters, *asked)):
            if test.variable in computed:
                _refuse(document, test.variable)


def _refuse(document: Document, variable: str) -> NoReturn:
    document.fail(
        f"?{variable} is a computed number: it has no text as it was written",
        document.find("BIND", "FILTER"),
        "compare it as a number, or test the text of what it is computed from",
    )


def _is_alias(bind: Bind, computed: set[str]) -> bool:
    """Is it another name for a term?"""
    formula = parse(bind.formula).tree
    return isinstance(formula, Name) and KIND not in formula.name and formula.name not in computed


def _tests(conditions: Iterable[Condition]) -> Iterator[Text]:
    """All tests of texts in some conditions."""
    for each in conditions:
        if isinstance(each, AllOf | AnyOf):
            yield from _tests(each.parts)
        elif isinstance(each, Not):
            yield from _tests([each.part])
        elif isinstance(each, Text):
            yield each
