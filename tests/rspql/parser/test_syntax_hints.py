"""Where a text stops being SPARQL, and what may have been meant."""

from __future__ import annotations

import pytest
from rdflib.plugins.sparql.parser import parseQuery

from topwater.rspql.parser.syntax_hints import blamed, farthest
from topwater.rspql.parser.tokens import Document


@pytest.mark.parametrize(
    ("sparql", "left"),
    [
        ("SELECT * { ?a ?b ?c ?d }", "?d }"),
        ("SELECT * { ?a ?b }", "}"),
        ("SELECT * { ?a ?b ?c } LIMIT ?k", "?k"),
        ("SELECT * { ?a ?b ?c } ORDER BY", ""),
        ("SELEKT * { ?a ?b ?c }", "SELEKT * { ?a ?b ?c }"),
    ],
)
def test_the_farthest_place_is_where_no_alternative_goes_on(sparql: str, left: str) -> None:
    assert sparql[farthest(sparql) :].strip() == left


def test_the_grammar_is_left_as_it_was() -> None:
    farthest("SELECT * { ?a ?b }")
    assert parseQuery("SELECT * { ?a ?b ?c }")
    assert farthest("SELECT * {") == farthest("SELECT * {") == len("SELECT * {")


@pytest.mark.parametrize(
    ("text", "at", "word", "fix"),
    [
        ("SELEKT ?s { ?a ?b ?c }", "SELEKT", "SELEKT", "SELECT"),
        ("SELECT ?s FORM <x>", "<x>", "FORM", "FROM"),
        ("SELECT ?s { } LIMT 3", "LIMT", "LIMT", "LIMIT"),
        ("SELECT ?s { } ORDER BY DESC ?v", "?v", "?v", "DESC(?v)"),
        ("SELECT ?s { } ORDER BY ?v DESC LIMIT 3", "LIMIT", "DESC", "ORDER BY DESC(?v)"),
        ("SELECT ?s { } ORDER BY ?v ASC", "ASC", "ASC", "ORDER BY ASC(?v)"),
        ("SELECT ?s, ?v { }", ",", ",", "leave the comma out"),
        ("SELECT ?s { } GROUP BY ?a, ?b", ",", ",", "leave the comma out"),
        ("SELECT ?s { } LIMIT 3 ORDER BY ?v", "ORDER", "LIMIT", "ORDER BY DESC(?v) LIMIT 10"),
        ("SELECT ?s { } LIMIT ?k", "?k", "?k", "LIMIT 10"),
        ("SELECT ?s 2 * ?v AS ?x { }", "2", "2", "(0.3 * ?a AS ?score)"),
        ("INSERT DATA { }", "INSERT", "INSERT", "SELECT or CONSTRUCT"),
        ("SELECT ?s { } LIMIT 3 SPARE 3", "SPARE", "SPARE", "after WITH"),
        ("SELECT ?s { ?s :v ?v ?w }", "?w", "?w", "SPARQL 1.1"),
        ("SELECT ?s", "", "", "ORDER BY"),
    ],
)
def test_one_word_is_blamed(text: str, at: str, word: str, fix: str) -> None:
    place = text.index(at) if at else len(text)
    token, told = blamed(Document(text).tokens, place)
    assert token.text == word
    assert fix in told


def test_a_word_that_is_near_to_none_is_not_guessed_at() -> None:
    text = "SELECT ?s { xyzzy }"
    token, fix = blamed(Document(text).tokens, text.index("xyzzy"))
    assert token.text == "xyzzy"
    assert "did you mean" not in fix
