"""Several services, several values, other keys, filters and texts: the same as SPARQL on Oxigraph.

Each event is a named graph, and what the services know is the default graph, where ``SERVICE`` is
left out. All may be looked up, so that answers are exact.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Literal, Namespace, URIRef

from topwater import remote
from topwater.errors import SourceError
from topwater.local import rspql
from topwater.model import Fetched, KeyArray
from topwater.rspql import explain, parse
from topwater.rspql.plan.projection import WindowOutput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EX = Namespace("http://example.org/")
HEAD = f"PREFIX : <{EX}>\n"
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 10s]"
EVENT = "?alarm :sev ?sev ; :asset ?asset ; :text ?text"
ASSETS = "SERVICE :assets { ?asset :w ?w ; :site ?site }"
OWNERS = "SERVICE :owners { ?alarm :t ?t ; :u ?u }"
QUERIES = {
    "two services, each by a variable of its own": f"""
        SELECT ?alarm ?asset (MAX(?sev) AS ?s) (SAMPLE(?w) AS ?weight) (SAMPLE(?t) AS ?trust)
        WHERE {{ WINDOW :w {{ {EVENT} }} {ASSETS} {OWNERS} }} GROUP BY ?alarm ?asset
        ORDER BY DESC(MAX(?sev) * SAMPLE(?w) + SAMPLE(?t)) LIMIT 30""",
    "a filter over values of two services": f"""
        SELECT ?alarm ?asset (COUNT(?sev) AS ?n) (SAMPLE(?site) AS ?where)
        WHERE {{ WINDOW :w {{ {EVENT} }} {ASSETS} {OWNERS}
                 FILTER(?t > 1 || (?w IN (1, 3) && !(?u = 2))) }}
        GROUP BY ?alarm ?asset ORDER BY DESC(COUNT(?sev) + SAMPLE(?w)) LIMIT 30""",
    "two values of one service, of which one is only compared": f"""
        SELECT ?alarm (SUM(?sev) AS ?s) (MAX(?t) AS ?trust)
        WHERE {{ WINDOW :w {{ {EVENT} }} {OWNERS} }} GROUP BY ?alarm
        HAVING (MAX(?u) < 3 && SUM(?sev) != 7) ORDER BY ASC(SUM(?sev) - MAX(?t)) LIMIT 30""",
    "a choice by what a service says, rounded": f"""
        SELECT ?alarm (SUM(?sev) AS ?s) (IF(MAX(?t) > 2, ROUND(MAX(?t) / 3), -1) AS ?level)
        WHERE {{ WINDOW :w {{ {EVENT} }} {OWNERS} }} GROUP BY ?alarm
        ORDER BY DESC(IF(MAX(?t) IN (1, 2) || MAX(?u) = 0, SUM(?sev) + 0.5, 0 - MAX(?t)))
        LIMIT 30""",
    "a choice by one number": f"""
        SELECT ?asset (SUM(?sev) AS ?s)
        WHERE {{ WINDOW :w {{ {EVENT} }} SERVICE :assets {{ ?asset :w ?w }} }} GROUP BY ?asset
        ORDER BY DESC(IF(MAX(?w) > 2, SUM(?sev) / 3, FLOOR(SUM(?sev) / 2))) LIMIT 30""",
    "a service that only knows": f"""
        SELECT ?alarm ?asset (SUM(?sev) AS ?s)
        WHERE {{ WINDOW :w {{ {EVENT} }} {OWNERS} SERVICE :assets {{ ?asset :w ?w }} }}
        GROUP BY ?alarm ?asset ORDER BY DESC(SUM(?sev) * SAMPLE(?t)) LIMIT 30""",
    "a service that may know nothing": f"""
        SELECT ?alarm ?asset (SUM(?sev) AS ?s)
        WHERE {{ WINDOW :w {{ {EVENT} }} {OWNERS}
                 OPTIONAL {{ SERVICE :assets {{ ?asset :w ?w }} }} }}
        GROUP BY ?alarm ?asset
        ORDER BY DESC(SUM(?sev) * SAMPLE(?t) + MAX(COALESCE(?w, 2))) LIMIT 30""",
}  # fmt: skip


class Known:
    """A service that knows some values of some keys."""

    punctual = True

    def __init__(self, rows: dict[str, dict[str, Any]], names: tuple[str, ...], *text: str) -> None:
        self.rows, self.names, self.text_names = rows, names, text

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        rows = [self.rows.get(key.removeprefix(EX), {}) for key in keys.tolist()]
        columns: dict[str, Any] = {
            name: np.array([row.get(name) for row in rows] + [None], object)[:-1]
            if name in self.text_names
            else np.array([row.get(name, np.nan) for row in rows], np.float64)
            for name in self.names
        }
        columns["found"] = np.array([1.0 if row else np.nan for row in rows])
        return Fetched.of_columns(columns)


NUMBERS = st.integers(0, 4)
WORLD = st.fixed_dictionaries(
    {
        "events": st.lists(
            st.tuples(st.sampled_from("xyz"), NUMBERS, st.sampled_from("ABC")), max_size=8
        ),
        "assets": st.dictionaries(
            st.sampled_from("ABC"),
            st.fixed_dictionaries({"w": NUMBERS, "site": st.sampled_from(["mill", 'a "quay"'])}),
        ),
        "owners": st.dictionaries(
            st.sampled_from("xyz"), st.fixed_dictionaries({"t": NUMBERS, "u": NUMBERS})
        ),
    }
)


def triples(event: tuple[str, int, str]) -> list[tuple[URIRef, URIRef, Any]]:
    alarm, sev, asset = event
    said = {"sev": Literal(sev), "asset": EX[asset], "text": Literal(f"{alarm} at {asset}")}
    return [(EX[alarm], EX[name], term) for name, term in said.items()]


def answered(query: str, world: dict[str, Any]) -> list[WindowOutput]:
    lines = [" ".join(f"{s.n3()} {p.n3()} {o.n3()} ." for s, p, o in triples(each))
             for each in world["events"]]  # fmt: skip
    events = {"time": [*range(1, len(lines) + 1)], "value": lines}
    services = {
        ":assets": Known(world["assets"], ("w", "site", "found"), "site"),
        ":owners": Known(world["owners"], ("t", "u", "found")),
    }
    plan = parse(full(query))
    used = {str(each.name): each.name for each in plan.services}
    given = {name: each for name, each in services.items() if f"{EX}{name[1:]}" in used}
    return list(rspql(plan, streams={":s": [events]}, services=given))


def full(query: str) -> str:
    text = query.replace("WHERE {", f"{WINDOW} WHERE {{", 1)
    return f"{HEAD}{text} WITH BUDGET UNLIMITED"


def expected(query: str, world: dict[str, Any]) -> list[dict[str, Any]]:
    store = ox.Store()
    for number, each in enumerate(world["events"]):
        lines = " ".join(f"{s.n3()} {p.n3()} {o.n3()} ." for s, p, o in triples(each))
        store.load(lines, format=ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(f"{EX}event{number}"))
    for rows in (world["assets"], world["owners"]):
        for key, row in rows.items():
            for name, value in row.items():
                term = ox.Literal(value)
                store.add(ox.Quad(ox.NamedNode(EX + key), ox.NamedNode(EX + name), term))
    sparql = re.sub(r"SERVICE :\w+ (\{[^}]*\})", r"\1", query.replace("WINDOW :w", "GRAPH ?event"))
    found = store.query(HEAD + sparql)
    assert isinstance(found, ox.QuerySolutions)
    names = [each.value for each in found.variables]
    return [{name: plain(row[name]) for name in names} for row in found]


def plain(term: Any) -> Any:
    """A number as a float; another term as answers write it."""
    if isinstance(term, ox.Literal) and term.datatype != ox.Literal("").datatype:
        return float(term.value)
    return term.value if isinstance(term, ox.NamedNode) else str(term)


@pytest.mark.spark
def test_spark_answers_the_same(spark: SparkSession) -> None:
    """Two services, values and texts of both, a filter; as a table, in one micro-batch."""
    from topwater.spark import rspql as on_spark

    query = """
        SELECT ?alarm ?asset (MAX(?sev) AS ?s) (SAMPLE(?site) AS ?where) (SAMPLE(?text) AS ?said)
        WHERE { WINDOW :w { ?alarm :sev ?sev ; :asset ?asset ; :text ?text }
                SERVICE :assets { ?asset :w ?w ; :site ?site } SERVICE :owners { ?alarm :t ?t }
                FILTER(?t > 0 || ?w > 2) }
        GROUP BY ?alarm ?asset ORDER BY DESC(MAX(?sev) * SAMPLE(?w) + SAMPLE(?t)) LIMIT 3"""
    world = [("x", 3, "A"), ("y", 4, "B"), ("z", 4, "A"), ("x", 1, "B"), ("y", 2, "C")]
    lines = [" ".join(f"{s.n3()} {p.n3()} {o.n3()} ." for s, p, o in triples(each))
             for each in world]  # fmt: skip
    assets = {"A": {"w": 2.0, "site": "mill"}, "B": {"w": 3.0, "site": 'a "quay"'}}
    services = {
        ":assets": remote.memory({f"{EX}{name}": row for name, row in assets.items()}),
        ":owners": remote.memory({f"{EX}x": 1.0, f"{EX}y": 0.0, f"{EX}z": 2.0}),
    }
    events = [*zip(range(1, 6), lines, strict=True)]
    table = on_spark(
        spark,
        full(query),
        streams={":s": spark.createDataFrame(events, "time long, value string")},
        services=services,
        shards=2,
    ).toArrow()
    columns = {"time": [*range(1, 6)], "value": lines}
    (told,) = rspql(full(query), streams={":s": [columns]}, services=services)
    assert len(told.rows) == 3
    assert table.select([*told.rows[0]]).to_pylist() == told.rows
    assert "remotes" not in table.column_names


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@settings(max_examples=10)
@given(WORLD)
def test_answers_are_those_of_sparql(query: str, world: dict[str, Any]) -> None:
    wanted = expected(query, world)
    told = answered(query, world)
    rows = [row for each in told for row in each.rows]
    assert sorted(map(repr, rows)) == sorted(map(repr, wanted))
    for each in told:
        fresh = each.answer.freshness
        assert each.answer.exact or (fresh is not None and fresh.nothing_usable)
        scores = each.answer.scores
        assert scores == sorted(scores, reverse="ASC(" not in query)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_each_can_be_explained(query: str) -> None:
    told = explain(full(query))
    assert "gives ?" in told
    assert "@" not in told


def test_the_latest_of_what_is_looked_up_counts_where_groups_have_several() -> None:
    query = f"""SELECT ?alarm (MAX(?sev) AS ?s) (SAMPLE(?site) AS ?where) (SAMPLE(?text) AS ?says)
        WHERE {{ WINDOW :w {{ {EVENT} }} {ASSETS} }} GROUP BY ?alarm
        ORDER BY DESC(MAX(?sev) * SAMPLE(?w)) LIMIT 3"""
    world = {
        "events": [("x", 3, "A"), ("y", 2, "A"), ("x", 1, "B")],
        "assets": {"A": {"w": 2, "site": "mill"}, "B": {"w": 5, "site": "quay"}},
        "owners": {},
    }
    (told,) = answered(query, world)
    assert told.rows == [
        {"alarm": EX + "x", "s": 3.0, "where": '"quay"', "says": '"x at B"'},
        {"alarm": EX + "y", "s": 2.0, "where": '"mill"', "says": '"y at A"'},
    ]
    assert told.answer.spent == 2
    assert "of several ?asset of a ?alarm the latest is looked up" in explain(full(query))


def test_text_of_the_stream_stands_beside_the_score() -> None:
    query = f"""SELECT ?asset ?text ?sev WHERE {{ WINDOW :w {{ {EVENT} }}
        SERVICE :assets {{ ?asset :w ?w }} }} ORDER BY DESC(?sev + ?w) LIMIT 1"""
    world = {"events": [("x", 3, "A"), ("y", 4, "A")], "assets": {"A": {"w": 2}}, "owners": {}}
    plan = parse(full(query))
    assert plan.service is not None
    (told,) = answered(query, world)
    assert told.rows == [{"asset": EX + "A", "text": '"y at A"', "sev": 4.0}]


def test_two_values_for_one_key_are_refused_by_name() -> None:
    class Doubled(Known):
        def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
            return Fetched.failed(len(keys), "doubled")

    query = QUERIES["two values of one service, of which one is only compared"]
    services = {":owners": Doubled({}, ("t", "u"))}
    line = " ".join(f"{s.n3()} {p.n3()} {o.n3()} ." for s, p, o in triples(("x", 1, "A")))
    events = {"time": [1], "value": [line]}
    with pytest.raises(SourceError, match=r":owners has several values of \?t or \?u for one"):
        list(rspql(full(query), streams={":s": [events]}, services=services))
