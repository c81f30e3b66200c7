"""SPARQL endpoints as sources: the queries they get, the answers they give, what is refused."""

from __future__ import annotations

import json
import logging
import pickle
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.fault_server import USER, FaultServer, serving_faults
from topwater.errors import QueryError, SourceError
from topwater.remote.graph_pattern import tokens
from topwater.remote.replies import Reply
from topwater.remote.sparql_source import SparqlSource
from topwater.remote.wrappers.stack import stack
from topwater.testing import check_source
from topwater_lab import services

if TYPE_CHECKING:
    from collections.abc import Iterator

EX = {"ex": "http://example.org/"}
FOLLOWERS = "?user ex:followers ?followers"
BY_ID = "?someone ex:id ?user ; ex:followers ?followers ."
BY_NAME = "?someone ex:name ?user ; ex:followers ?followers ."
VALUES = {"1": 10.0, "2": 20.0, "3": 30.0}
ATTACKS = [
    '"', "'", "\\", "\\u0022", "\\\\u0022 } #", "\\U00000022", "{", "}", "a\nb", "a\r\nb", ">", "<",
    "> } UNION {", "} UNION {", '" } UNION { ?user ?p ?o } #', '"""', "'; DROP TABLE", "?user",
    "$user", "#", "\u202e\u200b\x00\x7f\x85", "é", "%00", "%zz", "^^", "@en", "\ud800", "",
    "x" * 2**20, "\x00", "\ufeff", "\uffff", "\U0010ffff",
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving_faults(VALUES) as server:
        yield server


@pytest.fixture(autouse=True)
def healthy(server: FaultServer) -> None:
    server.misbehave("")
    server.received.clear()


NAMES: dict[str, Any] = {"key": "user", "value": "followers"}


@pytest.fixture(scope="module")
def service() -> Iterator[services.Service]:
    with services.started(users=250, seed=3, speed=0.0) as service:
        yield service


def source_of(endpoint: str, pattern: str = FOLLOWERS, **more: Any) -> SparqlSource:
    if more.get("key_as") != "literal":
        more = {"namespace": USER, **more}
    return SparqlSource(endpoint, pattern, **{**NAMES, "prefixes": EX, **more})


def keys_of(*keys: str) -> Any:
    return np.array(keys, object)


WAYS: dict[str, dict[str, Any]] = {
    "POST": {},
    "GET": {"method": "GET"},
    "small blocks": {"per_request": 7},
    "one by one": {"one_by_one": True},
    "one by one, GET": {"one_by_one": True, "method": "GET"},
    "integers": {"pattern": BY_ID, "key_as": "literal"},
    "integers, one by one": {"pattern": BY_ID, "key_as": "literal", "one_by_one": True},
    "a datatype": {"pattern": BY_ID, "key_as": "literal", "datatype": "xsd:integer"},
}


@pytest.mark.parametrize("way", WAYS)
def test_the_contract(service: services.Service, way: str) -> None:
    def make() -> Any:
        return stack(source_of(service.sparql, **WAYS[way]), at_once=8)

    check_source(make, np.arange(1_000, 1_020), np.array([1, 2]))


def test_the_same_values_as_by_http(service: services.Service) -> None:
    from topwater.remote.http_source import HttpSource

    keys = np.arange(1_000, 1_100)
    api = HttpSource(service.followers, value="users[*].followers", key="users[*].id")
    assert np.array_equal(
        api.fetch(keys, 10.0).values, source_of(service.sparql).fetch(keys, 10.0).values
    )


def test_names_with_a_language(service: services.Service) -> None:
    found = {}
    for lang in ("en", "fr"):
        source = source_of(service.sparql, BY_NAME, key_as="literal", lang=lang)
        found[lang] = source.fetch(keys_of("user 1000", "user 1", "x"), 10.0)
        assert found[lang].ok.all()
    assert np.isfinite(found["en"].values).tolist() == [True, False, False]
    assert not np.isfinite(found["fr"].values).any()


def test_blocks_are_as_large_as_configured(server: FaultServer) -> None:
    stack(source_of(f"{server.url}/sparql", per_request=2), at_once=1).fetch(
        keys_of("1", "2", "3"), 5.0
    )
    assert [request.keys for request in server.received] == [["1", "2"], ["3"]]
    assert "VALUES ?user {" in server.received[0].query


def test_an_endpoint_of_sparql_1_0_gets_no_values_block(server: FaultServer) -> None:
    source = source_of(f"{server.url}/sparql", f"{FOLLOWERS} # ?user\n", one_by_one=True)
    assert source.most == 1
    assert source.fetch(keys_of("2"), 5.0).values.tolist() == [20.0]
    query = server.received[0].query
    assert "VALUES" not in query
    assert f"<{USER}2> ex:followers ?followers" in query
    assert "?user" not in query


def test_how_it_is_sent(server: FaultServer) -> None:
    for method, kind in (("POST", "application/x-www-form-urlencoded"), ("GET", None)):
        url = f"{server.url}/sparql?default-graph-uri=http%3A%2F%2Fg"
        source_of(url, method=method).fetch(keys_of("1"), 5.0)
        request = server.received.pop()
        assert request.method == method
        assert request.target.startswith("/sparql?default-graph-uri=http%3A%2F%2Fg")
        assert request.headers.get("content-type") == kind
        assert request.headers["accept"] == "application/sparql-results+json"
        assert request.keys == ["1"]


def test_two_values_for_one_key_are_reported(service: services.Service) -> None:
    pattern = "?user ex:followers ?f . VALUES ?d { 0 1 } BIND(?f + ?d AS ?followers)"
    keys = np.array([1_000, 1, 1_001])
    for way in ({}, {"one_by_one": True}):
        got = stack(source_of(service.sparql, pattern, **way)).fetch(keys, 10.0)
        assert got.ok.tolist() == [False, True, False]
        assert got.problems() == {"doubled": 2}


def test_the_same_value_twice_is_one_value(service: services.Service) -> None:
    pattern = "?user ex:followers ?f . VALUES ?d { 0 0.0 } BIND(?f + ?d AS ?followers)"
    got = source_of(service.sparql, pattern).fetch(np.array([1_000]), 10.0)
    assert got.ok.all()
    assert np.isfinite(got.values).all()


def test_values_that_are_no_numbers(service: services.Service) -> None:
    for pattern in (
        "?user ex:name ?followers",
        "?user ex:id ?f . BIND(ex:thing AS ?followers)",
        "?user ex:id ?f . OPTIONAL { ?user ex:nothing ?followers }",
    ):
        got = source_of(service.sparql, pattern).fetch(np.array([1_000]), 10.0)
        assert got.ok.tolist() == [True], pattern
        assert np.isnan(got.values).all()


def test_truth_values_are_one_and_zero(service: services.Service) -> None:
    pattern = "?user ex:id ?f . BIND(?f < 1001 AS ?followers)"
    got = source_of(service.sparql, pattern).fetch(np.array([1_000, 1_001]), 10.0)
    assert got.values.tolist() == [1.0, 0.0]
    text = "?user ex:id ?f . BIND('true' AS ?followers)"
    assert np.isnan(source_of(service.sparql, text).fetch(np.array([1_000]), 10.0).values[0])


@pytest.mark.parametrize(
    "document",
    [
        b"", b"{", b"[]", b"7", b"{}", b'{"results": 7}', b'{"results": {"bindings": 7}}',
        b'{"results": {"bindings": [7]}}', b'{"results": {"bindings": [{"followers": {}}]}}',
        b'{"results": {"bindings": [{"user": 7}]}}', b'{"boolean": true}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_an_answer_that_can_not_be_read(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, document: bytes
) -> None:
    monkeypatch.setattr(server, "_body", lambda _: document)
    got = source_of(f"{server.url}/sparql").fetch(keys_of("1", "2"), 5.0)
    assert got.problems() == {"garbled": 2}


def test_keys_of_another_kind_are_others(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {
            "user": {"type": kind, "value": USER + key},
            "followers": {"type": "literal", "value": "7"},
        }
        for kind, key in (("literal", "1"), ("uri", "2"), ("bnode", "3"))
    ]
    body = json.dumps({"results": {"bindings": rows}}).encode()
    monkeypatch.setattr(server, "_body", lambda _: body)
    got = source_of(f"{server.url}/sparql").fetch(keys_of("1", "2", "3"), 5.0)
    assert got.ok.all()
    assert np.isfinite(got.values).tolist() == [False, True, False]


def test_a_query_that_the_endpoint_refuses(service: services.Service) -> None:
    got = source_of(service.sparql, f"{FOLLOWERS} FILTER NOSUCH(?user)").fetch(np.array([1]), 5.0)
    assert got.problems() == {"client": 1}


class Book:
    """A store in which each text is the name of one thing; and one thing that nobody asks for."""

    def __init__(self, *terms: ox.NamedNode | ox.Literal) -> None:
        self.store = ox.Store()
        things = [ox.Literal("sentinel"), *terms]
        name, value = ox.NamedNode("http://example.org/name"), ox.NamedNode("http://example.org/n")
        for number, term in enumerate(things):
            thing = ox.NamedNode(f"http://example.org/thing/{number}")
            self.store.add(ox.Quad(thing, name, term))
            self.store.add(ox.Quad(thing, value, ox.Literal(number)))

    def values(self, query: str) -> list[int]:
        found: Any = self.store.query(query)
        return sorted(int(row["followers"].value) for row in found)


def named(**more: Any) -> SparqlSource:
    pattern = "?thing ex:name ?user ; ex:n ?followers"
    return SparqlSource("http://127.0.0.1:9/", pattern, prefixes=EX, **NAMES, **more)


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=30) | st.text(alphabet="\\uU0x2\"'{}\n", max_size=12))
@example(text="\\u0022")
@example(text="\\\x1f")
@example(text='\\\\u0022 } UNION { ?thing ex:n ?followers } #"')
def test_any_text_is_found_as_a_literal_and_nothing_else_is(text: str) -> None:
    book = Book(ox.Literal(text))
    for way in ({}, {"one_by_one": True}):
        assert book.values(named(key_as="literal", **way).query([text])) == [1]
    # Some endpoints resolve \uXXXX in the whole query before they read it.
    assert book.values(_resolved(named(key_as="literal").query([text]))) == [1]


