"""``ORDER BY`` with several conditions: each window is ranked as SPARQL ranks all of it."""

from __future__ import annotations

import re
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.local import rspql
from topwater.remote import memory
from topwater.rspql import explain, parse

X = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
HEAD = f"PREFIX : <{X}> PREFIX xsd: <{XSD}>"
WIDTH, STEP = 9, 4
EVENT = "?s :v ?v ; :x ?x ; :t ?t"
QUERIES = {
    "then the name": ("?s ?v", EVENT, "", "DESC(?v) ?s"),
    "then the name, backwards": ("?s ?v", EVENT, "", "?v DESC(?s)"),
    "then a number that is not shown": ("?s ?v", EVENT, "", "DESC(?v) ?x"),
    "then a text and a number": ("?s ?v", EVENT, "", "DESC(?v) DESC(?t) DESC(?x)"),
    "then what is computed": ("?s ?v", EVENT, "", "DESC(?v) (?x * 2 - ?v) ?s"),
    "then what may have no value": ("?s ?v", EVENT, "", "DESC(?v) DESC(1 / ?x)"),
    "then what BIND computes": ("?s ?v", f"{EVENT} BIND(?x * -1 AS ?y)", "", "?v ?y DESC(?s)"),
    "then a choice": ("?s ?v", EVENT, "", 'DESC(?v) DESC(IF(?t = "b", ?x, 0)) ?s'),
    "of a computed score": ("?s (?v + ?x AS ?n)", EVENT, "", "DESC(?n) ?t DESC(?s)"),
    "of groups by the name": ("?s (COUNT(?v) AS ?n)", EVENT, "GROUP BY ?s", "DESC(?n) ?s"),
    "of groups by a mean": (
        "?s (COUNT(?v) AS ?n)", EVENT, "GROUP BY ?s", "DESC(?n) DESC(AVG(?x)) ?s",
    ),
    "of two groups": (
        "?s ?t (SUM(?x) AS ?n)", EVENT, "GROUP BY ?s ?t", "?n DESC(?t) DESC(MAX(?v) - MIN(?v)) ?s",
    ),
    "of rows that differ": ("DISTINCT ?s ?v", EVENT, "", "DESC(?v) ?s"),
    "of rows that differ, computed": (
        "DISTINCT ?v ?t (?v + ?x AS ?n) ?x", f"{EVENT} FILTER(?s != :a)", "",
        "DESC(?n) ?t DESC(IF(?v > 1, ?x, 0 - ?x))",
    ),
}  # fmt: skip
TERMS = {
    "a language": ("?s ?v (LANG(?t) AS ?l)", EVENT, "", "DESC(?v) ?l DESC(?s)"),
    "groups of a language": (
        "?l (COUNT(*) AS ?n)", f"{EVENT} BIND(LANG(?t) AS ?l)", "GROUP BY ?l", "DESC(?n) ?l",
    ),
    "a datatype": (
        "?d ?v", f"{EVENT} BIND(DATATYPE(?x) AS ?d) FILTER(?d != xsd:decimal)", "", "?v ?s",
    ),
    "a text": (
        "?n ?v", f'{EVENT} BIND(STR(?s) AS ?n) FILTER(CONTAINS(?n, "/b") || ?v > 1)', "", "?v ?n",
    ),
    "another name": (
        "?y ?v", f'{EVENT} BIND(?t AS ?y) FILTER(REGEX(STR(?y), "^[ab5]"))', "", "DESC(?v) ?s",
    ),
}  # fmt: skip
NUMBERS = st.integers(0, 2)


def events_with(terms: list[str]) -> Any:
    """Events at different times: then no order is left open."""
    one = st.tuples(
        st.integers(1, 24),
        st.sampled_from("abc"),
        NUMBERS,
        st.sampled_from(["0", "1", "1.0", "2"]),
        st.sampled_from(terms),
    )
    return st.lists(one, max_size=14, unique_by=lambda event: event[0])


CUTS = st.lists(st.integers(1, 24), max_size=3)
Event = tuple[int, str, int, str, str]


def said(event: Event) -> str:
    """An event as N-Triples."""
    _, who, v, x, t = event
    kind = "decimal" if "." in x else "integer"
    values = {"v": f'"{v}"^^<{XSD}integer>', "x": f'"{x}"^^<{XSD}{kind}>', "t": t}
    return "\n".join(f"<{X}{who}> <{X}{name}> {value} ." for name, value in values.items())


def batches(events: list[Event], cuts: list[int]) -> list[dict[str, list[Any]]]:
    ends = [*sorted({*cuts}), 99]
    parts = [[e for e in events if a < e[0] <= b] for a, b in zip([0, *ends], ends, strict=False)]
    return [
        {"time": [each[0] for each in part], "value": [said(each) for each in part]}
        for part in parts
        if part
    ]


