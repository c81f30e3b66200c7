"""Conditions on texts are about terms as they were written: a number that is computed has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.condition_kinds import AllOf, AnyOf, Condition, Not, Text
from topwater.rspql.plan.plan import Bind, EventPattern, Holds


def require_written(document: Document, patterns: Iterable[EventPattern]) -> None:
    """Raise if a condition asks for the text, the language or the datatype of a computed number.

    Raises
    ------
    QueryError
        If one does.
    """
    for pattern in patterns:
        computed = {each.variable for each in pattern.binds if isinstance(each, Bind)}
        asked = [each.condition for each in pattern.binds if isinstance(each, Holds)]
        for test in _tests((*pattern.filters, *asked)):
            if test.variable in computed:
                document.fail(
                    f"?{test.variable} is a computed number: it has no text as it was written",
                    document.find("BIND", "FILTER"),
                    "compare it as a number, or test the text of what it is computed from",
                )


def _tests(conditions: Iterable[Condition]) -> Iterator[Text]:
    """All tests of texts in some conditions."""
    for each in conditions:
        if isinstance(each, AllOf | AnyOf):
            yield from _tests(each.parts)
        elif isinstance(each, Not):
            yield from _tests([each.part])
        elif isinstance(each, Text):
            yield each
