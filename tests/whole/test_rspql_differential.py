"""Random queries over random events: each window's answer equals the same SPARQL on Oxigraph.

The streaming parts are taken out of the query: the window becomes ``GRAPH ?event``, with the
events of the window as named graphs, because patterns join inside one event; the service becomes
a graph with its data; and where the plan says ``last``, the query says which solution that is.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyoxigraph as ox
import pytest
from rdflib import URIRef

from topwater import run
from topwater.model import Answer, Fetched, KeyArray
from topwater.remote.sparql_source import SparqlSource
from topwater.rspql import Plan, parse
from topwater.rspql.plan.projection import solutions_of
from topwater.rspql.rdf.event_format import Documents
from topwater.rspql.rdf.pattern_match import Matcher
from topwater.rspql.rdf.term_values import DATATYPES

X = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PREFIX = f"PREFIX : <{X}> PREFIX xsd: <{XSD}> PREFIX rdf: <{RDF}>"
WIDTH, STEP = 10_000, 5_000


@dataclass
class Query:
    """A random query, in pieces."""

    triples: list[str]
    filters: list[str]
    select: str
    score: str
    k: int
    order: str
    service: str = ""
    group: str = ""
    having: str = ""
    shown: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)

    @property
    def multiplies(self) -> bool:
        """Would a second remote value change what is counted or added up?"""
        parts = (self.score, self.select, self.having)
        return not self.group or "?f" in self.group or any(
            word in part for part in parts for word in ("COUNT", "SUM", "SAMPLE")
        )  # fmt: skip

    @property
    def pattern(self) -> str:
        return " ".join([*self.triples, *self.filters])

    def rspql(self) -> str:
        budget = "WITH BUDGET 1000 FETCHES POLICY wsj-lru" if self.service else ""
        return f"""{PREFIX}
            REGISTER RSTREAM :q AS SELECT {self.select} ({self.score} AS ?score)
            FROM NAMED WINDOW :W ON :S [RANGE PT10S STEP PT5S]
            WHERE {{ WINDOW :W {{ {self.pattern} }} {self.service} }}
            {self.group} {self.having} ORDER BY {self.order}(?score) LIMIT {self.k} {budget}"""  # noqa: S608

    def sparql(self, plan: Plan) -> str:
        """The same, of the window's events; and when each solution was last heard of."""
        said = f"GRAPH ?event {{ {self.pattern} }} ?event :at ?at ."
        if not isinstance(plan.take, str) and not self.group:
            # A solution without the numbers that the score needs is none.
            usable = " ".join(f"FILTER(isNumeric({each}))" for each in self.numbers)
            later = re.sub(r"\?(?!u\b)(\w+)", r"?\g<1>2", f"{self.pattern} {usable}")
            said += f""" FILTER NOT EXISTS {{ GRAPH ?event2 {{ {later} }} ?event2 :at ?at2 .
                FILTER(?at2 > ?at) }}"""
        remote = self.service.replace("SERVICE :BKG", "GRAPH :BKG")
        when = "(MAX(?at) AS ?when)" if self.group else "(?at AS ?when)"
        return f"""{PREFIX} SELECT {self.select} ({self.score} AS ?score) {when}
            WHERE {{ {said} {remote} }} {self.group} {self.having} ORDER BY {self.order}(?score)"""


