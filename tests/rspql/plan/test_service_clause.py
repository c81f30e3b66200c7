"""SERVICE clauses: their text, and what they share with the stream."""

from __future__ import annotations

from typing import Any

import pytest
from rdflib.term import BNode, Literal, URIRef, Variable

from tests.support import corpus_files
from tests.support.rspql_asked import EX, algebra_of, ranked
from topwater.errors import QueryError
from topwater.remote.sparql_source import SparqlSource
from topwater.rspql import parse
from topwater.rspql.parser.cursor import Names
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.service_clause import (
    Far,
    Remote,
    bodies,
    join_variable,
    remote_of,
    triples_text,
)

LISTING = (corpus_files.FOLDER / "acquatop_listing.rq").read_text()


def test_the_pattern_of_a_service_is_what_a_source_can_send() -> None:
    service = parse(LISTING).services[0]
    source = SparqlSource(
        "http://data.example/sparql", service.pattern, key=service.key, value=service.value
    )
    assert source.query(["http://example.org/u/1"]).splitlines() == [
        "SELECT DISTINCT ?user ?followerCount WHERE {",
        "VALUES ?user { <http://example.org/u/1> }",
        "?user <http://example.org/hasFollowers> ?followerCount",
        "}",
    ]


def service_in(node: Any) -> Any:
    """The first SERVICE of an algebra."""
    if getattr(node, "name", "") == "ServiceGraphPattern":
        return node
    parts = (dict.get(node, name) for name in ("p", "p1", "p2")) if isinstance(node, dict) else ()
    return next((found for part in parts if (found := service_in(part)) is not None), None)


def remote(sparql: str, number: int = 0) -> Remote:
    """The SERVICE clause with this number, as rdflib reads the first one."""
    document, algebra = algebra_of(sparql)
    return remote_of(document, Names(document), service_in(algebra), number)


@pytest.mark.parametrize(
    ("body", "pattern", "variables"),
    [
        ("?u :f ?f", f"?u <{EX}f> ?f", {"u", "f"}),
        ("$u :f ?f .", f"?u <{EX}f> ?f .", {"u", "f"}),
        ("?u :f ?f # ?x\n ; a :T", f"?u <{EX}f> ?f ; a <{EX}T>", {"u", "f"}),
        ("?u :f '?x :y'", f"?u <{EX}f> '?x :y'", {"u"}),
        ("{ ?u :f ?f } UNION { ?u :g ?f }",
         f"{{ ?u <{EX}f> ?f }} UNION {{ ?u <{EX}g> ?f }}", {"u", "f"}),
        ("SELECT ?u ?f { ?u :f ?f }", f"{{ SELECT ?u ?f {{ ?u <{EX}f> ?f }} }}", {"u", "f"}),
    ],
)  # fmt: skip
def test_its_text_stands_by_itself(body: str, pattern: str, variables: set[str]) -> None:
    found = remote(f"SELECT * {{ SERVICE :r {{ {body} }} }}")
    assert found == Remote(URIRef(f"{EX}r"), pattern, frozenset(variables))


def test_silent_is_noted() -> None:
    assert remote("SELECT * { SERVICE SILENT :r { ?u :f ?f } }").silent


def test_two_clauses_that_ask_one_service_have_texts_of_their_own() -> None:
    text = "SELECT * { SERVICE :r { ?u :f ?f } SERVICE :r { ?u :g ?g } }"
    assert [remote(text, number).pattern for number in (0, 1)] == [
        f"?u <{EX}f> ?f",
        f"?u <{EX}g> ?g",
    ]


def test_a_service_may_ask_another_one() -> None:
    """rdflib itself can't read that: it looks for the inner clause without end."""
    plan = ranked("?v + ?g", "SERVICE :b { ?u :to ?x . SERVICE SILENT :t { ?x :g ?g } }")
    assert plan.service is not None
    assert plan.service.pattern == (
        f"?u <{EX}f> ?f . ?u <{EX}to> ?x . SERVICE SILENT <{EX}t> {{ ?x <{EX}g> ?g }}"
    )
    assert (plan.service.key, plan.service.value) == ("u", "g")
    assert len(plan.services) == 1


def test_a_clause_in_another_one_is_part_of_that() -> None:
    text = "{ SERVICE <x:a> { ?u ?p ?f SERVICE <x:b> { ?f ?q ?g } } SERVICE <x:c> { } }"
    found = [" ".join(token.text for token in each) for each in bodies(Document(text))]
    assert found == ["?u ?p ?f SERVICE <x:b> { ?f ?q ?g }", ""]


def test_a_service_has_a_name() -> None:
    with pytest.raises(QueryError, match="SERVICE can't be a variable"):
        remote("SELECT * { SERVICE ?r { ?u :f ?f } }")


def test_triples_as_text() -> None:
    u, p = Variable("u"), URIRef("x:p")
    assert triples_text([(u, p, Literal(5)), (BNode("z"), p, u)]) == (
        '?u <x:p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> . ?bz <x:p> ?u'
    )


def test_values_are_looked_up_by_the_one_variable_that_is_shared() -> None:
    document = Document("SELECT * { SERVICE <x:r> { ?u ?f ?v } }")
    asked = Remote(URIRef("x:r"), "", frozenset("ufv"))
    assert join_variable(document, asked, {"u", "w"}) == "u"
    assert Far(asked, "u").variables == {"f", "v"}
    with pytest.raises(QueryError, match=r"share no variable"):
        join_variable(document, asked, {"w"})
    with pytest.raises(QueryError, match=r"share 2 variables, \?u and \?v") as caught:
        join_variable(document, asked, {"u", "v"})
    _, shown, caret = caught.value.problem.splitlines()
    assert shown[caret.index("^") :].startswith("?v")
