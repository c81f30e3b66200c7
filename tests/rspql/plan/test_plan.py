"""What a plan compiles to, and that it answers as the query says. Windows are of 10 ms here."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from tests.support import corpus_files
from topwater import Answer, TopKQuery, run, sliding
from topwater.remote.sparql_source import SparqlSource
from topwater.rspql import Plan, parse
from topwater.rspql.plan.plan import TIME
from topwater.rspql.plan.projection import solutions_of
from topwater.rspql.rdf.event_format import Documents
from topwater.rspql.rdf.pattern_match import Matcher
from topwater.rspql.registration import asked as sent
from topwater.testing import Scripted

HEAD = "PREFIX : <http://example.org/>\n"
FROM = "FROM NAMED WINDOW :w ON :s [RANGE 10]"
Rows: TypeAlias = Mapping[str, Sequence[Any]]
LISTING = (corpus_files.FOLDER / "acquatop_listing.rq").read_text()


def asked(select: str, where: str, rest: str) -> Plan:
    return parse(f"{HEAD}SELECT {select} {FROM} WHERE {{ {where} }} {rest}")


def answered(plan: Plan, rows: Rows, remote: Mapping[str, float] | None = None) -> list[Answer]:
    source = None if remote is None else Scripted(dict(remote))
    return list(run(plan.query(), [dict(rows)], source=source))


def test_the_listing_compiles_to_the_query_that_one_would_write() -> None:
    assert parse(LISTING).query() == TopKQuery(
        key="user",
        time=TIME,
        window=sliding("9 min", "3 min"),
        take={"mentionCount": "last(mentionCount)"},
        score="0.3 * mentionCount + 0.7 * followerCount",
        k=1,
        refresh="followerCount",
    )


def test_a_binding_table_has_the_time_the_key_and_numbers() -> None:
    plan = parse(LISTING)
    assert (plan.key, plan.numbers) == ("user", ("mentionCount",))
    plan = asked("?s ?p", "WINDOW :w { ?s :p ?p ; :v ?v }", "ORDER BY DESC(?v) LIMIT 1")
    assert (plan.keys, plan.key, plan.numbers) == (("s", "p"), "s p", ("v",))


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


def test_every_solution_is_an_item_without_service_and_group() -> None:
    plan = asked("?s", "WINDOW :w { ?s :v ?v }", "ORDER BY ASC(?v) LIMIT 2")
    (answer,) = answered(plan, {"s": ["a", "b", "a"], TIME: [1, 2, 3], "v": [3.0, 9.0, 1.0]})
    assert (answer.keys, answer.scores, answer.exact) == (["a", "a"], [1.0, 3.0], True)


def test_with_a_service_the_latest_solution_counts() -> None:
    plan = asked(
        "?s",
        "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }",
        "ORDER BY DESC(?v + ?f) LIMIT 2",
    )
    rows: Rows = {"s": [*"abac"], TIME: [1, 2, 3, 4], "v": [90.0, 2.0, 1.0, 50.0]}
    (answer,) = answered(plan, rows, {"a": 5.0, "b": 5.0})
    # c has no value on the remote side: the join is inner.
    assert (answer.keys, answer.scores) == (["b", "a"], [7.0, 6.0])


def test_a_default_stands_for_what_the_service_does_not_know() -> None:
    plan = asked(
        "?s",
        "WINDOW :w { ?s :v ?v } OPTIONAL { SERVICE :r { ?s :f ?f } }",
        "ORDER BY DESC(?v + COALESCE(?f, -3)) LIMIT 2",
    )
    (answer,) = answered(plan, {"s": ["a", "b"], TIME: [1, 2], "v": [4.0, 2.0]}, {"b": 5.0})
    assert (answer.keys, answer.scores) == (["b", "a"], [7.0, 1.0])


def test_a_service_without_a_number_lets_through_what_it_knows() -> None:
    plan = asked(
        "?s", "WINDOW :w { ?s :v ?v } SERVICE :r { ?s a :Good }", "ORDER BY DESC(?v) LIMIT 2"
    )
    (answer,) = answered(plan, {"s": ["a", "b"], TIME: [1, 2], "v": [4.0, 2.0]}, {"b": 1.0})
    assert (answer.keys, answer.scores) == (["b"], [2.0])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("?f > 3", "cd"),
        ("?f >= 3", "bcd"),
        ("?f < 3", "a"),
        ("?f <= 3", "ab"),
        ("?f = 3", "b"),
        ("?f != 3", "acd"),
        ("!(?f = 3)", "acd"),
        ("?f < 2 || ?f > 4", "ad"),
        ("?f > 1 && ?f < 5", "bc"),
        ("?f - ?v > 0", "bcd"),
        ("?v > 1 && ?f > 0", "bcd"),
    ],
)
def test_conditions_on_remote_values(condition: str, expected: str) -> None:
    plan = asked(
        "?s",
        f"WINDOW :w {{ ?s :v ?v }} SERVICE :r {{ ?s :f ?f }} FILTER({condition})",
        "ORDER BY ASC(?v + 0 * ?f) LIMIT 9",
    )
    rows: Rows = {"s": [*"abcd"], TIME: [1, 2, 3, 4], "v": [1.0, 2.0, 3.0, 4.0]}
    if "?v > 1" in condition:
        # The matcher applies conditions on the stream alone.
        rows = {name: values[1:] for name, values in rows.items()}
    (answer,) = answered(plan, rows, {"a": 1.0, "b": 3.0, "c": 4.0, "d": 5.0})
    assert "".join(map(str, answer.keys)) == expected


@pytest.mark.parametrize(
    ("aggregate", "order", "expected"),
    [
        ("COUNT(*)", "DESC", {"a": 3.0, "b": 2.0}),
        ("COUNT(?v)", "DESC", {"a": 3.0, "b": 2.0}),
        ("SUM(?v)", "DESC", {"b": 11.0, "a": 6.0}),
        ("MIN(?v)", "ASC", {"a": 1.0, "b": 5.0}),
        ("MAX(?v)", "DESC", {"b": 6.0, "a": 3.0}),
        ("AVG(?v)", "DESC", {"b": 5.5, "a": 2.0}),
        ("SUM(?v) / COUNT(*)", "DESC", {"b": 5.5, "a": 2.0}),
        ("MAX(?v) - MIN(?v)", "DESC", {"a": 2.0, "b": 1.0}),
    ],
)
def test_aggregates(aggregate: str, order: str, expected: dict[str, float]) -> None:
    plan = asked(
        f"?s ({aggregate} AS ?n)",
        "WINDOW :w { ?s :v ?v }",
        f"GROUP BY ?s ORDER BY {order}(?n) LIMIT 5",
    )
    rows: Rows = {"s": [*"aaabb"], TIME: [1, 2, 3, 4, 5], "v": [1.0, 2.0, 3.0, 5.0, 6.0]}
    (answer,) = answered(plan, rows)
    assert dict(zip(answer.keys, answer.scores, strict=True)) == expected
    assert answer.keys == list(expected)


def test_having() -> None:
    plan = asked(
        "?s (SUM(?v) AS ?n)",
        "WINDOW :w { ?s :v ?v }",
        "GROUP BY ?s HAVING (COUNT(*) >= 2 && SUM(?v) < 10) ORDER BY DESC(?n) LIMIT 5",
    )
    rows: Rows = {"s": [*"aabbc"], TIME: [1, 2, 3, 4, 5], "v": [1.0, 2.0, 5.0, 6.0, 3.0]}
    (answer,) = answered(plan, rows)
    assert (answer.keys, answer.scores) == (["a"], [3.0])


def test_an_aggregate_of_an_expression_is_bound_by_the_pattern() -> None:
    plan = asked(
        "?s (SUM(?v * ?w) AS ?n)",
        "WINDOW :w { ?s :v ?v ; :w ?w }",
        "GROUP BY ?s ORDER BY DESC(?n) LIMIT 5",
    )
    (bind,) = plan.patterns[0].binds
    assert bind.formula == "v * w"
    assert plan.numbers == (bind.variable,)


def test_spare_bounds_the_memory_where_that_is_possible() -> None:
    where = "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }"
    plan = asked("?s", where, "ORDER BY DESC(?v + ?f) LIMIT 1 WITH SPARE 4")
    assert (plan.query().list, plan.query().refresh.spare) == ("panes+n", 4)  # type: ignore[union-attr]
    plan = asked("?s", where, "GROUP BY ?s ?f ORDER BY DESC(SUM(?v) + ?f) LIMIT 1 WITH SPARE 4")
    assert (plan.query().list, plan.query().refresh.spare) == ("panes", 4)  # type: ignore[union-attr]


def test_count_windows_run_in_process() -> None:
    plan = parse(
        HEAD + "SELECT ?s ?v FROM NAMED WINDOW :w ON :s [ELEMENTS 2] "  # noqa: S608
        "WHERE { WINDOW :w { ?s :v ?v } } ORDER BY DESC(?v) LIMIT 1"
    )
    found = answered(plan, {"s": [*"abcd"], "v": [1.0, 2.0, 9.0, 4.0]})
    assert [answer.keys for answer in found] == [["b"], ["c"]]


def test_plans_can_be_compared_and_sent() -> None:
    plan = parse(LISTING)
    assert plan == parse(LISTING) != parse(LISTING.replace("0.7", "0.8"))
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301
    assert len({plan, parse(LISTING)}) == 1


def test_reading_a_query_loads_neither_spark_nor_a_client() -> None:
    code = (
        "import json, sys; from topwater.rspql import explain; explain(sys.stdin.read());"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], input=LISTING, capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"pyspark", "py4j", "httpx", "requests", "sqlalchemy", "typer"}


def test_groups_of_two_variables_have_keys_of_two_terms() -> None:
    plan = asked(
        "?b ?s (SUM(?v) AS ?n)",
        "WINDOW :w { ?s :v ?v ; :b ?b }",
        "GROUP BY ?s ?b ORDER BY DESC(?n) LIMIT 5",
    )
    assert (plan.keys, plan.key, plan.query().key) == (("s", "b"), "s b", "s b")
    assert [shown.role for shown in plan.projection] == ["key", "key", "score"]


@pytest.mark.parametrize(
    ("select", "where", "rest", "shown"),
    [
        ("(?s AS ?who) ?v", "", "", [("x:a", 3.0), ("x:b", 2.0)]),
        ("?s (?s AS ?who) ?v", "", "", [("x:a", "x:a", 3.0), ("x:b", "x:b", 2.0)]),
        ("(?s AS ?who) (SUM(?v) AS ?t)", "", "GROUP BY ?s", [("x:a", 4.0), ("x:b", 2.0)]),
        ("?who (SUM(?v) AS ?t)", "", "GROUP BY (?s AS ?who)", [("x:a", 4.0), ("x:b", 2.0)]),
        ("?who (SUM(?v) AS ?t)", "BIND(?s AS ?who)", "GROUP BY ?who", [("x:a", 4.0), ("x:b", 2.0)]),
        ("?who ?v", "BIND(?s AS ?who) FILTER(?who != :c)", "", [("x:a", 3.0), ("x:b", 2.0)]),
    ],
)
def test_a_term_may_be_shown_under_another_name(
    select: str, where: str, rest: str, shown: list[Any]
) -> None:
    score = "?t" if "?t" in select else "?v"
    plan = asked(
        select, f"WINDOW :w {{ ?s :v ?v {where} }}", f"{rest} ORDER BY DESC({score}) LIMIT 2"
    )
    number = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    said = [("a", 1), ("b", 2), ("a", 3)]
    texts = [f"<x:{s}> <http://example.org/v> {number.format(v)} ." for s, v in said]
    events = pa.table({"time": [1, 2, 3], "value": texts})
    table = Matcher.of(plan, plan.windows[0].stream, Documents()).match(events)
    (answer,) = run(plan.query(), [table])
    assert solutions_of(plan, answer) == shown


def test_with_a_service_too_a_key_may_be_shown_under_another_name() -> None:
    where = "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }"
    plan = asked("(?s AS ?who) ?f (?v + ?f AS ?t)", where, "ORDER BY DESC(?t) LIMIT 1")
    (answer,) = answered(plan, {"s": ["a"], TIME: [1], "v": [4.0]}, {"a": 5.0})
    assert solutions_of(plan, answer) == [("a", 5.0, 9.0)]


@pytest.mark.parametrize(
    "value", ["MAX(COALESCE(?f, 3))", "COALESCE(?f, 3)", "COALESCE(MAX(?f), 3)"]
)
def test_a_default_may_be_said_in_a_group(value: str) -> None:
    plan = asked(
        "?s",
        "WINDOW :w { ?s :v ?v } OPTIONAL { SERVICE :r { ?s :f ?f } }",
        f"GROUP BY ?s ?f ORDER BY DESC(SUM(?v) + {value}) LIMIT 2",
    )
    (answer,) = answered(plan, {"s": ["a", "b"], TIME: [1, 2], "v": [4.0, 2.0]}, {"b": 6.0})
    assert (answer.keys, answer.scores) == (["b", "a"], [8.0, 7.0])


def test_a_default_that_is_never_needed_changes_nothing() -> None:
    plan = asked(
        "?s",
        "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }",
        "GROUP BY ?s ORDER BY DESC(SUM(?v) + MAX(COALESCE(?f, 3))) LIMIT 2",
    )
    (answer,) = answered(plan, {"s": ["a", "b"], TIME: [1, 2], "v": [4.0, 2.0]}, {"b": 6.0})
    assert answer.keys == ["b"]


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