def some_query(rng: random.Random) -> Query:
    triples = ["?u :p0 ?a ."]
    two = rng.random() < 0.5
    if two:
        triples.append("?u :p1 ?b .")
    if rng.random() < 0.3:
        triples.append(rng.choice(['?u :tag "red" .', "?u :tag ?t .", "?who :knows ?u ."]))
    choices = ["?a > 2", "?a IN (1, 2, 3, 7)", "?u != :u3", "?a < 2 || ?a >= 5", "!(?a = 4)"]
    if rng.random() < 0.3:
        triples.append("?u :big ?g ; :other ?h .")
        choices += ["?g = ?h", "?g != ?h", "?g < ?h", f"?g > {2**53}", f"?g IN ({2**53 + 1}, 1.0)"]
    if cast := rng.random() < 0.3:
        triples.append("?u :text ?x .")
        choices += ["xsd:double(?x) > 3", "xsd:integer(?x) != 7", "?x != ?a", '?x = "7" || ?a = 7']
        choices += ['LANG(?x) = "en"', 'LANG(?x) != "" || ?a > 4', 'LANGMATCHES(LANG(?x), "EN")']
        choices += ["DATATYPE(?x) = xsd:string", "DATATYPE(?x) IN (xsd:integer, rdf:langString)"]
    choices += ["isNumeric(?a)", "(?a * 2) - 1 <= 9 && isIRI(?u)"]
    choices += ["DATATYPE(?a) != xsd:decimal", 'CONTAINS(STR(DATATYPE(?a)), "d")']
    choices += ["ROUND(?a) = ?a", "CEIL(?a / 3) > FLOOR(?a / 2)", "IF(isIRI(?a), 5, ?a) >= 3"]
    choices += ["?a + ?b <= 12", "?a = ?b || ?a > ?b", "?a = ?b", "?a != ?b"] if two else []
    choices += ['CONTAINS(?t, "e")', '?t != "red"'] if "?u :tag ?t ." in triples else []
    filters = [f"FILTER({each})" for each in rng.sample(choices, rng.choice([0, 0, 1, 2]))]
    bound = rng.random() < 0.3
    if bound:
        computed = rng.choice(["?a * 2 + 1", "IF(DATATYPE(?a) = xsd:decimal, ?a, ROUND(?a) * 2)"])
        filters.insert(rng.randrange(len(filters) + 1), f"BIND({computed} AS ?c)")
    numbers = ["?a", *(["?b"] if two else []), *(["?c"] if bound else [])]
    numbers += ["xsd:double(?x)"] if cast else []
    numbers += [rng.choice(["ROUND(?a - 2.5)", "CEIL(?a * 0.5)", "FLOOR(?a)"])] * (
        rng.random() < 0.3
    )
    chosen = ["IF(isNumeric(?a) && ?a > 3, ?a, 2)", "IF(?u = :u3 || ?a < 4, ROUND(?a), 1 - ?a)"]
    numbers += [rng.choice(chosen)] * (rng.random() < 0.3)
    service = rng.choice(
        ["", "SERVICE :BKG { ?u :f ?f }", "OPTIONAL { SERVICE :BKG { ?u :f ?f } }"]
    )
    remote = "" if not service else "COALESCE(?f, 3)" if "OPTIONAL" in service else "?f"
    if remote == "?f" and rng.random() < 0.4:
        service += rng.choice([" FILTER(?f > 4)", " FILTER(?f != 5 && ?f <= 9)"])
    if service and rng.random() < 0.3:
        service += " BIND(?a * 3 - 1 AS ?d)"
        numbers.append("?d")
    order = rng.choice(["DESC", "DESC", "ASC"])
    if rng.random() < 0.6:
        return _grouped(rng, triples, filters, numbers, service, order)
    score = " + ".join(f"{rng.choice(['0.5', '2', '0.25'])} * {each}" for each in numbers)
    score = f"{score} + {rng.choice(['1', '0.5'])} * {remote}" if remote else score
    k = rng.randrange(1, 5)
    return Query(
        triples,
        filters,
        "?u",
        score,
        k,
        order,
        service,
        shown=["u"],
        numbers=["?a", *(each for each in numbers if each != "?d")],
    )


def _grouped(
    rng: random.Random,
    triples: list[str],
    filters: list[str],
    numbers: list[str],
    service: str,
    order: str,
) -> Query:
    """Aggregates of the stream, and perhaps a remote value: a group's solutions share one."""
    one, other = rng.choice(numbers), rng.choice(numbers)
    # Which of a number and a text is the greater is left open; of a product it is an error.
    aggregates = ["COUNT(*)", "COUNT(?a)", f"SUM({one})", f"MAX({one} * 1)", f"MIN({other} * 1)"]
    first, second = rng.sample(aggregates, 2)
    if rng.random() < 0.3:  # never times something: a decimal of Oxigraph overflows then
        second = f"AVG({other})"
    score = rng.choice([first, f"0.5 * {first} + {second}"])
    if not service and rng.random() < 0.3:
        tests = [f"COUNT(*) > 2 || {first} > 9", f"!({second} < 8)", f"{first} IN (1, 2, 3)"]
        score = f"IF({rng.choice(tests)}, ROUND({first} / 2), {second}) + 1"
    having = rng.choice(["", "", "HAVING(COUNT(*) > 1)", f"HAVING({first} >= 2)"])
    group = "GROUP BY ?u"
    if service:
        remote = rng.choice(["?f", "MAX(?f)", "SAMPLE(?f)"])
        group += " ?f" if remote == "?f" else ""
        if "OPTIONAL" in service:
            remote = f"COALESCE({remote}, 3)"
        elif not having and rng.random() < 0.3:
            having = f"HAVING({remote.replace('?f', 'MAX(?f)') if remote == '?f' else remote} > 3)"
        score = rng.choice([remote, f"{score} + {remote}", f"{score} + 0.5 * {remote}"])
    select = rng.choice(["?u", f"?u ({second} AS ?extra)"])
    names = ["u", "extra"] if "extra" in select else ["u"]
    k = rng.randrange(1, 5)
    return Query(triples, filters, select, score, k, order, service, group, having, shown=names)