def _resolved(query: str) -> str:
    import re

    pattern = r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})"
    return re.sub(pattern, lambda found: chr(int(found[1] or found[2], 16)), query)


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=20) | st.from_regex(r"http://[a-z]{1,3}(:[0-9]*)?/\S*"))
@example(text="http://a/b#c#d")
@example(text="http://a:b/")
@example(text="http://[::1]/")
@example(text="a:\u202e")
def test_what_is_taken_for_an_iri_is_one(text: str) -> None:
    for namespace in ("", USER):
        source = named(namespace=namespace)
        terms = source._terms([text])
        if not terms:
            continue
        term = ox.NamedNode(namespace + text)
        assert Book(term).values(source.query([text])) == [1]


@pytest.mark.parametrize(
    "more", [{}, {"one_by_one": True}, {"pattern": BY_NAME, "key_as": "literal"}]
)
def test_attacks_against_the_real_endpoint(service: services.Service, more: dict[str, Any]) -> None:
    """None is found, the good keys beside them are, and every query is the one that was meant."""
    good = keys_of("1000", "1001") if "pattern" not in more else keys_of("user 1000", "user 1001")
    if "pattern" in more:
        more = {**more, "lang": "en"}
    source = stack(source_of(service.sparql, **more), at_once=1)
    before = len(service.log())
    got = source.fetch(np.concatenate([good, keys_of(*ATTACKS)]), 20.0)
    assert got.ok.all(), got.problems()
    assert np.isfinite(got.values).tolist() == [True, True] + [False] * len(ATTACKS)
    for entry in service.log()[before:]:
        kinds = [kind for kind, _ in tokens(entry["query"]) if kind == "brace"]
        assert len(kinds) == (2 if "one_by_one" in more else 4)
        assert "\x00" not in entry["query"]