def store_of(events: list[Event]) -> ox.Store:
    lines = []
    for number, event in enumerate(events):
        graph = f"<x:e{number}>"
        lines += [f"{line[:-1]}{graph} ." for line in said(event).splitlines()]
        lines.append(f'{graph} <{X}at> "{event[0]}"^^<{XSD}integer> .')
    store = ox.Store()
    store.load("\n".join(lines).encode(), format=ox.RdfFormat.N_QUADS)
    return store


def theirs(query: tuple[str, str, str, str], store: ox.Store, start: int) -> list[tuple[Any, ...]]:
    """All rows of a window in the order that SPARQL gives, and after that the younger first."""
    select, where, group, order = query
    younger = "" if "DISTINCT" in select else "DESC(?at)"
    if group:
        select, younger = f"{select} (MAX(?at) AS ?at_)", "DESC(MAX(?at))"
    found = store.query(
        f"{HEAD} SELECT {select} {{ GRAPH ?e {{ {where} }} ?e :at ?at "
        f"FILTER(?at > {start} && ?at <= {start + WIDTH}) }} {group} ORDER BY {order} {younger}"
    )
    assert isinstance(found, ox.QuerySolutions)
    names = [each.value for each in found.variables if each.value != "at_"]
    rows = [tuple(row[name] for name in names) for row in found]
    # What has no value is no row that can be shown.
    return [tuple(map(plain, row)) for row in rows if None not in row]


def plain(term: Any) -> Any:
    if not isinstance(term, ox.Literal):
        return term.value
    kind = term.datatype.value.removeprefix(XSD)
    return float(term.value) if kind in ("integer", "decimal", "double") else str(term)


def ours(value: Any) -> Any:
    if isinstance(value, str) and (found := re.match(rf'"([\d.]+)"\^\^<{XSD}', value)):
        return float(found[1])
    return value


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@settings(max_examples=8)
@given(events_with(['"a"', '"b"', '"c"']), CUTS, st.integers(1, 5))
def test_each_window_is_ranked_as_sparql_ranks_it(
    query: tuple[str, str, str, str], events: list[Event], cuts: list[int], k: int
) -> None:
    require_same(query, events, cuts, k)


@pytest.mark.parametrize("query", TERMS.values(), ids=TERMS)
@settings(max_examples=8)
@given(events_with(['"a"', '"b"@en', "<x:a>", '"a"@de', '"5"^^<x:own>']), CUTS, st.integers(1, 5))
def test_terms_that_are_made_of_others_are_those_of_sparql(
    query: tuple[str, str, str, str], events: list[Event], cuts: list[int], k: int
) -> None:
    require_same(query, events, cuts, k)


@pytest.mark.soak
@pytest.mark.parametrize("query", [*QUERIES.values(), *TERMS.values()], ids=[*QUERIES, *TERMS])
@settings(max_examples=200)
@given(events_with(['"a"', '"b"', '"c"']), CUTS, st.integers(1, 5))
def test_many_more_windows_are_ranked_as_sparql_ranks_them(
    query: tuple[str, str, str, str], events: list[Event], cuts: list[int], k: int
) -> None:
    require_same(query, events, cuts, k)


def require_same(
    query: tuple[str, str, str, str], events: list[Event], cuts: list[int], k: int
) -> None:
    events.sort(key=lambda event: event[0])
    select, where, group, order = query
    text = f"""{HEAD} SELECT {select} FROM NAMED WINDOW :w ON :s [RANGE {WIDTH} STEP {STEP}]
        WHERE {{ WINDOW :w {{ {where} }} }} {group} ORDER BY {order} LIMIT {k}"""  # noqa: S608
    store = store_of(events)
    answered = 0
    for told in rspql(text, streams={":s": batches(events, cuts)}):
        window = told.answer.window
        expected = theirs(query, store, window.start)
        rows = [tuple(ours(value) for value in row.values()) for row in told.rows]
        assert [row.rank for row in told.answer.rows] == [*range(1, len(rows) + 1)]
        assert rows == expected[:k]
        answered += len(rows) > 0
    starts = range(0, 24, STEP)
    assert answered == sum(bool(theirs(query, store, start)) for start in starts)


def rows_of(text: str, events: list[Event]) -> list[list[dict[str, Any]]]:
    streams = {":s": batches(sorted(events), [])}
    return [told.rows for told in rspql(f"{HEAD} {text}", streams=streams)]


TIED: list[Event] = [(1, "a", 1, "1", '"b"'), (2, "b", 1, "2", '"a"'), (3, "c", 1, "0", '"a"')]