def literal(value: object, kind: str = "integer") -> str:
    return f'"{value}"^^<{XSD}{kind}>'


def some_number(rng: random.Random) -> str:
    """Mostly a number, of any datatype; sometimes what only looks like one."""
    value = rng.randrange(9)
    odd = [f'"{value}"', literal("true", "boolean"), '"many"@en', f"<{X}u{value}>"]
    numbers = [literal(value), literal(value, "byte"), literal(f"{value}.0", "decimal")]
    numbers += [literal(f"{value}.5", "decimal"), literal(f"{value}.25E0", "double")]
    return rng.choice(odd) if rng.random() < 0.08 else rng.choice(numbers)


def some_events(rng: random.Random) -> list[tuple[int, str]]:
    """Events at different times: each says one thing of a user, or of two; some say it again."""
    times = [*rng.sample(range(1, 40_000), 120), WIDTH, WIDTH + STEP]
    events: list[tuple[int, str]] = []
    for at in sorted(set(times)):
        if events and rng.random() < 0.1:
            events.append((at, events[-1][1]))
            continue
        lines = []
        for user in rng.sample(range(8), rng.choice([1, 1, 2])):
            name = "_:b" if user == 7 else f"<{X}u{user}>"
            lines += [f"{name} <{X}p0> {some_number(rng)} ."]
            if rng.random() < 0.7:
                lines += [f"{name} <{X}p1> {some_number(rng)} ."]
            if rng.random() < 0.5:
                lines += [f'{name} <{X}tag> "{rng.choice(["red", "green", "blue"])}" .']
            if rng.random() < 0.3:
                lines += [f"<{X}u{rng.randrange(7)}> <{X}knows> {name} ."]
            for predicate in ("big", "other"):
                kind = rng.choice(["integer", "integer", "decimal", "double"])
                lines += [f"{name} <{X}{predicate}> {literal(2**53 + rng.randrange(3), kind)} ."]
            text = rng.choice(['"7"', '"12.5"', '"1e1"', '"x"', '"7"@en', literal(3)])
            lines += [f"{name} <{X}text> {text} ."]
        rng.shuffle(lines)
        events.append((at, "\n".join(dict.fromkeys(lines))))
    return events


def some_background(rng: random.Random, query: Query) -> str:
    """What the service knows, of most users; of some several numbers, if that says something."""
    lines = []
    for user in range(7):
        if rng.random() < 0.2:
            continue
        values = [literal(rng.randrange(12))]
        if "OPTIONAL" not in query.service and rng.random() < 0.2:
            values = [rng.choice([f'"{rng.randrange(12)}"', literal("true", "boolean")])]
        elif not query.multiplies and "FILTER" not in query.service and rng.random() < 0.4:
            values += [literal(f"{rng.randrange(12)}.5", "decimal")]
        lines += [f"<{X}u{user}> <{X}f> {value} ." for value in values]
    return "\n".join(lines)


class InProcess:
    """The source that a plan describes, with a store in place of an endpoint."""

    punctual = True

    def __init__(self, plan: Plan, data: str) -> None:
        assert plan.service is not None
        service = plan.service
        self.writes = SparqlSource(
            "http://127.0.0.1:9/",
            service.pattern,
            key=service.key,
            value=f"{service.pick}({service.value})" if service.pick else service.value,
            typed=service.typed,
        )
        self.store = ox.Store()
        self.store.load(data.encode(), format=ox.RdfFormat.N_TRIPLES)

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        rows = self.store.query(self.writes.query(keys.tolist()))
        assert isinstance(rows, ox.QuerySolutions)
        told = rows.serialize(format=ox.QueryResultsFormat.JSON)
        assert told is not None
        asked = {key: key for key in keys.tolist()}
        found = self.writes._matches(json.loads(told)["results"]["bindings"], asked)
        return found.fetched(keys.tolist(), 0.0)


