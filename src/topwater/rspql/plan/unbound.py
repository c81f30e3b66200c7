"""Variables that are used and bound nowhere: often another one is meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from topwater.rspql.parser.tokens import Document
from topwater.rspql.rdf.term_values import variable_in
from topwater.validation import nearest


def fail_unbound(
    document: Document, name: str, bound: Iterable[str], problem: str, fix: str
) -> NoReturn:
    """Refuse a variable, with the one that may be meant.

    Parameters
    ----------
    document, name
        The query, and the variable.
    bound
        All that the query binds somewhere.
    problem, fix
        What to say of one that is among them.

    Raises
    ------
    QueryError
        In any case.
    """
    name = variable_in(name)
    known = sorted({each for each in map(variable_in, bound) if each[:1] not in ("=", "_")})
    if name not in known:
        near = nearest(name, known)
        there = ", ".join(f"?{each}" for each in known[:8]) or "none"
        problem = f"?{name} is bound nowhere"
        fix = f"did you mean ?{near}?" if near else f"bind it, or use one that is bound: {there}"
    document.fail(problem, _place(document, name), fix)


def _place(document: Document, name: str) -> int:
    """Where a variable is used; first where it is not only shown."""
    places = [token.start for token in document.tokens if token.text[1:] == name]
    return places[0] if places else document.find(f"?{name}", f"${name}", "ORDER", "WHERE")
