"""Where a text stops being SPARQL, and what may have been meant.

rdflib's parser tries alternatives and says where the last one began. The place that helps is the
one that the farthest alternative came to.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from pyparsing import ParseBaseException
from rdflib.plugins.sparql import parser

from topwater.rspql.parser.tokens import Token
from topwater.validation import nearest

_GRAMMAR = parser.Query
_LOCK = threading.Lock()
_FIX = "look at what stands before it: the grammar is that of SPARQL 1.1, with WINDOW as GRAPH"
_KEYWORDS = (
    *("REGISTER", "PREFIX", "BASE", "SELECT", "CONSTRUCT", "DISTINCT", "FROM", "NAMED", "WHERE"),
    *("WINDOW", "SERVICE", "SILENT", "OPTIONAL", "UNION", "FILTER", "BIND", "VALUES", "GROUP"),
    *("HAVING", "ORDER", "BY", "DESC", "ASC", "LIMIT", "WITH", "AS", "COUNT", "SUM", "AVG", "MIN"),
    *("MAX", "COALESCE", "BOUND", "A", "TRUE", "FALSE"),
)
_SETTINGS = ("BUDGET", "FETCHES", "UNLIMITED", "DEADLINE", "POLICY", "SPARE", "ACCURACY")
_UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD")


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


def blamed(tokens: Sequence[Token], at: int) -> tuple[Token, str]:
    """The token that is wrong if reading stopped at a place, and what to write instead.

    Examples
    --------
    >>> from topwater.rspql.parser.tokens import Document
    >>> token, fix = blamed(Document("SELECT * { WINDWO :w { ?a ?b ?c } }").tokens, 18)
    >>> token.text, fix
    ('WINDWO', 'did you mean WINDOW?')
    """
    place = next(i for i, each in enumerate(tokens) if each.end > at or each.kind == "end")
    token, before = tokens[place], tokens[max(place - 1, 0)]
    for each in (before, token):
        if (meant := _meant(each)) is not None:
            return each, f"did you mean {meant}?"
    if (found := _misplaced(tokens, place)) is not None:
        return found
    if before.word in ("DESC", "ASC"):
        return token, f"put it into parentheses: {before.word}({token.text[:40]})"
    if before.word == "LIMIT":
        return token, "write a whole number, as LIMIT 10"
    if token.kind == "end":
        return token, "go on: SELECT … FROM NAMED WINDOW … WHERE { … } ORDER BY … LIMIT …"
    if before.word in _SETTINGS or token.word in _SETTINGS:
        return token, "settings stand last, after WITH: LIMIT 10 WITH BUDGET 7 FETCHES"
    if token.word in _UPDATES and token.level == 0:
        return token, "use SELECT or CONSTRUCT: a stream is asked, and not changed"
    if token.text != "(" and _is_selected(tokens[:place]):
        return token, "put what is computed into parentheses, with a name: (0.3 * ?a AS ?score)"
    return token, _FIX


def _misplaced(tokens: Sequence[Token], place: int) -> tuple[Token, str] | None:
    """What other languages write otherwise: an order after its column, commas, a limit before."""
    token, before = tokens[place], tokens[max(place - 1, 0)]
    if token.text == "," and token.level == 0:
        return token, "leave the comma out: variables are written side by side, as SELECT ?s ?v"
    for at in (place, place - 1):
        variable = tokens[at - 1] if at > 0 else token
        if tokens[at].word in ("DESC", "ASC") and variable.kind == "variable":
            return tokens[at], f"write ORDER BY {tokens[at].word}({variable.text[:40]})"
    earlier = [each for each in tokens[:place] if each.word == "LIMIT" and each.level == 0]
    if "ORDER" in (token.word, before.word) and token.level == 0 and earlier:
        return earlier[-1], "put ORDER BY before it: ORDER BY DESC(?v) LIMIT 10"
    return None


def _meant(token: Token) -> str | None:
    """The keyword that a word may be meant for, if it is none itself."""
    word = token.word
    if not word or word in (*_KEYWORDS, *_SETTINGS, *_UPDATES):
        return None
    return nearest(word, _KEYWORDS, cutoff=0.7)


def _is_selected(before: Sequence[Token]) -> bool:
    """Does what follows these tokens belong to ``SELECT``?"""
    for token in reversed(before):
        if token.word == "SELECT":
            return True
        if token.word in ("FROM", "WHERE", "AS") or token.text in "{}":
            return False
    return False