def ours(
    query: Query, plan: Plan, events: list[tuple[int, str]], data: str, rng: random.Random
) -> list[Answer]:
    source = InProcess(plan, data) if query.service else None
    matcher = Matcher.of(plan, URIRef(f"{X}S"), Documents())
    cuts = [0, *sorted(rng.sample(range(len(events)), 4)), len(events)]
    tables = [
        matcher.match(
            pa.table({"time": [at for at, _ in part], "value": [t for _, t in part]}), first=first
        )
        for first, part in ((a, events[a:b]) for a, b in pairwise(cuts))
        if part
    ]
    return list(run(plan.query(), tables, source=source))


def store_of(events: list[tuple[int, str]], data: str, closes: int) -> ox.Store:
    """The events of a window as named graphs, when they were, and the service's data."""
    store = ox.Store()
    lines = [line.removesuffix(".") + f"<{X}BKG> ." for line in data.splitlines()]
    for at, text in events:
        if closes - WIDTH < at <= closes:
            graph = f"<x:e{at}>"
            text = text.replace("_:b", f"_:b{at}")
            lines += [line.removesuffix(".") + f"{graph} ." for line in text.splitlines()]
            lines.append(f'{graph} <{X}at> "{at}"^^<{XSD}integer> .')
            lines.append(f'_:b{at} <{X}blank> "_:b{at}" .')
    store.load("\n".join(lines).encode(), format=ox.RdfFormat.N_QUADS)
    return store


def theirs(query: Query, plan: Plan, store: ox.Store) -> list[tuple[Any, ...]]:
    """The k best by our rule for ties: the younger, then the smaller key."""
    found = store.query(query.sparql(plan))
    assert isinstance(found, ox.QuerySolutions)
    # Oxigraph gives blank nodes names of its own.
    blank = ox.NamedNode(f"{X}blank")
    named: Any = store.quads_for_pattern(None, blank, None)
    names = {each.subject: each.object.value for each in named}
    rows = []
    for row in found:
        score = _number(row["score"])
        if score is None:  # an error, as of an aggregate of nothing, or of texts
            continue
        shown = tuple(
            names.get(row[name], row[name].value) if name == "u" else _number(row[name])
            for name in query.shown
        )
        rows.append((round(score, 9), -int(row["when"].value), shown, score))
    sign = -1 if query.order == "DESC" else 1
    rows.sort(key=lambda row: (sign * row[0], row[1], row[2][0]))
    return [(*shown, score) for _, _, shown, score in rows[: query.k]]


def _number(term: Any) -> float | None:
    """The number that a term is, if it is one."""
    if not isinstance(term, ox.Literal) or term.datatype.value.removeprefix(XSD) not in DATATYPES:
        return None
    return float(term.value)


def named(key: str, events: list[tuple[int, str]]) -> str:
    """A key with its blank node named as in the store: after the time of its event."""
    found = re.fullmatch(r"_:e(\d+)-b", key)
    return key if found is None else f"_:b{events[int(found[1])][0]}"


@pytest.mark.parametrize("seed", range(100))
def test_each_window_is_what_sparql_says_of_it(seed: int) -> None:
    rows, strict = require_same_answers(seed)
    assert rows or strict


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 2_500, 50))
def test_many_more_windows_are_what_sparql_says_of_them(first: int) -> None:
    """1,500 queries, each over 120 events in some 10 windows."""
    told = [require_same_answers(seed)[0] for seed in range(first, first + 50)]
    assert sum(rows > 0 for rows in told) > 40, "most queries have rows to compare"


def require_same_answers(seed: int) -> tuple[int, bool]:
    """A random query over random events gives what Oxigraph gives of each window.

    Returns how many rows that were, and whether the query itself may leave none.
    """
    rng = random.Random(seed)
    query = some_query(rng)
    events, data = some_events(rng), some_background(rng, query)
    plan = parse(query.rspql(), services=[":BKG"])
    answers = ours(query, plan, events, data, rng)
    assert len(answers) >= 3 or query.filters
    told_of = {answer.window.end for answer in answers}
    for closes in {*range(WIDTH, 40_000, STEP)} - told_of:
        assert not theirs(query, plan, store_of(events, data, closes))
    some = 0
    for answer in answers:
        expected = theirs(query, plan, store_of(events, data, answer.window.end))
        found = solutions_of(plan, answer)
        told = (query.rspql(), answer.window)
        assert len(found) == len(expected), (told, found, expected)
        for mine, right in zip(found, expected, strict=True):
            assert named(mine[0], events) == right[0], (told, found, expected)
            assert mine[1:] == pytest.approx(right[1:]), told
        # Where the service has nothing to say of any key, that is a problem and no exact answer.
        assert answer.exact or (answer.freshness and answer.freshness.nothing_usable), told
        some += len(found)
    return some, bool(query.having or query.filters)
