"""The order of terms is that of SPARQL, as far as SPARQL has one."""

from __future__ import annotations

import random

import numpy as np
import pyoxigraph as ox
import pytest

from topwater.rspql.rdf.term_order import places_of

XSD = "http://www.w3.org/2001/XMLSchema#"
SORTS = {
    "numbers": [f'"{text}"^^<{XSD}{kind}>' for text, kind in [
        ("10", "integer"), ("9", "integer"), ("9.5", "decimal"), ("-1000", "double"),
        (str(2**53 + 1), "integer"), (str(2**53), "integer"), ("-INF", "double"),
    ]],
    "texts": ['"b"', '"a"', '"a b"', '""', '"é"', '"B"', '"a\\"b"'],
    "IRIs": ["<x:b>", "<x:a>", "<x:a/b>", "<x:B>"],
    "truths": [f'"true"^^<{XSD}boolean>', f'"false"^^<{XSD}boolean>'],
    "moments": [
        f'"2026-01-01T12:00:00Z"^^<{XSD}dateTime>', f'"2026-01-01T12:30:00+01:00"^^<{XSD}dateTime>',
        f'"2025-12-31T23:59:59.5Z"^^<{XSD}dateTime>',
    ],
}  # fmt: skip


def ours(term: str) -> str:
    return term[1:-1] if term.startswith("<") else term


@pytest.mark.parametrize("sort", SORTS)
def test_terms_of_one_sort_are_in_the_order_of_sparql(sort: str) -> None:
    some = [*SORTS[sort]]
    random.Random(1).shuffle(some)
    values = " ".join(some)
    found = ox.Store().query(f"SELECT ?t {{ VALUES ?t {{ {values} }} }} ORDER BY ?t")
    assert isinstance(found, ox.QuerySolutions)
    wanted = [str(row["t"]) for row in found]
    places = places_of([ours(each) for each in some])
    assert [some[at] for at in sorted(range(len(some)), key=places.__getitem__)] == wanted


def test_nothing_comes_first_and_then_blank_nodes_iris_and_literals() -> None:
    values: list[float | str | None] = [
        None,
        "_:b",
        "x:a",
        f'"true"^^<{XSD}boolean>',
        2.0,
        '"a"',
        '"a"@en',
        '"a"^^<x:own>',
    ]
    places = places_of(values)
    assert places == sorted(places)
    assert len({*places}) == len(places)
    assert places_of([np.nan, f'"NaN"^^<{XSD}double>']) == places[:1] * 2


def test_equal_terms_stand_in_one_place() -> None:
    five: list[float | str | None] = [
        5.0,
        f'"5"^^<{XSD}integer>',
        f'"5.0"^^<{XSD}decimal>',
        f'"5e0"^^<{XSD}double>',
    ]
    assert len({*places_of(five)}) == 1
    noon = [f'"2026-01-01T{time}"^^<{XSD}dateTime>' for time in ("12:00:00Z", "13:00:00+01:00")]
    assert len({*places_of(noon)}) == 1
    nothing = f'"NaN"^^<{XSD}double>'
    assert places_of([nothing, five[0]]) < places_of([five[0], nothing])
