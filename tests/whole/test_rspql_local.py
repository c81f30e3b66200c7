"""Queries in this process: text or columns in, rows or triples out, by time and by count."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.local import rspql
from topwater.remote import memory
from topwater.rspql import parse
from topwater.rspql.rdf.event_format import Columns, Documents

X = "http://example.org/"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
TOTALS = f"""PREFIX : <{X}>
    REGISTER RSTREAM :q AS SELECT ?who (SUM(?n) AS ?total)
    FROM NAMED WINDOW :w ON :s [RANGE 4 STEP 2] WHERE {{ WINDOW :w {{ ?who :n ?n }} }}
    GROUP BY ?who ORDER BY DESC(?total) LIMIT 2"""  # noqa: S608
HEARD = [(101, "a", 3), (102, "b", 5), (104, "a", 3), (105, "c", 9), (107, "c", 1)]
SHOWN = [
    [("b", 5.0), ("a", 3.0)],
    [("a", 6.0), ("b", 5.0)],
    [("c", 9.0), ("a", 3.0)],
    [("c", 10.0)],
    [("c", 1.0)],
]


def batch(*events: tuple[int, str, int]) -> dict[str, list[Any]]:
    texts = [f'<{X}{who}> <{X}n> "{n}"^^<{INTEGER}> .' for _, who, n in events]
    return {"time": [at for at, _, _ in events], "value": texts}


def rows_of(text: str, streams: Any, **more: Any) -> list[list[Any]]:
    found = rspql(text, streams=streams, **more)
    return [[tuple(_short(value) for value in row.values()) for row in told.rows] for told in found]


def _short(value: Any) -> Any:
    return value.removeprefix(X) if isinstance(value, str) else value


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_all_rows_what_is_new_and_what_is_gone(cut: int) -> None:
    streams = {":s": [batch(*HEARD[:cut]), batch(*HEARD[cut:])]}
    assert rows_of(TOTALS, streams) == SHOWN
    befores = [[], *SHOWN]
    new = [[e for e in now if e not in old] for now, old in zip(SHOWN, befores, strict=False)]
    gone = [[e for e in old if e not in now] for now, old in zip(SHOWN, befores, strict=False)]
    assert rows_of(TOTALS.replace("RSTREAM", "ISTREAM"), streams) == new
    assert rows_of(TOTALS.replace("RSTREAM", "DSTREAM"), streams) == gone


def test_triples_go_out_as_they_came() -> None:
    text = f"""PREFIX : <{X}> CONSTRUCT ISTREAM {{ ?who :best ?n }}
        FROM NAMED WINDOW :w ON :s [RANGE 4 STEP 2] WHERE {{ WINDOW :w {{ ?who :n ?n }} }}
        ORDER BY DESC(?n) LIMIT 1"""
    found = [told.triples for told in rspql(text, streams={":s": [batch(*HEARD)]})]
    said = [f'<{X}{who}> <{X}best> "{n}"^^<{INTEGER}> .' for who, n in [("b", 5), ("c", 9)]]
    assert found == [[said[0]], [], [said[1]], [], [f'<{X}c> <{X}best> "1"^^<{INTEGER}> .']]


def test_windows_by_count() -> None:
    text = TOTALS.replace("RANGE 4 STEP 2", "ELEMENTS 2 STEP 1")
    streams = {":s": [batch(*HEARD[:3]), batch(*HEARD[3:])]}
    whole = [[("b", 5.0), ("a", 3.0)], [("b", 5.0), ("a", 3.0)], [("c", 9.0), ("a", 3.0)]]
    assert rows_of(text, streams) == [*whole, [("c", 10.0)], [("c", 1.0)]]


def test_streams_are_read_by_turns() -> None:
    text = f"""PREFIX : <{X}> SELECT ?who ?n FROM NAMED WINDOW :w ON :s [RANGE 10]
        FROM NAMED WINDOW :v ON :t [RANGE 10]
        WHERE {{ {{ WINDOW :w {{ ?who :n ?n }} }} UNION {{ WINDOW :v {{ ?who :m ?n }} }} }}
        ORDER BY DESC(?n) LIMIT 3"""  # noqa: S608
    columns = Columns("who", {f"{X}m": "m"}, namespace=X)
    other = [{"time": [102], "who": ["z"], "m": [7]}, {"time": [111], "who": ["y"], "m": [8]}]
    streams = {":s": [batch(*HEARD[:4])], ":t": (columns, other)}
    expected = [[("c", 9.0), ("z", 7.0), ("b", 5.0)], [("y", 8.0)]]
    assert rows_of(text, streams) == expected


def test_a_variable_for_a_stream_is_every_registered_one() -> None:
    text = f"""PREFIX : <{X}> SELECT ?who ?n ?from FROM NAMED WINDOW ?w ON ?from [RANGE 10]
        WHERE {{ WINDOW ?w {{ ?who :n ?n }} }} ORDER BY DESC(?n) LIMIT 3"""  # noqa: S608
    streams = {":s": [batch(*HEARD)], ":t": [batch((103, "z", 7))]}
    assert rows_of(text, streams) == [[("c", 9.0, "s"), ("z", 7.0, "t"), ("b", 5.0, "s")]]


@pytest.mark.parametrize(
    ("clause", "where"),
    [
        ("FROM NAMED STREAM :s [NOW - 4 S SLIDE 2 S]", "?who :n ?n"),
        ("FROM STREAM :s [RANGE 4s STEP 2s]", "{ ?who :n ?n } FILTER(?n > 0)"),
        ("", "STREAM :s [RANGE 4s SLIDE 2s] { ?who :n ?n }"),
    ],
)
def test_other_dialects_mean_the_same_windows(clause: str, where: str) -> None:
    text = f"""PREFIX : <{X}> SELECT ?who (SUM(?n) AS ?total) {clause}
        WHERE {{ {where} }} GROUP BY ?who ORDER BY DESC(?total) LIMIT 2"""
    heard = [(at * 1_000, who, n) for at, who, n in HEARD]
    assert rows_of(text, {":s": [batch(*heard)]}) == SHOWN


def test_a_service_is_asked_only_if_it_is_registered() -> None:
    text = f"""PREFIX : <{X}> SELECT (?who AS ?name) (?n + ?f AS ?score)
        FROM NAMED WINDOW :w ON :s [RANGE 10]
        WHERE {{ WINDOW :w {{ ?who :n ?n }} SERVICE :b {{ ?who :f ?f }} }}
        ORDER BY DESC(?score) LIMIT 2"""  # noqa: S608
    streams = {":s": (Documents(), [batch(*HEARD)])}
    source = memory({f"{X}a": 10.0, f"{X}b": 1.0})
    assert rows_of(text, streams, services={":b": source}) == [[("a", 13.0), ("b", 6.0)]]
    for query in (text, parse(text)):
        with pytest.raises(QueryError, match="line 3, column 50: the service :b is not registered"):
            rspql(query, streams=streams)
        with pytest.raises(QueryError, match="line 2, column 33: the stream"):
            rspql(query, streams={":t": []}, services={":b": source})
    with pytest.raises(QueryError, match="has no names"):
        rspql(text, streams=[batch()], services={":b": source})  # type: ignore[arg-type]
