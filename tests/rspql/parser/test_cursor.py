"""A cursor over tokens, and the IRIs that names stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rdflib.term import URIRef

from topwater.errors import QueryError
from topwater.rspql.parser.cursor import KNOWN, Cursor, Names, shown
from topwater.rspql.parser.tokens import Document


def cursor_over(text: str) -> Cursor:
    document = Document(text)
    return Cursor(document, Names(document))


def refused(call: Callable[[], Any]) -> QueryError:
    with pytest.raises(QueryError) as caught:
        call()
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    ("head", "name", "iri"),
    [
        ("PREFIX : <http://a/>", ":b", "http://a/b"),
        ("PREFIX x: <http://a/>", "x:b.c", "http://a/b.c"),
        ("PREFIX x: <http://a/>", r"x:b\,c", "http://a/b,c"),
        ("prefix x: <http://a/> PREFIX x: <http://b/>", "x:c", "http://b/c"),
        ("BASE <http://a/b/> PREFIX x: <c#>", "x:d", "http://a/b/c#d"),
        ("BASE <http://a/b/>", "<../c>", "http://a/c"),
        ("", "<http://a/b>", "http://a/b"),
        ("", "xsd:int", f"{KNOWN['xsd']}int"),
        ("PREFIX xsd: <http://own/>", "xsd:int", "http://own/int"),
    ],
)
def test_what_a_name_stands_for(head: str, name: str, iri: str) -> None:
    document = Document(f"{head} {name}")
    assert Names(document).iri(document.tokens[-2]) == URIRef(iri)


def test_a_prefix_that_is_declared_nowhere_is_told_with_the_near_one() -> None:
    error = refused(lambda: Names(Document("PREFIX foaf: <http://a/>\n?s foafe:name ?n")))
    assert error.problem.startswith("line 2, column 4: the prefix 'foafe:'")
    assert "write foaf: instead" in error.fix
    assert refused(lambda: Names(Document(":a"))).fix.startswith("declare it: PREFIX : <")


def test_prefixes_are_declared_outside_of_brackets_only() -> None:
    assert refused(lambda: Names(Document("{ PREFIX x: <http://a/> x:b }"))).problem


def test_reading_stays_at_the_end() -> None:
    cursor = cursor_over("a b")
    assert [cursor.take().text for _ in range(4)] == ["a", "b", "", ""]
    assert cursor.ahead(5).kind == "end"


def test_a_keyword_is_skipped_in_any_case_and_a_variable_is_none() -> None:
    cursor = cursor_over("range ?RANGE")
    assert cursor.ahead().text == "?RANGE"
    assert cursor.skip("STEP", "RANGE") == "RANGE"
    assert cursor.skip("RANGE") == ""
    assert cursor.token.text == "?RANGE"


def test_what_has_to_come_comes_or_is_told() -> None:
    assert cursor_over("as").expect("AS", "write AS").text == "as"
    error = refused(lambda: cursor_over("x").expect("]", "close it"))
    assert "expected ] but found 'x'" in error.problem
    assert error.fix == "close it"
    assert "but the text ends" in refused(lambda: cursor_over("").expect("AS", "x")).problem


def test_an_iri_has_to_come() -> None:
    cursor = cursor_over("PREFIX : <http://a/> :b")
    cursor.at = 3
    assert cursor.iri("a name", "x") == URIRef("http://a/b")
    assert (
        "a name can't be a variable"
        in refused(lambda: cursor_over("?a").iri("a name", "x")).problem
    )
    assert "expected a name" in refused(lambda: cursor_over("5").iri("a name", "x")).problem


@pytest.mark.parametrize(
    ("text", "span", "after"),
    [
        ("PT9M STEP", 540_000, "STEP"),
        ("9 min STEP", 540_000, "STEP"),
        ("9min", 540_000, ""),
        ("9 STEP", 9, "STEP"),
    ],
)
def test_a_span_has_to_come_perhaps_with_its_unit_apart(text: str, span: int, after: str) -> None:
    cursor = cursor_over(text)
    assert cursor.duration() == span
    assert cursor.token.text == after


@pytest.mark.parametrize(
    ("text", "told"),
    [("?w", "variable"), ("-5s", "negative"), ("soon", "'soon'"), ("5parsecs", "'parsecs'")],
)
def test_what_is_no_span(text: str, told: str) -> None:
    assert told in refused(lambda: cursor_over(text).duration()).problem


def test_a_whole_number_has_to_come() -> None:
    assert cursor_over("007").whole("SPARE", "x") == 7
    for text in ("2.5", "5s", "1e3", "1" * 16):
        assert "SPARE" in refused(lambda text=text: cursor_over(text).whole("SPARE", "x")).problem  # type: ignore[misc]


@pytest.mark.parametrize(
    ("iri", "written"),
    [
        ("http://a/b", "x:b"),
        ("http://a/b_1", "x:b_1"),
        ("http://a/b/c", "<http://a/b/c>"),
        ("http://a/", "<http://a/>"),
        ("http://other/b", "<http://other/b>"),
    ],
)
def test_an_iri_as_the_query_would_write_it(iri: str, written: str) -> None:
    assert shown(URIRef(iri), {"e": "", "x": "http://a/"}) == written
