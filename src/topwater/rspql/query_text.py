"""Text → Plan."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from pyparsing import ParseBaseException
from rdflib.plugins.sparql.algebra import translateQuery, traverse
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import URIRef

from topwater.errors import QueryError
from topwater.rspql.parser.cursor import Names, shown
from topwater.rspql.parser.streaming_clauses import take_apart
from topwater.rspql.parser.syntax_hints import blamed, farthest
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.assembly import Composer
from topwater.rspql.plan.plan import Plan
from topwater.rspql.plan.solution_modifiers import layers_of
from topwater.validation import nearest


def parse(text: str, *, services: Iterable[str] | None = None, files: Iterable[str] = ()) -> Plan:
    """What a query in RSP-QL says.

    Parameters
    ----------
    text
        The query.
    services
        The names of the services that are registered, with a prefix of the query or in full. If
        given, a query that asks another one is refused.
    files
        The names in ``FROM`` that are registered as files of static data: what the query says of
        them is joined with each solution. Others are looked up, as in a ``SERVICE``.

    Raises
    ------
    QueryError
        For any text that is not a query that can run, with line, column and what to write instead.

    Examples
    --------
    >>> plan = parse('''
    ...     PREFIX : <http://example.org/>
    ...     REGISTER RSTREAM :TopkUsersToContact AS
    ...     SELECT ?user ((0.3 * ?mentionCount + 0.7 * ?followerCount) AS ?score)
    ...     FROM NAMED WINDOW :W ON :S [RANGE PT9M STEP PT3M]
    ...     WHERE {
    ...       WINDOW :W   { ?user :hasMentions ?mentionCount }
    ...       SERVICE :BKG { ?user :hasFollowers ?followerCount }
    ...     }
    ...     ORDER BY DESC(?score) LIMIT 1
    ... ''')
    >>> plan.key, plan.score, plan.k
    ('user', '0.3 * mentionCount + 0.7 * followerCount', 1)
    >>> plan.query().take
    {'mentionCount': 'last(`mentionCount`)'}
    """
    document = Document(text)
    if len(document.tokens) == 1:
        document.fail("the query is empty", 0, "write SELECT … WHERE { … } ORDER BY … LIMIT …")
    names = Names(document)
    parts = take_apart(document, names)
    parts.files = frozenset(full_name(each, names.prefixes) for each in files)
    algebra = _algebra(document, names, parts.sparql)
    try:
        plan = Composer(document, names, parts, layers_of(document, algebra)).plan()
        plan.query()
    except RecursionError:
        document.fail("the query nests too deep", document.find("{"), "simplify it")
    except QueryError as error:
        if error.problem.startswith("line "):
            raise
        # What the settings of a query refuse has no place: the ranking is the best one.
        document.fail(error.problem, document.find("ORDER"), error.fix)
    if services is not None:
        require_registered(document, plan, services)
    return plan


def _algebra(document: Document, names: Names, sparql: str) -> Any:
    try:
        tree = parseQuery(sparql)
        # rdflib knows one prefix for each namespace only, the last one that was declared.
        tree[1] = traverse(tree[1], visitPost=partial(_named, names))
        return translateQuery(tree, base=names.base or None).algebra
    except ParseBaseException as error:
        token, fix = blamed(document.tokens, max(farthest(sparql), error.loc))
        found = repr(token.text[:40]) if token.text else "the end"
        document.fail(f"{found} can't stand here", token.start, fix)
    except RecursionError:
        document.fail(
            "the query has too many triples in a row, or nests too deep, to be read",
            document.find("{"),
            "write those of one subject together, as ?s :p ?o ; :q ?r, or leave out what the "
            "ranking does not need",
        )
    except Exception as error:  # rdflib raises plain exceptions for what it can't translate
        document.fail(f"this is not SPARQL: {_line(str(error))}", 0, "correct it")


def _named(names: Names, node: Any) -> Any:
    """The IRI that a name with a prefix stands for; any other node as it is."""
    if isinstance(node, CompValue) and node.name == "pname":
        start = names.prefixes.get(str(node.prefix or ""))
        return None if start is None else URIRef(f"{start}{node.localname}")
    return None


def _line(text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else ""
    return first if len(first) <= 120 else f"{first[:117]}…"


def require_registered(document: Document, plan: Plan, services: Iterable[str]) -> None:
    """Refuse a service that is not among those registered."""
    known = {full_name(name, plan.prefixes) for name in services}
    for service in plan.services:
        if str(service.name) not in known:
            told = shown(service.name, plan.prefixes)
            document.fail(
                f"the service {told} is not registered: only registered ones are ever asked",
                Names(document).place(service.name, "SERVICE"),
                f"pass services={{{told!r}: …}}; {registered(service.name, known)}"
                + _or_a_file(document, service.name),
            )


def _or_a_file(document: Document, name: URIRef) -> str:
    """What else a name in ``FROM`` may be."""
    names = Names(document)
    pairs = zip(document.tokens, document.tokens[1:], strict=False)
    given = [after for word, after in pairs if word.word in ("FROM", "NAMED")]
    there = any(each.kind in ("iri", "name") and names.iri(each) == name for each in given)
    return f"; or, for a file, files={{'{name}': PATH}}" if there else ""


def registered(name: str, known: Iterable[str]) -> str:
    """The registered name that was probably meant by one that is not, or all that there are.

    Examples
    --------
    >>> registered("http://example.org/BKG", ["http://example.org/BKG2", "http://example.org/S"])
    'did you mean <http://example.org/BKG2>?'
    """
    # Names have their beginning in common: what tells them apart is the end.
    ends = {re.split(r"[/#:]", each)[-1]: each for each in sorted(known)}
    near = nearest(re.split(r"[/#:]", name)[-1], ends)
    if near is not None:
        return f"did you mean <{ends[near]}>?"
    return f"registered: {', '.join(sorted(known)) or 'none'}"


def full_name(name: str, prefixes: Any) -> str:
    """An IRI in full, from ``:name``, ``<iri>`` or the IRI itself.

    Examples
    --------
    >>> full_name(":S", {"": "http://example.org/"}), full_name("<urn:s>", {})
    ('http://example.org/S', 'urn:s')
    """
    if name.startswith("<") and name.endswith(">"):
        return name[1:-1]
    prefix, colon, local = name.partition(":")
    return prefixes[prefix] + local if colon and prefix in prefixes else name
