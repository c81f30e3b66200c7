"""What a query asks: streams and services by the names under which they were registered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rdflib.term import URIRef

from tests.support.rspql_asked import EX, HEAD, answered, asked
from topwater.errors import QueryError, SourceError
from topwater.local import rspql
from topwater.model import Fetched, KeyArray
from topwater.remote.memory import MemorySource
from topwater.remote.sparql_source import SparqlSource
from topwater.rspql import Plan, parse
from topwater.rspql.plan.plan import TIME
from topwater.rspql.rdf.keyed_source import KeySource
from topwater.rspql.registration import (
    TermSource,
    plan_of,
    service_kind,
    source_for,
    source_of,
    streams_of,
)
from topwater.rspql.registration import asked as sent

WHERE = "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }"
REST = "ORDER BY DESC(?v + ?f) LIMIT 2"
ENDPOINT = "http://127.0.0.1:9/sparql"


@pytest.fixture
def plan() -> Plan:
    return asked("?s", WHERE, REST)


def test_variables_of_a_service_may_have_any_name_that_sparql_has() -> None:
    where = "WINDOW :w { ?été :v ?v } SERVICE :r { ?été :f ?1 . ?1 :of ?v1 }"
    plan = asked("?été", where, "ORDER BY DESC(?v + ?1) LIMIT 2")
    assert plan.service is not None
    told = sent(plan.service)
    source = SparqlSource(
        "http://data.example/sparql", told["pattern"], key=told["key"], value=told["value"]
    )
    assert source.query(["x:a"]).splitlines()[1:3] == [
        "VALUES ?v3 { <x:a> }",
        "?v3 <http://example.org/f> ?v2 . ?v2 <http://example.org/of> ?v1",
    ]
    (answer,) = answered(plan, {"été": ["a"], TIME: [1], "v": [4.0]}, {"a": 5.0})
    assert answer.scores == [9.0]


@pytest.mark.parametrize("name", [":r", f"{EX}r", f"<{EX}r>"])
def test_a_service_by_any_of_its_names(plan: Plan, name: str) -> None:
    known = MemorySource({"x:a": 1.0})
    read, services = plan_of(plan.text, {name: known}, ())
    assert read == plan
    assert source_of(read, services) is known


def test_a_service_that_nobody_registered_is_not_asked(plan: Plan) -> None:
    with pytest.raises(QueryError, match=r"the service :r is not registered"):
        plan_of(plan.text, {":other": ENDPOINT}, ())
    with pytest.raises(QueryError, match=r"the service :r is not registered"):
        source_of(plan, {})


def test_addresses_may_be_allowed_as_they_are() -> None:
    text = HEAD + "SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 10] WHERE {{ {} }} {}"  # noqa: S608
    where = WHERE.replace("SERVICE :r", f"SERVICE <{ENDPOINT}>")
    read, services = plan_of(text.format(where, REST), None, [f"<{ENDPOINT}>"])
    assert services == {f"<{ENDPOINT}>": ENDPOINT}
    assert isinstance(source_of(read, services), TermSource)


@pytest.mark.parametrize(("given", "allow"), [([":r"], ()), (None, ENDPOINT)])
def test_services_are_given_by_name(plan: Plan, given: Any, allow: Any) -> None:
    with pytest.raises(QueryError) as caught:
        plan_of(plan.text, given, allow)
    assert caught.value.field == "services"


def test_without_a_service_nothing_is_asked() -> None:
    assert source_of(asked("?s", "WINDOW :w { ?s :v ?v }", "ORDER BY ?v LIMIT 1"), {}) is None


@pytest.mark.parametrize(
    ("registered", "shown"),
    [
        (ENDPOINT, "TermSource"),
        ({"url": ENDPOINT, "timeout": 3.0}, "TermSource"),
        ({"kind": "sparql", "url": f"sparql+{ENDPOINT}"}, "TermSource"),
        ({"kind": "memory", "values": {"7": 1.5}, "namespace": ":u/"}, "KeySource"),
    ],
)
def test_what_may_be_registered(plan: Plan, registered: Any, shown: str) -> None:
    assert plan.service is not None
    source = source_for(plan.service, registered, plan.prefixes)
    assert repr(source).startswith(f"{shown}(")
    if isinstance(source, KeySource):
        key = np.array([f"{EX}u/7"], object)
        assert source.fetch(key).values.tolist() == [1.5], "a namespace may have a prefix"


def test_what_can_not_be_asked(plan: Plan) -> None:
    assert plan.service is not None
    with pytest.raises(QueryError, match="int"):
        source_for(plan.service, 7)  # type: ignore[arg-type]


def test_streams_by_any_of_their_names(plan: Plan) -> None:
    for name in (":s", f"{EX}s", f"<{EX}s>"):
        assert streams_of(plan, {name: "events", ":other": 1}) == {URIRef(f"{EX}s"): "events"}
    with pytest.raises(QueryError, match="is not registered") as caught:
        streams_of(plan, {":t": 1})
    assert f"{EX}t" in caught.value.fix
    with pytest.raises(QueryError) as wrong:
        streams_of(plan, ["events"])  # type: ignore[arg-type]
    assert wrong.value.field == "streams"


class Kinds:
    """In place of a source: remembers how it was made and what it was asked for."""

    asked: list[tuple[Any, list[str]]] = []

    def __init__(self, _: str, **settings: Any) -> None:
        self.kind = (settings.get("lang"), settings.get("datatype"))
        self.closed = False

    def fetch(self, keys: Any, _: float | None = None) -> Fetched:
        Kinds.asked.append((self.kind, keys.tolist()))
        return Fetched(np.arange(float(len(keys))), np.ones(len(keys), bool))

    def close(self) -> None:
        self.closed = True


def test_keys_are_asked_for_kind_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    from topwater import remote

    monkeypatch.setattr(remote, "sparql", Kinds)
    monkeypatch.setattr(Kinds, "asked", [])
    source = TermSource(ENDPOINT, {"pattern": "?s ?p ?f"})
    keys = ["x:a", '"b"@en', "_:c", "x:d", '"5"^^<x:t>', '"say \\"no\\""', '"e"@en']
    got = source.fetch(np.array(keys, object), 5.0)
    assert Kinds.asked == [
        ((None, None), ["x:a", "x:d"]),
        (("en", None), ["b", "e"]),
        ((None, "x:t"), ["5"]),
        ((None, None), ['say "no"']),
    ]
    np.testing.assert_array_equal(got.values, [0, 0, np.nan, 1, 0, 0, 1])
    assert got.ok.all()
    source.close()
    assert all(each.closed for each in source._by_kind.values())  # type: ignore[attr-defined]


def test_iris_alone_are_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from topwater import remote

    monkeypatch.setattr(remote, "sparql", Kinds)
    monkeypatch.setattr(Kinds, "asked", [])
    TermSource(ENDPOINT, {}).fetch(np.array(["x:a", "x:b"], object))
    assert Kinds.asked == [((None, None), ["x:a", "x:b"])]


class Doubled:
    """A source with two values for every key."""

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        why = np.full(len(keys), "doubled", object)
        return Fetched(np.full(len(keys), np.nan), np.zeros(len(keys), bool), why=why)


LINE = '<x:a> <http://example.org/v> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .'


def test_two_values_of_a_service_for_one_key_are_an_error_that_says_what_to_write() -> None:
    where = "WINDOW :w { ?s :v ?v } SERVICE :b { ?s :f ?f }"
    plan = asked("?s ?f", where, "ORDER BY DESC(?v + ?f) LIMIT 2")
    told = rspql(plan, streams={":s": [{"time": [1], "value": [LINE]}]}, services={":b": Doubled()})
    with pytest.raises(
        SourceError, match=r"several values of [?]f for one [?]s, as for x:a"
    ) as error:
        list(told)
    assert "MAX(?f)" in str(error.value)
    assert "SAMPLE" in str(error.value)


@pytest.mark.parametrize(
    ("aggregate", "filter_", "pick"),
    [
        ("MAX(?f)", "", "max"),
        ("MIN(?f)", "", "min"),
        ("AVG(?f)", "", "mean"),
        ("SAMPLE(?f)", "", "sample"),
        ("MAX(?f) + MIN(?f)", "", None),
        ("MAX(?f)", "FILTER(?f > 3)", None),
    ],
)
def test_a_query_says_which_of_several_values_counts(
    aggregate: str, filter_: str, pick: str | None
) -> None:
    where = f"WINDOW :w {{ ?s :v ?v }} SERVICE :b {{ ?s :f ?f }} {filter_}"
    plan = asked("?s", where, f"GROUP BY ?s ORDER BY DESC({aggregate}) LIMIT 2")
    assert plan.service is not None
    assert plan.service.pick == pick


def test_a_cast_takes_remote_texts_for_numbers() -> None:
    where = "WINDOW :w { ?s :v ?v } SERVICE :b { ?s :f ?f }"
    for score, typed in (("?f", True), ("xsd:double(?f)", False)):
        plan = asked("?s ?f", where, f"ORDER BY DESC(?v + {score}) LIMIT 2")
        assert plan.service is not None
        assert plan.service.typed == typed
        assert plan.score == "v + f"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"url": "https://api.example/u/{key}", "value": "f"}, "http"),
        ({"url": "https://api.example/u?ids={keys}", "value": "f", "key": "id"}, "http"),
        ({"url": "https://api.example/u", "body": {"ids": "{keys}"}, "value": "f"}, "http"),
        ({"url": "sqlite:///users.db", "table": "u", "key": "k", "value": "v"}, "sql"),
        ({"url": "postgresql+psycopg://h/d", "query": "select 1"}, "sql"),
        ({"values": {"a": 1.0}}, "memory"),
        ({"url": "https://data.example/sparql"}, "sparql"),
        ({"url": "sparql+https://data.example/sparql", "rate": 5}, "sparql"),
        ({"kind": "sparql", "url": "https://data.example/{key}"}, "sparql"),
        ({"url": "ftp://data.example/"}, "sparql"),
        ({}, "sparql"),
    ],
)
def test_the_kind_of_a_service_follows_from_its_settings(given: dict[str, Any], kind: str) -> None:
    assert service_kind(given) == kind


def test_an_http_service_needs_no_kind() -> None:
    plan = parse(HTTP_QUERY, services={":b": {}})
    assert plan.service is not None
    given = {"url": "http://127.0.0.1:9/u/{key}", "value": "f", "namespace": "http://x/user/"}
    made = source_for(plan.service, given, plan.prefixes)
    assert isinstance(made, KeySource)
    assert "HttpSource" in repr(made.source)


HTTP_QUERY = """PREFIX : <http://x/>
SELECT ?u (?n + ?f AS ?score)
FROM NAMED WINDOW :w ON :s [RANGE PT1M]
WHERE { WINDOW :w { ?u :p ?n } SERVICE :b { ?u :f ?f } }
ORDER BY DESC(?score) LIMIT 2
"""
