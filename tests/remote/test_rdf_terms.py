"""RDF terms as a query has them: one term, or none."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from tests.support.fault_server import USER
from topwater.errors import QueryError
from topwater.remote.graph_pattern import tokens
from topwater.remote.rdf_terms import (
    XSD,
    checked_datatype,
    checked_namespace,
    checked_prefixes,
    iri,
    literal,
    require_lang,
)

ATTACKS = [
    '"', "'", "\\", "\\u0022", "\\\\u0022 } #", "\\U00000022", "{", "}", "a\nb", "a\r\nb", ">", "<",
    "> } UNION {", '" } UNION { ?user ?p ?o } #', '"""', "?user", "#", "\u202e\u200b\x00\x7f\x85",
    "é", "%00", "%zz", "^^", "@en", "\ud800", "", "\x00", "\ufeff", "\uffff", "\U0010ffff",
]  # fmt: skip


def test_most_iris_are_taken_for_one() -> None:
    for text in (
        "http://example.org/user/7", "https://me@example.org:8080/a/b;c=d?e=f&g#h", "urn:isbn:123",
        "mailto:a@b.example", "http://example.org/é/日本", "tag:example.org,2026:x", "http://a/%20b",
        "http://example.org/(x)'!*", "http://example.org",
    ):  # fmt: skip
        assert iri(text) == f"<{text}>"
        assert ox.NamedNode(text).value == text


@pytest.mark.parametrize("key", ATTACKS, ids=lambda key: repr(key)[:20])
def test_attacks_are_terms_or_nothing(key: str) -> None:
    """A key can't be seen as anything but one term."""
    for term in (iri(key), iri(USER + key), literal(key), literal(key, lang="en")):
        if term is not None:
            kinds = [kind for kind, _ in tokens(term.removesuffix("@en"))]
            assert kinds in (["iri"], ["string"])


@pytest.mark.parametrize(
    "text",
    ["", "7", "user/7", "//a/b", "http://a b", "http://a/<", "http://a/%2", "http://a:b/",
     "http://a/b#c#d", "http://[::1]/", "a:\ufdd0", "a:\ud800"],
)  # fmt: skip
def test_what_is_no_iri(text: str) -> None:
    assert iri(text) is None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", '""'),
        ("é\t\\", '"é\\t\\\\"'),
        ("\\u0022", '"\\\\\\u00750022"'),
        ("\x00\u202e", '"\\u0000\\u202E"'),
        ("'", '"\'"'),
    ],
)
def test_a_text_is_written_so_that_it_can_only_be_itself(text: str, written: str) -> None:
    assert literal(text) == written
    assert literal(text, datatype=f"<{XSD}date>") == f"{written}^^<{XSD}date>"
    assert literal(text, lang="en-GB") == f"{written}@en-GB"


def test_half_a_character_can_not_be_sent() -> None:
    assert literal("a\ud83d") is None


@pytest.mark.parametrize(
    ("given", "term"),
    [
        (None, None),
        ("xsd:integer", f"<{XSD}integer>"),
        ("ex:celsius", "<http://example.org/celsius>"),
        ("urn:x:y", "<urn:x:y>"),
    ],
)
def test_a_datatype_is_an_iri_or_a_short_name(given: str | None, term: str | None) -> None:
    assert checked_datatype(given, {"ex": "http://example.org/"}, None) == term


def test_prefixes_are_taken_over() -> None:
    given = {"": "http://a/", "a.b-c": "http://b/"}
    assert checked_prefixes(given) == given
    assert checked_prefixes(None) == {}


def test_what_can_not_be_used_is_told_by_its_setting() -> None:
    for check, field in (
        (lambda: checked_datatype("integer", {}, None), "datatype"),
        (lambda: checked_datatype("xsd:a b", {}, None), "datatype"),
        (lambda: checked_datatype("xsd:integer", {}, "en"), "datatype"),
        (lambda: checked_prefixes({"a b": "http://a/"}), "prefixes"),
        (lambda: checked_prefixes({"ex": "a> <b"}), "prefixes.ex"),
        (lambda: checked_namespace("user/", "iri"), "namespace"),
        (lambda: checked_namespace(USER, "literal"), "namespace"),
        (lambda: require_lang("e n"), "lang"),
        (lambda: require_lang(""), "lang"),
    ):
        with pytest.raises(QueryError) as caught:
            check()
        assert caught.value.field == field
        assert caught.value.fix


def test_what_can_be_used() -> None:
    require_lang(None)
    require_lang("de-CH-1996")
    assert checked_namespace(USER, "iri") == USER
    assert checked_namespace("", "literal") == ""
