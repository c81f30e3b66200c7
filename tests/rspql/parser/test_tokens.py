"""Tokens, their places, and the limits on what is read at all."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.rspql import parse
from topwater.rspql.parser.tokens import MAX_LENGTH, MAX_NESTING, MAX_TOKENS, Document


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in Document(text).tokens[:-1]]


def test_keywords_in_strings_iris_and_comments_are_none() -> None:
    found = kinds("<http://WINDOW#x> \"WINDOW {\" '''\n WINDOW \"''' # WINDOW {\n ?WINDOW")
    assert [kind for kind, _ in found] == ["iri", "string", "string", "variable"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("foaf:name", "name"),
        (":", "name"),
        ("a.b:c.d", "name"),
        (":with\\,comma", "name"),
        ("?x", "variable"),
        ("$x", "variable"),
        ("_:b0", "blank"),
        ("PT0.5S", "duration"),
        ("p1dt2h", "duration"),
        ("100ms", "duration"),
        ("1.5e3", "exponent"),
        ("12", "number"),
        ("été", "word"),
        ("PREFIX", "word"),
    ],
)
def test_one_token(text: str, kind: str) -> None:
    assert kinds(text) == [(kind, text)]


def test_a_full_stop_ends_a_name() -> None:
    assert kinds("?a :b :c.")[-2:] == [("name", ":c"), ("symbol", ".")]


def test_less_than_is_no_iri() -> None:
    assert ("symbol", "<") in kinds("?a < 3 && ?b > 4")


def test_places_count_lines_and_columns_from_one() -> None:
    document = Document("a\nbc\n  d")
    assert [document.place(token.start) for token in document.tokens[:3]] == [
        (1, 1),
        (2, 1),
        (3, 3),
    ]


def test_long_lines_are_cut_around_the_place() -> None:
    with pytest.raises(QueryError) as caught:
        Document("x " * 200 + ")")
    message = str(caught.value).splitlines()
    assert "line 1, column 401" in message[0]
    assert message[1][message[2].index("^")] == ")"
    assert max(map(len, message)) < 120


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x" * (MAX_LENGTH + 1), "characters"),
        ("x " * (MAX_TOKENS + 1), "words and signs"),
        ("(" * (MAX_NESTING + 1) + ")" * (MAX_NESTING + 1), "nest deeper"),
        ("{ (", "'(' is never closed"),
        ("{ ( }", "'}' has no partner"),
        (")", "')' has no partner"),
        ('a "b', "quote does not end"),
        ("\\U00110000", "stands for no character"),
        ("\\uD800", "stands for no character"),
    ],
)
def test_what_is_not_read(text: str, told: str) -> None:
    with pytest.raises(QueryError, match=re.escape(told)):
        Document(text)


@pytest.mark.parametrize("given_", [None, 5, b"SELECT"])
def test_a_query_is_text(given_: object) -> None:
    with pytest.raises(QueryError, match="a query is text"):
        parse(given_)  # type: ignore[arg-type]


@given(st.text(max_size=60))
def test_any_text_gives_tokens_or_a_query_error(text: str) -> None:
    try:
        document = Document(text)
    except QueryError:
        return
    for token in document.tokens:
        assert document.text[token.start : token.end] == token.text