def test_a_key_that_is_no_iri_is_not_sent(server: FaultServer) -> None:
    source = source_of(f"{server.url}/sparql")
    got = source.fetch(keys_of("> } UNION {", "a b", ""), 5.0)
    assert got.ok.all()
    assert np.isnan(got.values).all()
    assert not server.received
    assert source_of(f"{server.url}/sparql", namespace="").fetch(keys_of("1"), 5.0).ok.all()
    assert not server.received, "a relative IRI means something else at each endpoint"


SECRET = "hunter2-s3cret"  # noqa: S105


def test_secrets_are_sent_and_told_to_nobody_else(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOPWATER_TEST_TOKEN", SECRET)
    caplog.set_level(logging.DEBUG)
    host = server.url.removeprefix("http://")
    for source in (
        source_of(f"{server.url}/sparql", headers={"X-Key": "${TOPWATER_TEST_TOKEN}"}),
        source_of(f"{server.url}/sparql?key=${{TOPWATER_TEST_TOKEN}}"),
        source_of(f"http://me:${{TOPWATER_TEST_TOKEN}}@{host}/sparql"),
    ):
        assert source.fetch(keys_of("1"), 5.0).values.tolist() == [10.0]
        told = server.received.pop()
        basic = "Basic bWU6aHVudGVyMi1zM2NyZXQ="
        assert SECRET in told.target + str(told.headers) or basic in told.headers.values()
        shown = repr(source) + str(source) + repr(stack(source)) + repr(vars(source)) + caplog.text
        assert SECRET not in shown
        assert SECRET.encode() not in pickle.dumps(source)
    monkeypatch.delenv("TOPWATER_TEST_TOKEN")
    assert source.fetch(keys_of("1"), 5.0).problems() == {"client": 1}
    with pytest.raises(SourceError, match="variable TOPWATER_TEST_TOKEN is not set"):
        source.check()


def test_an_endpoint_is_checked_at_the_start(
    server: FaultServer, service: services.Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    source_of(service.sparql).check()
    source_of(service.sparql, method="GET").check()
    for endpoint, field in (
        (f"{service.url}/stats", "endpoint"),
        (f"{service.url}/nothing", "endpoint"),
        ("http://nowhere.invalid/sparql", "endpoint"),
    ):
        with pytest.raises(SourceError) as caught:
            source_of(endpoint).check()
        assert caught.value.field == field
        assert caught.value.fix
    monkeypatch.setattr(server, "_body", lambda _: json.dumps([1]).encode())
    with pytest.raises(SourceError, match="answers no SPARQL query"):
        source_of(f"{server.url}/sparql").check()


@pytest.mark.parametrize(
    ("settings", "field", "told"),
    [
        ({"pattern": "?a ex:followers ?followers"}, "pattern", "does not contain ?user"),
        ({"pattern": "?user ex:followers ?n"}, "pattern", "does not contain ?followers"),
        ({"pattern": '?a ex:p "?user" # ?user\n . <?user> ex:p ?followers'}, "pattern", "?user"),
        ({"pattern": "?users ex:followers ?followers"}, "pattern", "does not contain ?user"),
        ({"pattern": f"{FOLLOWERS} }} UNION {{ ?user ?p ?o"}, "pattern", "without its partner"),
        ({"pattern": f"{{ {FOLLOWERS}"}, "pattern", "{ without its partner"),
        ({"pattern": f'{FOLLOWERS} FILTER(?x = "a)'}, "pattern", "quote that does not end"),
        ({"pattern": 7}, "pattern", "not text"),
        ({"key": "a b"}, "key", "not the name"),
        ({"value": "??followers"}, "value", "not the name"),
        ({"endpoint": "ftp://data.example/"}, "endpoint", "scheme"),
        ({"endpoint": "data.example/sparql"}, "endpoint", "scheme"),
        ({"per_request": 0}, "per_request", "from 1 to 10000"),
        ({"per_request": 2, "one_by_one": True}, "per_request", "from 1 to 1"),
        ({"method": "PUT"}, "method", "unknown"),
        ({"key_as": "blank"}, "key_as", "unknown"),
        ({"namespace": "no namespace"}, "namespace", "can't stand before keys"),
        ({"namespace": USER, "key_as": "literal"}, "namespace", "can't stand before keys"),
        ({"lang": "e n", "key_as": "literal"}, "lang", "not a language tag"),
        ({"datatype": "no:such", "key_as": "literal", "lang": "en"}, "datatype", "together"),
        ({"datatype": "integer", "key_as": "literal"}, "datatype", "not a datatype"),
        ({"prefixes": {"e x": "http://a/"}}, "prefixes", "not a prefix"),
        ({"prefixes": {"ex": "a> <b"}}, "prefixes.ex", "not an IRI"),
        ({"timeout": -1}, "timeout", "above 0"),
        ({"namespce": USER}, "namespce", "no such setting"),
        ({"verify": None}, "verify", "not a file"),
    ],
)
def test_settings_that_can_not_work(settings: dict[str, Any], field: str, told: str) -> None:
    plain = {"endpoint": "https://data.example/sparql", "pattern": FOLLOWERS, "prefixes": EX}
    with pytest.raises(QueryError) as caught:
        SparqlSource(**{**plain, **NAMES, **settings})
    assert caught.value.field == field
    assert told in caught.value.problem
    assert caught.value.fix


NUMBER = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("value", "datatype", "loose", "strict"),
    [
        ("12", None, 12.0, None),
        ("12", "string", 12.0, None),
        ("true", "boolean", 1.0, None),
        ("12", "integer", 12.0, 12.0),
        ("12.5", "integer", 12.5, None),
        ("+.5", "decimal", 0.5, 0.5),
        ("1e3", "decimal", 1000.0, None),
        ("1e3", "double", 1000.0, 1000.0),
        ("INF", "double", None, None),
        ("12", "token", 12.0, None),
    ],
)
def test_only_literals_of_numbers_are_numbers_where_that_is_asked(
    value: str, datatype: str | None, loose: float | None, strict: float | None
) -> None:
    term = {"type": "literal", "value": value}
    term |= {} if datatype is None else {"datatype": NUMBER + datatype}
    rows = [{"user": {"type": "uri", "value": "x:a"}, "followers": term}]
    for typed, wanted in ((False, loose), (True, strict)):
        source = SparqlSource("http://h/", FOLLOWERS, prefixes=EX, typed=typed, **NAMES)
        found = source._matches(rows, {"x:a": "<x:a>"}).matches().values["x:a"]
        assert found == pytest.approx(np.nan if wanted is None else wanted, nan_ok=True)


@pytest.mark.parametrize(
    ("pick", "wanted"),
    [("max", 6.0), ("min", 2.0), ("mean", 10 / 3), ("sample", 2.0), (None, None)],
)
def test_which_of_several_values_counts(pick: Any, wanted: float | None) -> None:
    names = NAMES | {"value": f"{pick}(followers)" if pick else "followers"}
    source = SparqlSource("http://h/", FOLLOWERS, prefixes=EX, typed=True, **names)
    rows = [
        {
            "user": {"type": "uri", "value": "x:a"},
            "followers": {"type": "literal", "value": value, "datatype": f"{NUMBER}integer"},
        }
        for value in ("2", "6", "2")
    ]
    found = source._matches(rows, {"x:a": "<x:a>"}).fetched(["x:a"], 0.0)
    assert found.ok.tolist() == [wanted is not None]
    assert found.values.tolist() == pytest.approx([wanted or np.nan], nan_ok=True)
    assert ("DISTINCT" in source.query(["x:a"])) == (pick != "mean")


def test_an_unknown_aggregate_is_refused() -> None:
    with pytest.raises(QueryError, match=r"value: best\(\)"):
        SparqlSource("http://h/", FOLLOWERS, prefixes=EX, **NAMES | {"value": "best(followers)"})


def test_a_check_with_a_key_tells_what_came(service: services.Service) -> None:
    found = source_of(service.sparql).check(1_000)
    assert found is not None
    assert (found.key, found.where) == (1_000, "?followers")
    assert found.value > 0
    assert "http://example.org/user/1000" in found.reply


@pytest.mark.parametrize(
    ("key", "settings", "problem", "fix"),
    [
        (1_000, {"pattern": "?user ex:folowers ?followers"}, "pattern, for <", "ex.*followers>"),
        (1, {}, "key not found in the pattern, for <http://example.org/user/1>", "knows nothing"),
        (1_000, {"namespace": ""}, "which is not an IRI", "namespace="),
        ("x y", {}, "which is not an IRI", "namespace="),
        (1_000, {"pattern": "?user ex:name ?followers"}, "not a number in {", "settings|knows"),
    ],
)
def test_a_check_fails_where_no_number_comes(
    service: services.Service, key: Any, settings: dict[str, Any], problem: str, fix: str
) -> None:
    with pytest.raises(SourceError) as caught:
        source_of(service.sparql, **settings).check(key)
    assert problem in caught.value.problem
    assert re.search(fix, caught.value.fix), caught.value.fix


def test_two_values_for_a_key_fail_the_check(server: FaultServer) -> None:
    server.misbehave("doubled")
    source = source_of(f"{server.url}/sparql")
    with pytest.raises(SourceError, match="two values for one key"):
        source._look("1")


@pytest.mark.parametrize("nested", ["ASK", "DISTINCT ?p"])
def test_a_reply_nested_without_end_is_told_as_any_other(
    nested: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of("http://data.example/sparql")

    def request(ask: Any, *_: Any) -> Reply:
        query = unquote_plus(ask.body.decode())
        told = b'{"boolean": true}' if "ASK" in query else b'{"results": {"bindings": []}}'
        return Reply(None, 200, {}, b"[" * 100_000 if nested in query else told)

    monkeypatch.setattr(source._requester, "request", request)
    with pytest.raises(SourceError, match=r"no SPARQL query|key not found"):
        source.check(1_000)
