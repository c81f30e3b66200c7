"""Graph patterns: their pieces, their variables, and terms in the place of variables."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.remote.graph_pattern import (
    checked_pattern,
    require_balanced,
    require_name,
    substituted,
    tokens,
    variables,
)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("?a $b ?c", {"a", "b", "c"}),
        ('?a <http://x/?b> \'?c\' . """?d " ?e""" # ?f\n ?g', {"a", "g"}),
        (r'"\"?a" ?b', {"b"}),
        ("ex:a?b ?c", {"c", "b"}),
        ("?a <p>?/<q> ?b", {"a", "b"}),
        ("FILTER(?a<?b && ?c> ?d)", {"a", "b", "c", "d"}),
        ("ex:a#b ?c", set()),
    ],
)
def test_the_variables_of_a_pattern(pattern: str, found: set[str]) -> None:
    assert variables(pattern) == found
    assert "".join(text for _, text in tokens(pattern)) == pattern


@pytest.mark.parametrize(
    "pattern",
    ["{ ?a (?b) [ ?c ] }", "'(' ?a", '"""{""" ?a', "?a # {\n", r'"\"{" ?a', "?a <x{> ?b }"],
)
def test_brackets_in_texts_and_comments_need_no_partner(pattern: str) -> None:
    """Those in ``<x{>`` do: it is not an IRI."""
    require_balanced(pattern)


@pytest.mark.parametrize(
    ("pattern", "bracket"),
    [("{ ?a", "{"), ("?a }", "}"), ("{ ( ?a } )", "}"), ("[ ?a )", ")"), ("( ( ?a )", "(")],
)
def test_a_bracket_without_its_partner_is_told(pattern: str, bracket: str) -> None:
    with pytest.raises(QueryError) as caught:
        require_balanced(pattern)
    assert caught.value.field == "pattern"
    assert f" {bracket} " in caught.value.problem


@pytest.mark.parametrize("pattern", ['?a "b', "?a 'b\n'", '"""a"" ?b'])
def test_a_quote_that_does_not_end_is_told(pattern: str) -> None:
    with pytest.raises(QueryError, match="quote") as caught:
        require_balanced(pattern)
    assert caught.value.field == "pattern"


def test_a_term_takes_all_places_of_its_variable_and_no_others() -> None:
    pattern = "?a <p?a> $a . ?ab ex:q '?a' # ?a\n; ex:r ?a"
    assert substituted(pattern, "a", "<x>") == "<x> <p?a> <x> . ?ab ex:q '?a' \n\n; ex:r <x>"


def test_a_pattern_has_both_its_variables() -> None:
    assert checked_pattern("  ?user ex:n ?n\n", "user", "n") == "?user ex:n ?n"
    for pattern, told in (("?a ex:n ?n", "?user"), ("?user ex:n '?n'", "?n")):
        with pytest.raises(QueryError) as caught:
            checked_pattern(pattern, "user", "n")
        assert caught.value.field == "pattern"
        assert told in caught.value.problem


@pytest.mark.parametrize("name", ["a", "_1", "aB9"])
def test_names_of_variables(name: str) -> None:
    assert require_name(name, "key") == name


@pytest.mark.parametrize("name", ["", "?a", "1a", "a-b", "é", "a b", 7, None])
def test_what_is_no_name_of_a_variable(name: object) -> None:
    with pytest.raises(QueryError) as caught:
        require_name(name, "key")
    assert caught.value.field == "key"
