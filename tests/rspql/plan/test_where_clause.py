"""The pattern of a query: windows, services, filters, bindings."""

from __future__ import annotations

import pytest
from rdflib.term import Literal, URIRef, Variable

from tests.support.rspql_asked import EX, HEAD
from topwater.errors import QueryError
from topwater.rspql.parser.cursor import Names
from topwater.rspql.parser.streaming_clauses import take_apart
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.condition_kinds import Compare, SameTerm
from topwater.rspql.plan.pattern_variables import variables
from topwater.rspql.plan.plan import Bind, EventPattern, Fixed
from topwater.rspql.plan.service_clause import Remote
from topwater.rspql.plan.solution_modifiers import layers_of
from topwater.rspql.plan.where_clause import Walker, Where
from topwater.rspql.query_text import _algebra
from topwater.scoring.expressions import Name

FROM = "FROM NAMED WINDOW :w ON :s [RANGE 10] FROM NAMED WINDOW :x ON :t [RANGE 10]"
W, X, P = URIRef(f"{EX}w"), URIRef(f"{EX}x"), URIRef(f"{EX}p")
S, V = Variable("s"), Variable("v")


def where(text: str, head: str = FROM) -> Where:
    document = Document(f"{HEAD}SELECT ?s {head} WHERE {{ {text} }} ORDER BY ?v LIMIT 3")
    names = Names(document)
    parts = take_apart(document, names)
    layers = layers_of(document, _algebra(document, names, parts.sparql))
    return Walker(document, names, parts).where(layers.pattern)


def test_triples_of_a_window() -> None:
    found = where("WINDOW :w { ?s :p ?v }")
    assert found == Where([EventPattern(W, ((S, P, V),))])
    assert found.stream_variables() == variables(found.patterns[0]) == {"s", "v"}


def test_alternatives_bind_what_all_of_them_bind() -> None:
    both = "{ WINDOW :w { ?s :p ?v ; :q ?a } } UNION { WINDOW :x { ?s :p ?v } }"
    for text in (both, "WINDOW ?any { ?s :p ?v }"):
        found = where(text)
        assert [each.window for each in found.patterns] == [W, X]
        assert found.stream_variables() == {"s", "v"}
    inside = where("WINDOW :w { { ?s :p ?v } UNION { ?s :q ?v } ?s a :T }")
    assert [len(each.triples) for each in inside.patterns] == [2, 2]


def test_predicates_in_a_row_and_backwards() -> None:
    q = URIRef(f"{EX}q")
    (pattern,) = where("WINDOW :w { ?s :p/^:q ?v }").patterns
    first, second = pattern.triples
    assert (first[0], first[1], second[0], second[1]) == (S, P, V, q)
    assert first[2] == second[2]
    assert str(first[2]).startswith("_:")


def test_one_blank_node_is_one_variable_that_nobody_else_has() -> None:
    (pattern,) = where("WINDOW :w { [] :p ?v . _:a :p ?s ; :q _:a }").patterns
    (one,) = {str(triple[0]) for triple in pattern.triples if triple[2] == V}
    (other,) = {str(triple[0]) for triple in pattern.triples if triple[2] != V}
    assert other in {str(triple[2]) for triple in pattern.triples}
    assert one != other


def test_filters_and_bindings_inside_and_outside_of_a_window() -> None:
    text = "WINDOW :w { ?s :p ?v BIND(?v * 2 AS ?d) FILTER(?d > 1) } FILTER(?v < 9) BIND(?v AS ?n)"
    found = where(text)
    (pattern,) = found.patterns
    assert pattern.binds == (Bind("d", "v * 2"),)
    assert pattern.filters == (Compare("d", ">", "1"), Compare("v", "<", "9"))
    assert found.known == {"n": Name("v")}
    assert variables(pattern) == {"s", "v", "d"}


def test_what_may_be_about_remote_values_is_kept_for_later() -> None:
    found = where("WINDOW :w { ?s :p ?v } SERVICE :r { ?s :f ?f } FILTER(?f > 1)")
    assert found.patterns[0].filters == ()
    assert len(found.filters) == 1
    (remote,) = found.remotes
    assert (remote.name, remote.variables) == (URIRef(f"{EX}r"), frozenset("sf"))
    assert not remote.optional


def test_an_optional_service_and_its_default() -> None:
    found = where(
        "WINDOW :w { ?s :p ?v } OPTIONAL { SERVICE :r { ?s :f ?f } } BIND(COALESCE(?f, 3) AS ?n)"
    )
    assert [each.optional for each in found.remotes] == [True]
    assert found.defaults == {"f": 3.0}


def test_values_of_one_variable() -> None:
    found = where("WINDOW :w { ?s :p ?v } VALUES ?s { :a 5 }")
    assert found.filters == [SameTerm("s", (URIRef(f"{EX}a"), Literal(5)))]