def test_windows_by_count_know_several_conditions_too() -> None:
    text = """SELECT ?s FROM NAMED WINDOW :w ON :s [ELEMENTS 3]
        WHERE { WINDOW :w { ?s :v ?v ; :x ?x } } ORDER BY DESC(?v) DESC(?x) LIMIT 2"""
    assert rows_of(text, TIED) == [[{"s": f"{X}b"}, {"s": f"{X}a"}]]


def test_joined_windows_know_several_conditions_too() -> None:
    text = """SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE 9]
        WHERE { WINDOW :w { ?a :v ?v } WINDOW :w { ?b :x ?x } } ORDER BY DESC(?v) ?x ?a LIMIT 4"""
    found = [(row["a"][-1], row["b"][-1]) for row in rows_of(text, TIED)[0]]
    assert found == [("a", "c"), ("b", "c"), ("c", "c"), ("a", "a")]


def test_triples_come_in_the_finer_order() -> None:
    text = f"""{HEAD} CONSTRUCT {{ ?s :is ?x }} FROM NAMED WINDOW :w ON :s [RANGE 9]
        WHERE {{ WINDOW :w {{ ?s :v ?v ; :x ?x }} }} ORDER BY ?v ?x LIMIT 2"""
    (told,) = rspql(text, streams={":s": batches(TIED, [])})
    assert [line.split()[0] for line in told.triples] == [f"<{X}c>", f"<{X}a>"]


def test_of_equals_only_the_k_best_of_a_pane_are_held() -> None:
    text = f"""{HEAD} SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 10 STEP 5]
        WHERE {{ WINDOW :w {{ ?s :v ?v ; :x ?x }} }} ORDER BY DESC(?v) ?x ?s LIMIT 3"""  # noqa: S608
    many: list[Event] = [(1 + n // 50, f"s{n:03}", 1, str(n * 7 % 10), '"a"') for n in range(500)]
    cuts = [2, 4, 6, 8]
    told = list(rspql(text, streams={":s": batches(many, cuts)}))
    assert [[row["s"][-4:] for row in each.rows] for each in told] == [
        ["s000", "s010", "s020"], ["s250", "s260", "s270"],
    ]  # fmt: skip
    assert max(each.answer.candidates for each in told) <= 3


def test_values_that_are_looked_up_are_ranked_by_one_condition() -> None:
    text = f"""{HEAD} SELECT ?s ?v FROM NAMED WINDOW :w ON :s [RANGE 9]
        WHERE {{ WINDOW :w {{ ?s :v ?v }} SERVICE :far {{ ?s :f ?f }} }}
        ORDER BY DESC(?v + ?f) ?s LIMIT 3"""  # noqa: S608
    with pytest.raises(QueryError, match=r"line 3, .*more than one condition") as no:
        parse(text, services={":far": memory({})})
    assert "one expression" in no.value.fix


def test_a_row_without_what_it_shows_is_left_out_and_counted() -> None:
    text = f"""{HEAD} SELECT ?s (LANG(?t) AS ?l) FROM NAMED WINDOW :w ON :s [RANGE 9]
        WHERE {{ WINDOW :w {{ ?s :v ?v ; :t ?t }} }} ORDER BY ?v LIMIT 3"""  # noqa: S608
    some: list[Event] = [(1, "a", 1, "1", "<x:a>"), (2, "b", 2, "1", '"b"@en')]
    (told,) = rspql(text, streams={":s": batches(some, [])})
    assert told.rows == [{"s": f"{X}b", "l": '"en"'}]
    assert told.answer.counts.bad_key == 1


def test_what_decides_is_explained() -> None:
    text = f"""{HEAD} SELECT ?s (COUNT(?v) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 9]
        WHERE {{ WINDOW :w {{ ?s :v ?v ; :x ?x }} }}
        GROUP BY ?s ORDER BY DESC(?n) DESC(AVG(?x)) ?s LIMIT 3"""  # noqa: S608
    told = explain(text)
    assert "then mean_x, the largest first; ?s, the smallest first" in told
    assert "the 3 best of each window" in told
    assert "2,147" not in told
    assert "what is equal in all of ORDER BY" in told


@pytest.mark.parametrize(
    ("block", "held"),
    [
        ("", "at most k of each pane: 3 × 1 = 3 solutions"),
        ("WINDOW :w { ?s :y ?y }", "what the blocks find, until no window needs it"),
    ],
)
def test_what_is_held_is_explained(block: str, held: str) -> None:
    told = explain(
        f"{HEAD} SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 9] "  # noqa: S608
        f"WHERE {{ WINDOW :w {{ ?s :v ?v }} {block} }} ORDER BY DESC(?v) ?s LIMIT 3"
    )
    assert held in told
