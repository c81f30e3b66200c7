"""Where a text stops being SPARQL.

rdflib's parser tries alternatives and says where the last one began. The place that helps is the
one that the farthest alternative came to.
"""

from __future__ import annotations

import threading
from typing import Any

from pyparsing import ParseBaseException
from rdflib.plugins.sparql import parser

_GRAMMAR = parser.Query
_LOCK = threading.Lock()


def farthest(sparql: str) -> int:
    """The farthest place that any alternative came to.

    Examples
    --------
    >>> farthest("SELECT * { GRAPH <w> { ?a ?b ?c ?d } }")
    32
    """
    reached = 0

    def note(_text: str, _at: int, _element: Any, error: Exception) -> None:
        nonlocal reached
        if isinstance(error, ParseBaseException):
            reached = max(reached, error.loc)

    with _LOCK:
        elements = list(_GRAMMAR.visit_all())  # type: ignore[no-untyped-call]
        for element in elements:
            element.set_fail_action(note)
        try:
            _GRAMMAR.parse_string(sparql, parse_all=True)
        except (ParseBaseException, RecursionError):
            pass
        finally:
            for element in elements:
                element.failAction = None
    return reached