def test_blocks_side_by_side_are_joined() -> None:
    text = "WINDOW :w { ?s :p ?v FILTER(?v > 1) } WINDOW :x { ?s :q ?a } FILTER(?v < ?a)"
    (pattern,) = where(text).patterns
    assert [part.window for part in pattern.blocks] == [W, X]
    assert [len(part.filters) for part in pattern.parts] == [1, 0]
    assert pattern.filters == (Compare("v", "<", "a"),)
    assert variables(pattern) == {"s", "v", "a"}
    three = where("WINDOW :w { ?s :p ?v } WINDOW :x { ?s :q ?a } WINDOW ?w { ?a :r ?b }").patterns
    assert [[part.window for part in each.parts] for each in three] == [[W, X, W], [W, X, X]]


def test_triples_in_no_block_are_those_of_the_stream_that_is_named() -> None:
    head = "FROM STREAM :t [RANGE 10]"
    (found,) = where("?s :p ?v BIND(?v * 2 AS ?w) ?s :q ?a FILTER(?w > 3)", head).patterns
    assert found.window == URIRef(f"{EX}t")
    assert len(found.triples) == 2
    assert found.binds == (Bind("w", "v * 2"),)
    both = where("{ ?s :p ?v } UNION { ?s :q ?v } SERVICE :r { ?s :f ?f }", head)
    assert [len(both.patterns), len(both.remotes)] == [2, 1]
    with pytest.raises(QueryError, match="is unclear"):
        where("?s :p ?v", f"{head} FROM STREAM :u [RANGE 10]")


def test_triples_in_no_block_are_those_of_a_file_too_that_is_named_beside_the_stream() -> None:
    head = "FROM STREAM :t [RANGE 10]"
    (found,) = where("?s :p ?v . ?v :q ?w", f"{head} FROM <x:static> FROM NAMED <x:apart>").patterns
    assert found.beside == (URIRef("x:static"),)
    (alone,) = where("?s :p ?v", f"{head} FROM NAMED <x:apart>").patterns
    assert alone.beside == ()


def test_beside_blocks_triples_are_those_of_the_data_that_are_named() -> None:
    head = "FROM STREAM :t [RANGE 10] FROM <x:static>"
    found = where("WINDOW :t { ?s :p ?v } ?s :q ?a", head)
    assert [len(found.patterns), found.remotes[0].name] == [1, URIRef("x:static")]


def test_the_name_of_a_stream_is_bound_where_it_is_used() -> None:
    head = "FROM NAMED WINDOW :w ON ?t [RANGE 10]"
    t = Variable("t")
    assert where("WINDOW :w { ?s :p ?v }", head).patterns[0].binds == ()
    bound = where("WINDOW :w { ?s :p ?v FILTER(?t != :x) }", head).patterns[0].binds
    assert bound == (Fixed("t", t),)


def test_data_that_are_not_in_the_stream_are_looked_up() -> None:
    head = f"{FROM} FROM :static"
    for text in ("?s :f ?f", "GRAPH :static { ?s :f ?f }"):
        found = where(f"WINDOW :w {{ ?s :p ?v }} {text}", head)
        remote = Remote(URIRef(f"{EX}static"), f"?s <{EX}f> ?f", frozenset("sf"))
        assert found.remotes == [remote]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("WINDOW :w { ?s :p ?v BIND(?v * 2 AS ?n) } WINDOW :x { ?s :q ?n }", "BIND"),
        ("WINDOW :w { }", "WINDOW"),
        ("WINDOW :y { ?s :p ?v }", ":y"),
        ("WINDOW :w { ?s :p ?v } MINUS { ?s :q ?a }", "MINUS"),
        ("WINDOW :w { ?s :p ?v OPTIONAL { ?s :q ?a } }", "OPTIONAL"),
        ("WINDOW :w { ?s :p ?v } OPTIONAL { WINDOW :x { ?s :q ?a } }", "OPTIONAL"),
        ("WINDOW :w { ?s :p ?v } OPTIONAL { SERVICE :r { ?s :f ?f } FILTER(?f > 1) }",
         "OPTIONAL"),
        ("WINDOW :w { GRAPH :g { ?s :p ?v } }", "GRAPH"),
        ("WINDOW :w { ?s :p ?v SERVICE :r { ?s :f ?f } }", "SERVICE"),
        ("{ WINDOW :w { ?s :p ?v } } UNION { SERVICE :r { ?s :f ?f } }", "SERVICE"),
        ("{ WINDOW :w { ?s :p ?v } BIND(1 AS ?n) } UNION { WINDOW :x { ?s :p ?v } }", "BIND"),
        ("WINDOW :w { ?s :p+ ?v }", "+"),
        ("WINDOW :w { ?s :p ?v } ?s :f ?f", ":f"),
        ("WINDOW :w { ?s :p ?v } VALUES (?s ?v) { (:a 5) }", "VALUES"),
        ("WINDOW :w { ?s :p ?v } VALUES ?s { :a UNDEF }", "VALUES"),
        ("WINDOW :w { ?s :p ?v } VALUES ?s { :a :b :a }", "VALUES"),
        ("WINDOW :w { ?s :p ?v } { SELECT ?s { ?s :q ?a } }", "SELECT"),
    ],
)  # fmt: skip
def test_what_can_not_be_read_is_marked(text: str, marked: str) -> None:
    with pytest.raises(QueryError) as caught:
        where(text)
    _, shown, caret = caught.value.problem.splitlines()
    assert shown[caret.index("^") :].startswith(marked)
    assert caught.value.fix
