"""A cursor over the tokens of a query: what the parsers of the streaming parts share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from rdflib.term import URIRef, Variable

from topwater.rspql.parser.spans import FORMS, duration
from topwater.rspql.parser.tokens import Document, Token
from topwater.validation import nearest

KNOWN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes that need not be declared."""


class Names:
    """Prefixes and the base: names → IRIs.

    Raises
    ------
    QueryError
        If a name has a prefix that is not declared anywhere.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self.prefixes: dict[str, str] = {}
        self.base = ""
        self._declare(document.tokens)
        self._check(document.tokens)

    def _declare(self, tokens: list[Token]) -> None:
        for keyword, first, second in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if keyword.level:
                continue
            if keyword.word == "BASE" and first.kind == "iri":
                self.base = self.base or first.text[1:-1]
            if keyword.word == "PREFIX" and first.kind == "name" and second.kind == "iri":
                self.prefixes[first.text[:-1]] = str(self.iri(second))
            elif keyword.word in ("PREFIX", "BASE") and keyword.level == 0:
                self._require_brackets(keyword, first, second)

    def _require_brackets(self, keyword: Token, first: Token, second: Token) -> None:
        """Refuse a declaration whose IRI is not in angle brackets, or has no colon before it."""
        if keyword.word == "PREFIX" and first.kind == "word" and second.kind == "iri":
            fix = f"write PREFIX {first.text}: {second.text}"
            self._document.fail("the prefix has no colon", first.start, fix)
        named = keyword.word == "PREFIX"
        if (named and first.kind != "name") or (not named and first.kind == "iri"):
            return
        given = second if named else first
        text = self._document.text[given.start :].split(maxsplit=1)
        iri = text[0].strip("\"'<>") if text else ""
        if ":" in iri:
            start = f"PREFIX {first.text} " if named else "BASE "
            self._document.fail(
                f"{iri[:60]} is not in angle brackets", given.start, f"write {start}<{iri}>"
            )

    def place(self, iri: URIRef | Variable, *otherwise: str) -> int:
        """Where an IRI is used, however it is written there; else where a word is."""
        tokens = self._document.tokens
        if isinstance(iri, Variable):
            return self._document.find(f"?{iri}", f"${iri}", *otherwise)
        for before, token in zip([*tokens[:1], *tokens], tokens, strict=False):
            known = token.kind in ("iri", "name") and before.word not in ("PREFIX", "BASE")
            if known and before.kind != "name" and self.iri(token) == iri:
                return token.start
        return self._document.find(*otherwise)

    def _check(self, tokens: list[Token]) -> None:
        for before, token in zip([*tokens[:1], *tokens], tokens, strict=False):
            if token.kind == "name" and before.word != "PREFIX":
                self.iri(token)

    def iri(self, token: Token) -> URIRef:
        """The IRI that a token stands for."""
        if token.kind == "iri":
            return self._resolved(token)
        prefix, _, local = token.text.partition(":")
        start = self.prefixes.get(prefix, KNOWN.get(prefix))
        if start is None:
            self._document.fail(
                f"the prefix {prefix + ':'!r} is unknown", token.start, self._suggestion(prefix)
            )
        return URIRef(start + _plain(local))

    def _resolved(self, token: Token) -> URIRef:
        try:
            return URIRef(token.text[1:-1], base=self.base or None)
        except ValueError as error:  # of Python's own parser of addresses
            self._document.fail(
                f"{token.text[:40]} is not an IRI: {error}", token.start, "write it in full"
            )

    def _suggestion(self, prefix: str) -> str:
        declare = f"declare it: PREFIX {prefix}: <http://example.org/>"
        near = nearest(prefix, [name for name in self.prefixes if name])
        return declare if near is None else f"write {near}: instead, or {declare}"


def _plain(local: str) -> str:
    """A local name without the backslashes before its punctuation."""
    return "".join(local[i] for i in range(len(local)) if local[i] != "\\")


class Cursor:
    """Reads tokens one after the other; every failure points at a token."""

    def __init__(self, document: Document, names: Names) -> None:
        self.document = document
        self.names = names
        self.at = 0

    @property
    def token(self) -> Token:
        """The next one."""
        return self.document.tokens[self.at]

    def ahead(self, steps: int = 1) -> Token:
        """A later one; the last if there are no more."""
        tokens = self.document.tokens
        return tokens[min(self.at + steps, len(tokens) - 1)]

    def take(self) -> Token:
        """The next one, and move on."""
        token = self.token
        self.at = min(self.at + 1, len(self.document.tokens) - 1)
        return token

    def skip(self, *words: str) -> str:
        """Move over a keyword if it is one of these; which one it was, or nothing."""
        if (word := self.token.word) and word in words:
            self.take()
            return word
        return ""

    def expect(self, text: str, fix: str) -> Token:
        """A keyword or a sign that has to come."""
        if self.token.text.upper() != text:
            self.fail(f"expected {text} {self._found()}", fix)
        return self.take()

    def iri(self, what: str, fix: str) -> URIRef:
        """An IRI or a prefixed name that has to come."""
        if self.token.kind == "variable":
            self.fail(f"{what} can't be a variable", fix)
        if self.token.kind not in ("iri", "name"):
            self.fail(f"expected {what} {self._found()}", fix)
        return self.names.iri(self.take())

    def duration(self, fix: str = FORMS) -> int:
        """A span of time that has to come, in milliseconds."""
        start = self.token
        text = self._amount(fix)
        if self.token.kind == "word" and start.kind == "number" and self._is_unit():
            text += self.take().text
        span = duration(text)
        if isinstance(span, str):
            self.document.fail(span, start.start, fix)
        return span

    def _is_unit(self) -> bool:
        return not isinstance(duration(f"1{self.token.text}"), str)

    def whole(self, what: str, fix: str) -> int:
        """A whole number that has to come."""
        token = self.token
        text = self._amount(fix)
        if not text.isdecimal() or len(text) > 15:
            self.document.fail(f"{what} is a whole number, not {text[:40]}", token.start, fix)
        return int(text)

    def _amount(self, fix: str) -> str:
        if self.token.kind == "variable":
            self.fail("a variable can't stand here: the plan is made before the data come", fix)
        if self.token.text == "-":
            self.fail("a negative number can't stand here", fix)
        if self.token.kind not in ("number", "duration", "exponent"):
            self.fail(f"expected a number or a duration {self._found()}", fix)
        return self.take().text

    def _found(self) -> str:
        return f"but found {self.token.text[:40]!r}" if self.token.text else "but the text ends"

    def fail(self, problem: str, fix: str) -> NoReturn:
        """Point at the next token."""
        self.document.fail(problem, self.token.start, fix)


def shown(iri: URIRef | Variable, prefixes: Mapping[str, str]) -> str:
    """An IRI as the query would write it; or a variable.

    Examples
    --------
    >>> shown(URIRef("http://example.org/W"), {"": "http://example.org/"})
    ':W'
    """
    if isinstance(iri, Variable):
        return f"?{iri}"
    for name, start in prefixes.items():
        local = str(iri)[len(start) :]
        if start and iri.startswith(start) and local.replace("_", "").isalnum():
            return f"{name}:{local}"
    return f"<{iri}>"
