"""Comparisons of terms of all kinds, as SPARQL has them."""

from __future__ import annotations

import random
from itertools import product

import pyarrow as pa
import pyoxigraph as ox
import pytest

from tests.support.rdf_events import XSD, pattern_of
from tests.support.sparql_conditions import NAMED, TERMS, some_condition
from topwater.rspql.plan.condition_kinds import Alike, Among, Compare, Condition, Not, SameTerm
from topwater.rspql.plan.plan import Bind
from topwater.rspql.rdf.pattern_match import solutions
from topwater.rspql.rdf.triples import read_lines, term_of

PAIRS = list(product(TERMS, TERMS))
EVENTS = [f"<x:s{at}> <x:p> {a} .\n<x:s{at}> <x:q> {b} ." for at, (a, b) in enumerate(PAIRS)]


def typed(value: object, kind: str) -> str:
    return f'"{value}"^^<{XSD}{kind}>'


def holds(condition: Condition, a: str, b: str = "<x:b>", **more: object) -> bool:
    triples = read_lines(pa.array([f"<x:s> <x:p> {a} . <x:s> <x:q> {b} ."]))
    pattern = pattern_of("?s x:p ?a", "?s x:q ?b", filters=(condition,), **more)
    return len(solutions(triples, pattern)) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (typed(5, "integer"), typed("5.0", "decimal")),
        (typed("5E0", "double"), typed(5, "byte")),
        (typed(2**53, "integer"), typed(float(2**53), "double")),
        (typed("0.1", "float"), typed("0.1", "decimal")),
        (typed("2026-01-01T00:00:00Z", "dateTime"), typed("2026-01-01T01:00:00+01:00", "dateTime")),
        (typed("true", "boolean"), typed("1", "boolean")),
        ('"a"@en', '"a"@EN'),
    ],
)
def test_equal_values_are_equal_however_they_are_written(a: str, b: str) -> None:
    assert holds(Alike("a", "b"), a, b)
    assert not holds(Not(Alike("a", "b")), a, b)
    assert not holds(Not(Among("a", (term_of(b.replace("EN", "en")),))), a)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (typed(2**53, "integer"), typed(2**53 + 1, "integer")),
        (typed("0.1", "decimal"), typed("0.10000000000000000001", "decimal")),
        (typed("9" * 5000, "integer"), typed("9" * 4999 + "99", "integer")),
        ('"a"', '"b"'),
        (typed("false", "boolean"), typed("true", "boolean")),
        (typed("2026-01-01T00:00:00Z", "dateTime"), typed("2026-01-01T00:00:00.1Z", "dateTime")),
        (typed("-0001-12-31T00:00:00Z", "dateTime"), typed("20000-01-01T00:00:00Z", "dateTime")),
    ],
)
def test_what_a_double_does_not_tell_apart_is_told_apart(less: str, more: str) -> None:
    for op in ("<", "<=", "!="):
        assert holds(Compare("a", op, "b"), less, more)
        assert not holds(Not(Compare("a", op, "b")), less, more)
    for op in (">", ">=", "="):
        assert not holds(Compare("a", op, "b"), less, more)  # type: ignore[arg-type]


def test_constants_are_compared_in_full() -> None:
    large = typed(2**53 + 1, "integer")
    assert holds(Compare("a", "=", str(2**53 + 1)), large)
    assert not holds(Compare("a", "=", str(2**53)), large)
    assert not holds(Among("a", (term_of(typed(2**53, "integer")),)), large)
    assert holds(Compare("a", ">", f"-{2**53 + 1}"), typed(-(2**53), "integer"))


def test_decimals_are_added_and_divided_in_full() -> None:
    tenth, fifth = typed("0.1", "decimal"), typed("0.2", "decimal")
    assert holds(Compare("a + b", "=", "0.3"), tenth, fifth)
    assert not holds(Compare("a + b", ">", "0.3"), tenth, fifth)
    assert holds(Compare("a / 3 * 3", "=", "a"), tenth)
    assert holds(Compare("c", "=", "0.3"), tenth, fifth, binds=(Bind("c", "a + b"),))
    assert holds(Among("c", (term_of(typed("0.3", "decimal")),)), tenth, fifth,
                 binds=(Bind("c", "a + b"),))  # fmt: skip
    doubles = (typed(each, "double") for each in (0.1, 0.2))
    assert holds(Compare("a + b", ">", "0.3"), *doubles)


def test_values_are_joined_by_their_letters() -> None:
    five = (term_of(typed(5, "integer")),)
    assert holds(SameTerm("a", five), typed(5, "integer"))
    assert not holds(SameTerm("a", five), typed("5.0", "decimal"))
    assert holds(Not(SameTerm("a", five)), typed("5.0", "decimal"))


def test_not_a_number_is_equal_to_nothing() -> None:
    nan = typed("NaN", "double")
    assert not holds(Alike("a", "b"), nan, nan)
    assert holds(Not(Compare("a", "<", "5")), nan)
    assert holds(Compare("`a^^double`", "!=", "5"), nan)


@pytest.mark.parametrize("seed", range(4))
def test_terms_are_compared_as_oxigraph_does(seed: int) -> None:
    require_same_verdicts(seed, 40)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 150))
def test_many_more_terms_are_compared_as_oxigraph_does(seed: int) -> None:
    """10,000 conditions on 1,089 pairs of terms: 10.9 million comparisons."""
    require_same_verdicts(seed, 200)


def require_same_verdicts(seed: int, count: int) -> None:
    """Each condition holds for the same pairs of terms here and there."""
    rng = random.Random(seed)
    triples = read_lines(pa.array(EVENTS))
    store = ox.Store()
    store.load("\n".join(EVENTS).encode(), format=ox.RdfFormat.N_TRIPLES)
    some = 0
    for _ in range(count):
        condition, text = some_condition(rng, ["a", "b"], NAMED)
        found = solutions(triples, pattern_of("?s x:p ?a", "?s x:q ?b", filters=(condition,)))
        rows = store.query(f"SELECT ?s {{ ?s <x:p> ?a ; <x:q> ?b FILTER({text}) }}")
        assert isinstance(rows, ox.QuerySolutions)
        expected = {int(row["s"].value.removeprefix("x:s")) for row in rows}
        wrong = expected ^ set(found.event.tolist())
        assert not wrong, (text, [PAIRS[at] for at in sorted(wrong)[:3]])
        some += len(expected)
    assert some > 5_000
