"""What an answer shows: variables, triples, and what is new or gone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.support.rspql_asked import HEAD, Rows, answered, asked
from topwater import run
from topwater.rspql import parse
from topwater.rspql.plan.plan import TIME
from topwater.rspql.plan.projection import constructed, difference, solutions_of, window_outputs
from topwater.rspql.rdf.event_format import Documents
from topwater.rspql.rdf.pattern_match import Matcher


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


def test_a_number_that_can_not_be_computed_is_none() -> None:
    where = "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }"
    plan = asked("?s (?v / ?v AS ?one) (2 AS ?two)", where, "ORDER BY DESC(?v + ?f) LIMIT 2")
    rows: Rows = {"s": ["a", "b"], TIME: [1, 2], "v": [0.0, 4.0]}
    (answer,) = answered(plan, rows, {"a": 5.0, "b": 5.0})
    assert solutions_of(plan, answer) == [("b", 1.0, 2.0), ("a", None, 2.0)]


TEMPLATE = (
    HEAD + "REGISTER {} :q AS CONSTRUCT {{ ?s :top ?v . [] :of ?s . ?v :is ?s }} "
    "FROM NAMED WINDOW :w ON :s [RANGE 10] WHERE {{ WINDOW :w {{ ?s :v ?v }} }} "
    "GROUP BY ?s ?v ORDER BY DESC(COUNT(*)) LIMIT 2"
)


def test_triples_of_a_template() -> None:
    plan = parse(TEMPLATE.format("RSTREAM"))
    names = [each.name for each in plan.projection]
    five = '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    rows: list[dict[str, str | None]] = [{"s": "x:a", "v": five}, {"s": "x:a", "v": None}]
    found = constructed(plan, [tuple(row[name] for name in names) for row in rows], "7")
    of = "<http://example.org/of> <x:a> ."
    blanks = [line.split()[0] for line in found if line.endswith(of)]
    assert f"<x:a> <http://example.org/top> {five} ." in found
    assert len(found) == 3, "no triple has a literal as its subject, or lacks its object"
    assert [blank[:6] for blank in blanks] == ["_:w7r1", "_:w7r2"]
    assert constructed(plan, [tuple(rows[0][name] for name in names)] * 2, "7") == found


@pytest.mark.parametrize(
    ("operator", "now", "before", "out"),
    [
        ("RSTREAM", "ab", "", ([0, 1], [])),
        ("ISTREAM", "ab", "", ([0, 1], [])),
        ("ISTREAM", "aab", "b", ([0, 1], [])),
        ("DSTREAM", "", "ab", ([], [0, 1])),
        ("DSTREAM", "ab", "ab", ([], [])),
    ],
)
def test_what_is_new_and_what_is_gone(
    operator: str, now: str, before: str, out: tuple[list[int], list[int]]
) -> None:
    assert difference(operator, now, before) == out


@pytest.mark.parametrize(
    ("operator", "shown"),
    [
        ("RSTREAM", [["b", "a"], ["b", "c"]]),
        ("ISTREAM", [["b", "a"], ["c"]]),
        ("DSTREAM", [[], ["a"]]),
    ],
)
def test_what_goes_out_of_each_window(operator: str, shown: list[list[Any]]) -> None:
    plan = asked(f"{operator} ?s", "WINDOW :w { ?s :v ?v }", "ORDER BY DESC(?v) LIMIT 2")
    rows: Rows = {"s": [*"abbc"], TIME: [1, 2, 11, 12], "v": [1.0, 2.0, 9.0, 4.0]}
    out = list(window_outputs(plan, answered(plan, rows)))
    assert [[row["s"] for row in each.rows] for each in out] == shown
    assert [len(each.answer.rows) for each in out] == [2, 2]
    assert not any(each.triples for each in out)


def test_a_row_that_is_there_twice_is_new_or_gone_as_often() -> None:
    assert difference("ISTREAM", ["a", "a", "b"], ["a"]) == ([1, 2], [])
    assert difference("DSTREAM", ["a"], ["a", "b", "a", "a"]) == ([], [1, 2, 3])
    assert difference("ISTREAM", ["a"], ["a", "a"]) == ([], [])
