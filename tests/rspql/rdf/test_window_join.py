"""Blocks joined over a window: each answer is what SPARQL says of the window's events."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pyoxigraph as ox
import pytest
from rdflib.term import URIRef

from topwater.local import rspql
from topwater.model import Answer, Row, Window
from topwater.remote import memory
from topwater.rspql import Plan, parse
from topwater.rspql.plan.plan import SILENT, TIME
from topwater.rspql.rdf.event_format import Documents
from topwater.rspql.rdf.window_join import WindowJoin, with_true_times

X = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIX = f"PREFIX : <{X}>"
FROM = "FROM NAMED WINDOW :a ON :s [RANGE 9 STEP 4] FROM NAMED WINDOW :b ON :t [RANGE 9 STEP 4]"
WIDTHS = [9, 9, 5, 13]
"""Of the second window."""

NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
Events = list[tuple[int, str]]


def said(subject: str, predicate: str, value: int) -> str:
    name = subject if subject.startswith("_:") else f"<{X}{subject}>"
    return f"{name} <{X}{predicate}> {NUMBER.format(value)} ."


def some_events(rng: random.Random, predicates: list[str]) -> Events:
    """Each says one thing or two of somebody; blank nodes are in one event only."""
    times = sorted(rng.randrange(1, 60) for _ in range(40))
    events = []
    for at in times:
        who = rng.choice(["u0", "u1", "u2", "u3", "_:b"])
        lines = [said(who, each, rng.randrange(6)) for each in predicates if rng.random() < 0.8]
        events.append((at, "\n".join(lines)))
    return events


def batches(events: Events, cuts: list[int]) -> list[dict[str, list[Any]]]:
    """The events in as many batches for every stream, cut at the same times."""
    ends = [*cuts, 10**9]
    parts = [[e for e in events if a < e[0] <= b] for a, b in zip([-99, *cuts], ends, strict=True)]
    # A batch without events tells how far time has come.
    filled = [
        part or [(end, "")] for part, end in zip(parts, ends, strict=True) if part or end < 99
    ]
    return [{"time": [at for at, _ in part], "value": [t for _, t in part]} for part in filled]


def some_query(rng: random.Random) -> tuple[str, str, bool]:
    """What is selected, the blocks as text with their windows open, and whether it is grouped."""
    left = "?u :p ?x" + rng.choice(["", " ; :q ?y", " FILTER(?x > 1)", " BIND(?x * 2 AS ?d)"])
    right = rng.choice(["?u :p ?z", "?z0 :p ?z", "?u :q ?z . FILTER(?z != 3)", "?u :p ?x ; :q ?z"])
    after = rng.choice(["", "FILTER(?x < ?z)", "FILTER(?x + ?z <= 7)", "FILTER(?x = ?z || ?z > 2)"])
    where = f"WINDOW :a {{ {left} }} WINDOW :b {{ {right} }} {after}"
    if rng.random() < 0.5:
        aggregates = ["COUNT(*)", "SUM(?x)", "MAX(?z) + COUNT(?x)", "SUM(?z * 2)"]
        return f"?u ({rng.choice(aggregates)} AS ?score)", where, True
    return f"?u ?x ?z ({rng.choice(['?x + ?z', '?z', '2 * ?x - ?z'])} AS ?score)", where, False


def store_of(streams: dict[str, Events], end: int, widths: dict[str, int]) -> ox.Store:
    """The events of windows that close together as named graphs, with their streams."""
    lines = []
    for stream, events in streams.items():
        for number, (at, text) in enumerate(events):
            graph = f"<x:{stream}{number}>"
            if end - widths[stream] < at <= end:
                named = text.replace("_:b", f"<x:blank{stream}{number}>")
                lines += [f"{line[:-1]}{graph} ." for line in named.splitlines()]
                lines.append(f"{graph} <{X}on> <{X}{stream}> .")
    store = ox.Store()
    store.load("\n".join(lines).encode(), format=ox.RdfFormat.N_QUADS)
    return store


def theirs(select: str, where: str, store: ox.Store) -> Counter[tuple[Any, ...]]:
    """The rows that SPARQL gives of all events of the window."""
    for window, stream in (("a", "s"), ("b", "t")):
        where = where.replace(f"WINDOW :{window}", f"?{window} :on :{stream} . GRAPH ?{window}")
    group = "GROUP BY ?u" if "AS ?score" in select and "?x ?z" not in select else ""
    found = store.query(f"{PREFIX} SELECT {select} WHERE {{ {where} }} {group}")
    assert isinstance(found, ox.QuerySolutions)
    names = [each.value for each in found.variables]
    return Counter(tuple(_plain(row[name]) for name in names) for row in found)


def _plain(term: Any) -> Any:
    return float(term.value) if isinstance(term, ox.Literal) else _blank(term.value)


def _blank(text: str) -> str:
    return "blank" if text.startswith(("x:blank", "_:")) else text


def _ours(value: Any) -> Any:
    if isinstance(value, str) and value.startswith('"'):
        return float(value.split('"')[1])
    return _blank(value) if isinstance(value, str) else value


def require_same(seed: int) -> int:
    rng = random.Random(seed)
    select, where, grouped = some_query(rng)
    streams = {"s": some_events(rng, ["p", "q"]), "t": some_events(rng, ["p", "q"])}
    group = "GROUP BY ?u" if grouped else ""
    widths = {"s": 9, "t": rng.choice(WIDTHS)}
    windows = FROM.replace(":t [RANGE 9", f":t [RANGE {widths['t']}")
    text = (
        f"{PREFIX} SELECT {select} {windows} WHERE {{ {where} }} {group} "
        "ORDER BY DESC(?score) LIMIT 4"
    )
    cuts = sorted(rng.sample(range(1, 60), 12))
    told = list(rspql(text, streams={f":{n}": batches(each, cuts) for n, each in streams.items()}))
    some = 0
    for each in told:
        window = each.answer.window
        assert window.end - window.start == max(widths.values())
        expected = theirs(select, where, store_of(streams, window.end, widths))
        rows = [tuple(_ours(value) for value in row.values()) for row in each.rows]
        # Groups of blank nodes are told apart, but here they have one name.
        scores = sorted((row[-1] for row in expected.elements()), reverse=True)[:4]
        assert [row[-1] for row in rows] == scores, (text, each.answer.window, rows, expected)
        assert not Counter(rows) - expected, (text, rows, expected)
        assert each.answer.exact
        some += len(rows)
    answered = {each.answer.window.end for each in told}
    for end in set(range(max(widths.values()), 60, 4)) - answered:
        assert not theirs(select, where, store_of(streams, end, widths))
    return some


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_each_window_is_what_sparql_says_of_it(first: int) -> None:
    assert sum(require_same(seed) > 0 for seed in range(first, first + 10)) > 5


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 2_000, 100))
def test_many_more_windows_are_what_sparql_says_of_them(first: int) -> None:
    assert sum(require_same(seed) > 0 for seed in range(first, first + 100)) > 50


def both(text: str = "WINDOW :a { ?u :p ?x } WINDOW :b { ?u :q ?y }") -> Plan:
    return parse(
        f"{PREFIX} SELECT ?u (?x + ?y AS ?score) {FROM} WHERE {{ {text} }} "
        "ORDER BY DESC(?score) LIMIT 3"
    )


def test_a_pair_is_in_the_windows_that_both_are_in() -> None:
    r"""::

    x ────1──────────────     window 0: (0, 9]  x and y
    y ─────────8─────────     window 1: (4, 13] y alone
    """
    streams = {
        ":s": [{"time": [1], "value": [said("u", "p", 5)]}],
        ":t": [{"time": [8], "value": [said("u", "q", 2)]}],
    }
    first, *others = rspql(both(), streams=streams)
    assert first.answer.window == Window(0, 0, 9)
    assert first.rows == [{"u": f"{X}u", "score": 7.0}]
    assert first.answer.rows[0].time == 8
    assert [each.rows for each in others] == [[]] * len(others)


@pytest.mark.parametrize("rank", ["DESC(?n)", "DESC(?n) ?u"])
def test_alternatives_may_read_windows_of_different_widths(rank: str) -> None:
    text = f"""{PREFIX} SELECT ?u ?n FROM NAMED WINDOW :a ON :s [RANGE 4 STEP 4]
        FROM NAMED WINDOW :b ON :t [RANGE 8 STEP 4]
        WHERE {{ {{ WINDOW :a {{ ?u :p ?n }} }} UNION {{ WINDOW :b {{ ?u :q ?n }} }} }}
        ORDER BY {rank} LIMIT 3"""  # noqa: S608
    told = rspql(
        text,
        streams={
            ":s": [{"time": [3, 6], "value": [said("u", "p", 1), said("u", "p", 2)]}],
            ":t": [{"time": [3, 6], "value": [said("u", "q", 30), said("u", "q", 40)]}],
        },
    )
    found = {each.answer.window.end: [row["n"] for row in each.rows] for each in told}
    assert found == {8: [40.0, 30.0, 2.0], 12: [40.0]}


def test_what_is_late_or_unreadable_or_before_the_start_is_counted() -> None:
    join = WindowJoin(both())
    s, t = URIRef(f"{X}s"), URIRef(f"{X}t")

    def heard(stream: URIRef, *events: tuple[int, str]) -> list[dict[str, Any]]:
        table = pa.table({"time": [at for at, _ in events], "value": [e for _, e in events]})
        found = [*join.add(stream, Documents(), table), *(join.close() if stream == t else [])]
        return [row for each in found for row in each.to_pylist()]

    rows = heard(s, (-3, said("u", "p", 1)), (2, "nonsense"), (3, said("u", "p", 1)))
    assert [(row[TIME], row["u"]) for row in rows] == [(2, None), (-3, "?")]
    rows = heard(t, (4, said("u", "q", 1)), (30, said("u", "q", 1)))
    assert [(row[TIME], row["u"], row[SILENT]) for row in rows] == [
        (4, f"{X}u", False),
        (55, None, True),
    ]
    # Window 5 is (20, 29], and was at (45, 54]. What came too late was first in window 2, (8, 17].
    rows = heard(s, (15, said("u", "p", 1)))
    assert [(row[TIME], row["u"]) for row in rows] == [(25, "?")]


def test_remote_values_and_three_blocks() -> None:
    text = f"""{PREFIX} SELECT ?u (?x + ?y + ?z + ?f AS ?score) {FROM}
        FROM NAMED WINDOW :c ON :s [RANGE 9 STEP 4]
        WHERE {{ WINDOW :a {{ ?u :p ?x }} WINDOW :b {{ ?u :q ?y }} WINDOW :c {{ ?u :r ?z }}
            SERVICE :far {{ ?u :f ?f }} }} ORDER BY DESC(?score) LIMIT 3"""  # noqa: S608
    events = [said("u", "p", 1), said("u", "r", 20)]
    streams = {
        ":s": [{"time": [2, 3], "value": events}],
        ":t": [{"time": [5], "value": [said("u", "q", 300)]}],
    }
    source = memory({f"{X}u": 4_000.0})
    first = next(rspql(text, streams=streams, services={":far": source}))
    assert first.rows == [{"u": f"{X}u", "score": 4_321.0}]


def test_answers_get_their_windows_back() -> None:
    answer = Answer(Window(3, 27, 36), (Row(1, "u", 2.0, 30, age=18),))
    (found,) = with_true_times(both(), [answer])
    assert found.window == Window(3, 12, 21)
    assert (found.rows[0].time, found.rows[0].age) == (15, 8)
