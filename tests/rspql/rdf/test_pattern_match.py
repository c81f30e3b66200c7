"""Matching against Oxigraph and rdflib: the same terms, the same solutions, event by event."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
import pytest
from rdflib import URIRef, Variable

from tests.support.rdf_events import XSD, W, number, pattern_of
from tests.support.sparql_conditions import known_term, some_condition
from topwater import TopKQuery, run, tumbling
from topwater.model import Counts
from topwater.monitor import TopKMonitor
from topwater.rspql import parse
from topwater.rspql.plan.condition_kinds import Compare
from topwater.rspql.plan.plan import SILENT, TIME, Bind, EventPattern
from topwater.rspql.rdf.event_format import Documents
from topwater.rspql.rdf.pattern_match import Matcher, key_terms, solutions
from topwater.rspql.rdf.triples import read_lines, term_of

if TYPE_CHECKING:
    pass

# The same question to us and to Oxigraph.

P = [f"<x:p{number}>" for number in range(3)]
VALUES = [
    *(f"<x:n{number}>" for number in range(3)),
    "_:b",
    '"2"',
    '"two"@en',
    '"Ruby"',
    *(f'"{number}"^^<{XSD}integer>' for number in range(4)),
    f'"1.5"^^<{XSD}decimal>',
    f'"1.5E0"^^<{XSD}double>',
]
VARIABLES = ["a", "b", "c", "d"]


def some_event(rng: random.Random) -> str:
    return "\n".join(
        f"{rng.choice(VALUES[:4])} {rng.choice(P)} {rng.choice(VALUES)} ."
        for _ in range(rng.randrange(4, 16))
    )


def some_triples(rng: random.Random) -> list[tuple[str, str, str]]:
    def spot(constants: list[str], share: float) -> str:
        return rng.choice(constants) if rng.random() < share else "?" + rng.choice(VARIABLES)

    named = [each for each in VALUES if not each.startswith("_:")]
    return [
        (spot(VALUES[:3], 0.2), spot(P, 0.8), spot(named, 0.3))
        for _ in range(rng.choice([1, 2, 2, 3]))
    ]


def asked(event: str, where: str, names: list[str]) -> Counter[tuple[str, ...]]:
    """What Oxigraph finds in one event; blank nodes by their kind alone."""
    store = ox.Store()
    store.load(event.encode(), format=ox.RdfFormat.N_TRIPLES)
    shown = " ".join(f"?{name}" for name in names)
    rows = store.query(f"SELECT {shown} WHERE {{ {where} }}")
    assert isinstance(rows, ox.QuerySolutions)
    return Counter(tuple(known_term(str(row[name])) for name in names) for row in rows)


def found_by_us(matched: Any, names: list[str], event: int) -> Counter[tuple[str, ...]]:
    terms = [known_term(each) for each in matched.terms.to_pylist()]
    rows = np.flatnonzero(matched.event == event)
    return Counter(tuple(terms[matched.codes[name][row]] for name in names) for row in rows)


@pytest.mark.parametrize("seed", range(8))
def test_each_event_has_the_solutions_that_oxigraph_finds_in_it(seed: int) -> None:
    assert require_same_solutions(seed) > 50


@pytest.mark.soak
@pytest.mark.parametrize("first", range(100, 400, 50))
def test_many_more_events_have_the_solutions_that_oxigraph_finds(first: int) -> None:
    """Some 11,000 patterns with filters, each over 12 events."""
    assert sum(require_same_solutions(seed) for seed in range(first, first + 50)) > 50 * 50


def require_same_solutions(seed: int) -> int:
    """Compare all, and say how many solutions there were."""
    rng = random.Random(seed)
    events = [some_event(rng) for _ in range(12)]
    triples = read_lines(pa.array(events))
    some = 0
    for _ in range(40):
        wanted = some_triples(rng)
        names = sorted({spot[1:] for triple in wanted for spot in triple if spot.startswith("?")})
        if not names:
            continue
        filters, texts = [], [" ".join(triple) + " ." for triple in wanted]
        for _ in range(rng.choice([0, 1, 1, 2])):
            condition, text = some_condition(rng, names, VALUES[:3] + VALUES[4:])
            filters.append(condition)
            texts.append(f"FILTER({text})")
        spots = [
            tuple(Variable(each[1:]) if each[0] == "?" else term_of(each) for each in triple)
            for triple in wanted
        ]
        pattern = EventPattern(W, tuple(spots), tuple(filters))  # type: ignore[arg-type]
        matched = solutions(triples, pattern)
        where = "\n".join(texts)
        for at, event in enumerate(events):
            expected = asked(event, where, names)
            assert found_by_us(matched, names, at) == expected, (where, event)
            some += sum(expected.values())
    return some


def test_bind_computes_numbers_and_its_errors_are_no_numbers() -> None:
    binds = (Bind("twice", "2 * n"), Bind("ratio", "twice / n"))
    pattern = pattern_of("?who x:p ?n", binds=binds, filters=(Compare("twice", ">", "0 - 1"),))
    texts = [f"<x:a> <x:p> {value} ." for value in (number(4), '"4"', number(0), number(0.5))]
    matcher = Matcher(Documents(), (pattern,), ("who",), ("n", "twice", "ratio"))
    found = matcher.match(pa.table({"time": [1, 2, 3, 4], "value": texts}))
    columns = found.to_pydict()
    assert columns[TIME] == [1, 3, 4, 2, 3]
    assert columns["who"] == ["x:a", "x:a", "x:a", None, None]
    assert columns[SILENT] == [False, False, False, True, True]
    assert columns["twice"] == [8.0, 0.0, 1.0, None, None]
    assert columns["ratio"][:3:2] == [2.0, 2.0]
    assert np.isnan(columns["ratio"][1])


def test_a_union_keeps_the_order_of_events_and_counts_bad_lines_once() -> None:
    patterns = (pattern_of("?who x:p ?n"), pattern_of("?who x:q ?n"))
    texts = [
        f"<x:a> <x:q> {number(1)} .",
        "what?",
        f"<x:b> <x:p> {number(2)} . <x:c> <x:q> {number(3)} .",
    ]
    found = Matcher(Documents(), patterns, ("who",), ("n",)).match(
        pa.table({"time": [5, 6, 7], "value": texts})
    )
    assert found.column("who").to_pylist() == ["x:a", "x:b", "x:c", None]
    assert found.column(TIME).to_pylist() == [5, 7, 7, 6]


def test_bad_lines_are_counted_in_the_answer() -> None:
    good = f"<x:a> <x:p> {number(5)} ."
    events = pa.table({"time": [1, 2, 3, 4], "value": [good, "?", None, good + " ? ."]})
    found = Matcher(Documents(), (pattern_of("?who x:p ?n"),), ("who",), ("n",)).match(events)
    query = TopKQuery(
        key="who", time=TIME, window=tumbling(10), take={"n": "last(n)"}, score="n", k=1
    )
    (answer,) = run(query, [found])
    assert answer.keys == ["x:a"]
    assert (answer.counts.bad_key, answer.counts.events) == (3, 5)


def test_an_event_that_does_not_match_moves_the_time_and_is_counted_nowhere() -> None:
    r"""Windows of 5. Of a and b numbers are heard, of c a text, and else things of other kinds.

    ::

          a       b        ?  -       -       c
        ──┼──│────┼──│─────┼──┼──│────┼──│────┼──►
          3  5    8  10   13 14  15   19 20   23
    """
    plan = parse("""PREFIX : <x:> SELECT ?u ?n FROM NAMED WINDOW :w ON :s [RANGE 5 STEP 5]
        WHERE { WINDOW :w { ?u :n ?n } } ORDER BY DESC(?n) LIMIT 1""")
    matcher = Matcher.of(plan, URIRef("x:s"), Documents())
    monitor = TopKMonitor.build(plan.query())
    said = {
        3: f"<x:a> <x:n> {number(1)} .",
        8: f"<x:b> <x:n> {number(2)} .",
        13: "<x:a> ? .",
        14: "<x:a> <x:other> <x:b> .",
        19: "",
        23: '<x:c> <x:n> "n/a" .',
    }
    found = []
    for at, text in said.items():
        monitor.ingest(matcher.match(pa.table({"time": [at], "value": [text]})))
        assert monitor.watermark is not None
        found.append(monitor.close_until(monitor.watermark))
    told = [[(each.window.end, each.keys) for each in answers] for answers in found]
    assert told == [[], [(5, ["x:a"])], [(10, ["x:b"])], [], [(15, [])], [(20, [])]]
    (counted,) = (each.counts for each in found[4])
    assert counted == Counts()
    (counted,) = (each.counts for each in found[5])
    assert counted == Counts(events=1, bad_score=1)


def test_a_key_of_several_terms_can_be_taken_apart() -> None:
    matcher = Matcher(Documents(), (pattern_of("?who x:p ?n"),), ("n", "who"), ())
    texts = ['<x:a> <x:p> "say \\"<x:b> \\u0020\\"" .', '_:b <x:p> "c d"@en .']
    found = matcher.match(pa.table({"time": [1, 2], "value": texts})).column("n who").to_pylist()
    assert [key_terms(key, 2) for key in found] == [
        ['"say \\"<x:b>  \\""', "<x:a>"],
        ['"c d"@en', "_:e1-b"],
    ]
    single = Matcher(Documents(), matcher.patterns, ("n",), ())
    keys = single.match(pa.table({"time": [1], "value": ["<x:a> <x:p> <x:b> ."]}))
    assert keys.column("n").to_pylist() == ["x:b"]
    assert key_terms("x:b", 1) == ["<x:b>"]


def test_a_blank_node_of_another_event_is_another_one() -> None:
    line = f"_:b <x:p> {number(5)} . _:b <x:q> <x:a> ."
    pattern = pattern_of("?who x:p ?n", "?who x:q ?a")
    matcher = Matcher(Documents(), (pattern,), ("who",), ("n",))
    events = pa.table({"time": [1, 1], "value": [line, line]})
    assert matcher.match(events).column("who").to_pylist() == ["_:e0-b", "_:e1-b"]
    later = matcher.match(events, "0x", 2).column("who").to_pylist()
    assert later == ["_:e0x2-b", "_:e0x3-b"]
    assert all(read_lines(pa.array([f"{each} <x:p> {each} ."])).bad.size == 0 for each in later)


def test_the_graphs_of_one_document_share_its_blank_nodes() -> None:
    matcher = Matcher(Documents(format="nquads"), (pattern_of("?who x:p ?n"),), ("who",), ())
    text = "_:b <x:p> <x:a> <x:g1> . _:b <x:p> <x:a> <x:g2> ."
    events = pa.table({"time": [1, 2], "value": [text, text]})
    assert matcher.match(events).column("who").to_pylist() == ["_:e0-b"] * 2 + ["_:e1-b"] * 2
