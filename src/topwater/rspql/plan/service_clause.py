"""``SERVICE`` clauses: the pattern as text of its own, and what it shares with the stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from rdflib.term import BNode, URIRef, Variable

from topwater.rspql.parser.cursor import Names
from topwater.rspql.parser.tokens import Document, Token


@dataclass(frozen=True, slots=True)
class Remote:
    """A service's pattern, before it is known what it is asked for."""

    name: URIRef
    pattern: str
    variables: frozenset[str]
    optional: bool = False
    silent: bool = False


@dataclass(slots=True)
class Far:
    """The service as far as it is known: what it is joined by, and what it is asked for.

    Attributes
    ----------
    remote, key
        What it is asked, and the variable that it shares with the stream.
    values, texts
        The variables that are computed with, and those that are only shown.
    compared
        Those of the values that the score or a condition uses.
    cast
        The names under which values are cast to numbers.
    """

    remote: Remote
    key: str
    values: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    compared: set[str] = field(default_factory=set)
    cast: set[str] = field(default_factory=set)

    @property
    def variables(self) -> set[str]:
        """Those that the stream does not bind."""
        return set(self.remote.variables) - {self.key}


def remote_of(document: Document, names: Names, node: Any, number: int) -> Remote:
    """The ``SERVICE`` clause with this number, in the order of the text."""
    if isinstance(node.term, Variable):
        document.fail(
            "a SERVICE can't be a variable: only what was registered is ever asked",
            document.find("SERVICE"),
            "write SERVICE :name { … }, and register it: services={':name': …}",
        )
    tokens = list(bodies(document))[number]
    used = frozenset(token.text[1:] for token in tokens if token.kind == "variable")
    return Remote(
        name=node.term,
        pattern=_text(names, tokens),
        variables=used,
        silent=bool(node.silent),
    )


def bodies(document: Document) -> Iterator[list[Token]]:
    """What is between the braces of each ``SERVICE`` that is in no other one.

    rdflib keeps this text too, but gives that of the first clause to all that ask one service.
    """
    tokens = document.tokens
    at = 0
    while at < len(tokens):
        if tokens[at].word != "SERVICE":
            at += 1
            continue
        opened = next(i for i in range(at, len(tokens)) if tokens[i].text == "{")
        level = tokens[opened].level
        at = next(
            i
            for i in range(opened + 1, len(tokens))
            if tokens[i].level <= level + 1 and tokens[i].text == "}"
        )
        yield tokens[opened + 1 : at]


def _text(names: Names, tokens: list[Token]) -> str:
    """Tokens as one line, with IRIs in full: it needs no prefixes, and has no comments."""
    parts: list[str] = []
    end = 0
    for token in tokens:
        text = token.text
        if token.kind in ("iri", "name"):
            text = names.iri(token).n3()
        elif token.kind == "variable":
            text = f"?{text[1:]}"
        apart = bool(parts) and token.start > end
        parts.append(f" {text}" if apart else text)
        end = token.end
    text = "".join(parts).strip()
    # A subquery stands in braces of its own wherever other patterns are beside it.
    return f"{{ {text} }}" if tokens and tokens[0].word == "SELECT" else text


def triples_text(triples: list[Any]) -> str:
    """Triples of the algebra as a pattern."""
    return " . ".join(" ".join(_written(term) for term in triple) for triple in triples)


def _written(term: Any) -> str:
    return f"?b{term}" if isinstance(term, BNode) else str(term.n3())


def join_variable(document: Document, remote: Remote, stream: set[str]) -> str:
    """The one variable that the stream and a service share."""
    shared = sorted(remote.variables & stream)
    if len(shared) == 1:
        return shared[0]
    named = " and ".join(f"?{name}" for name in shared[:3])
    if shared:
        _fail(
            document,
            f"the stream and <{remote.name}> share {len(shared)} variables, {named}: "
            "values are looked up by one",
            shared[1],
            "rename one of them on one side",
        )
    return _fail(
        document,
        f"the stream and <{remote.name}> share no variable",
        "",
        "use the variable that joins them in both: WINDOW :w { ?user … } SERVICE :s { ?user … }",
    )


def _fail(document: Document, problem: str, variable: str, fix: str) -> NoReturn:
    wanted = [f"?{variable}", f"${variable}"] if variable else []
    start = document.find("SERVICE", "FROM")
    places = [
        token.start for token in document.tokens if token.text in wanted and token.start > start
    ]
    document.fail(problem, places[0] if places else start, fix)
