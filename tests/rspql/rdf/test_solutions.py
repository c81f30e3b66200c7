"""Solutions as columns: numbers, bindings, and conditions with three values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rdflib.term import Literal, URIRef

from tests.support.rdf_events import XSD, pattern_of
from topwater.rspql.plan.condition_kinds import (
    Alike,
    AllOf,
    Among,
    AnyOf,
    Compare,
    Condition,
    Kind,
    Not,
    Text,
)
from topwater.rspql.plan.plan import Bind
from topwater.rspql.rdf.pattern_match import solutions
from topwater.rspql.rdf.solutions import Bindings
from topwater.rspql.rdf.term_values import DATATYPES
from topwater.rspql.rdf.triples import read_lines

TERMS = pa.array(
    ["<x:a>", "_:b", '"Ruby"', '"two"@en', f'"2"^^<{XSD}integer>', f'"2.0"^^<{XSD}decimal>',
     f'"-1"^^<{XSD}double>'],
    pa.large_string(),
)  # fmt: skip
ALL = np.arange(len(TERMS))
BINDINGS = Bindings(ALL, {"t": ALL, "u": ALL[::-1].copy()}, TERMS)
"""?t is bound to each term, and ?u to each from the end."""


def test_text_is_compared_by_its_characters() -> None:
    terms = ['"a\\"b"', '"a\\\\b"', f'"1"^^<{XSD}integer>', '"l1\\nl2"@en', '"Ääh"']
    triples = read_lines(pa.array([f"<x:a> <x:p> {term} ." for term in terms]))

    def passing(test: Any, text: str, **more: Any) -> list[int]:
        pattern = pattern_of("?a x:p ?t", filters=(Text(test, "t", text, **more),))
        return [int(each) for each in solutions(triples, pattern).event]

    assert passing("contains", '"') == [0]
    assert passing("contains", "\\") == [1]
    assert passing("regex", "^[a1]") == [0, 1]
    assert passing("regex", "^[a1]", of="str") == [0, 1, 2]
    assert passing("regex", "\nL", ignore_case=True) == [3]
    assert passing("starts", "ä", ignore_case=True) == [4]


@pytest.mark.parametrize(
    ("condition", "holds", "fails"),
    [
        (Compare("t", ">", "1"), [4, 5], [6]),
        (Compare("t", "=", "2"), [4, 5], [0, 1, 2, 3, 6]),
        (Compare("1 / (t + 1)", ">", "0"), [4, 5], []),
        (Kind("t", "iri"), [0], [1, 2, 3, 4, 5, 6]),
        (Kind("t", "blank"), [1], [0, 2, 3, 4, 5, 6]),
        (Kind("t", "literal"), [2, 3, 4, 5, 6], [0, 1]),
        (Kind("t", "numeric"), [4, 5, 6], [0, 1, 2, 3]),
        (Among("t", (URIRef("x:a"), Literal(2))), [0, 4, 5], [1, 2, 3, 6]),
        (Alike("t", "u"), [3], [0, 1, 2, 4, 5, 6]),
        (Text("contains", "t", "u"), [2], [3]),
        (Text("contains", "t", "x", of="str"), [0], [2, 3, 4, 5, 6]),
        (AllOf((Compare("t", ">", "1"), Kind("t", "literal"))), [4, 5], [0, 1, 6]),
        (AnyOf((Compare("t", ">", "1"), Kind("t", "iri"))), [0, 4, 5], [6]),
    ],
)
def test_a_condition_holds_or_fails_or_is_an_error(
    condition: Condition, holds: list[int], fails: list[int]
) -> None:
    """Of an error neither the condition nor its negation holds."""
    assert np.flatnonzero(BINDINGS.holds(condition)).tolist() == holds
    assert np.flatnonzero(BINDINGS.holds(Not(condition))).tolist() == fails
    assert np.flatnonzero(BINDINGS.holds(Not(Not(condition)))).tolist() == holds


def test_conditions_on_numbers_that_were_computed() -> None:
    bound = BINDINGS.with_bound(Bind("n", "t * 2"))
    assert np.flatnonzero(bound.holds(Among("n", (Literal(4),)))).tolist() == [4, 5]
    assert np.flatnonzero(bound.holds(Kind("n", "numeric"))).tolist() == [4, 5, 6]
    assert np.flatnonzero(bound.holds(Kind("n", "iri"))).tolist() == []
    assert np.flatnonzero(bound.holds(Alike("n", "t"))).tolist() == []


def test_another_name_for_a_term_is_that_term() -> None:
    bound = BINDINGS.with_bound(Bind("again", "t"))
    assert bound.codes["again"].tolist() == ALL.tolist()
    assert not bound.bound


def test_a_number_that_comes_of_dividing_by_zero_is_an_error() -> None:
    values, good = BINDINGS.computed("1 / (t + 1)")
    assert good.tolist() == [False] * 4 + [True, True, False]
    assert values[4] == 1 / 3
    assert np.isnan(values[6])
    assert BINDINGS.computed("7")[0].tolist() == [7.0] * len(ALL)


def test_some_of_the_solutions() -> None:
    some = BINDINGS.with_bound(Bind("n", "t * 2")).take(np.array([4, 0]))
    assert len(some) == 2
    assert some.event.tolist() == some.codes["t"].tolist() == [4, 0]
    assert some.numbers("n")[0].tolist()[0] == 4.0
    assert some.numbers("n")[1].tolist() == [True, False]


def test_the_datatypes_of_numbers() -> None:
    found = BINDINGS.kinds("t")
    assert [DATATYPES[int(each)] for each in found[4:]] == ["integer", "decimal", "double"]
    assert np.isnan(found[:4]).all()
    halves = BINDINGS.take(ALL[4:]).with_bound(Bind("n", "t / 4"))
    assert [DATATYPES[int(each)] for each in halves.kinds("n")] == ["decimal"] * 3
    whole = BINDINGS.take(ALL[4:]).with_bound(Bind("n", "t * 2"))
    assert {DATATYPES[int(each)] for each in whole.kinds("n")} == {"integer"}
