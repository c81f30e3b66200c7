"""What terms are worth."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from tests.support.rdf_events import XSD
from topwater.rspql.rdf.term_values import (
    CASTS,
    cast_of,
    moment_of,
    numbers_of,
    plain_cast,
    texts_of,
    variable_in,
)


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (f'"+5"^^<{XSD}integer>', 5.0),
        (f'"007"^^<{XSD}unsignedByte>', 7.0),
        (f'".5"^^<{XSD}decimal>', 0.5),
        (f'"1e3"^^<{XSD}double>', 1_000.0),
        (f'"-INF"^^<{XSD}float>', -math.inf),
    ],
)
def test_numbers(term: str, value: float) -> None:
    values, numeric = numbers_of(pa.array([term]))
    assert (values.tolist(), numeric.tolist()) == ([value], [True])


@pytest.mark.parametrize(
    "term",
    ['"5"', '"5"@en', f'"5.0"^^<{XSD}integer>', f'"1e3"^^<{XSD}decimal>', f'" 5"^^<{XSD}integer>',
     f'"5"^^<{XSD}token>', f'"5"^^<{XSD}integerx>', f'"٣"^^<{XSD}integer>', "<x:5>", "_:5"],
)  # fmt: skip
def test_what_is_no_number(term: str) -> None:
    values, numeric = numbers_of(pa.array([term]))
    assert np.isnan(values).all()
    assert numeric.tolist() == [False]


def test_a_float_is_as_exact_as_a_float() -> None:
    values, _ = numbers_of(pa.array([f'"0.1"^^<{XSD}float>', f'"1e39"^^<{XSD}float>']))
    assert values.tolist() == [float(np.float32(0.1)), math.inf]


@pytest.mark.parametrize(
    ("term", "double", "decimal", "integer"),
    [
        ('"12"', 12, 12, 12),
        ('" 12 "', 12, 12, 12),
        ('"12.75"', 12.75, 12.75, None),
        ('"1e3"', 1000, None, None),
        ('"12"@en', None, None, None),
        ('"twelve"', None, None, None),
        (f'"12"^^<{XSD}string>'.replace(f"^^<{XSD}string>", ""), 12, 12, 12),
        (f'"-12.75"^^<{XSD}decimal>', -12.75, -12.75, -12),
        (f'"true"^^<{XSD}boolean>', 1, 1, 1),
        (f'"0"^^<{XSD}boolean>', 0, 0, 0),
        (f'"NaN"^^<{XSD}double>', math.nan, None, None),
        (f'"INF"^^<{XSD}double>', math.inf, None, None),
        (f'"2026-01-01"^^<{XSD}date>', None, None, None),
        ('"12"^^<x:own>', None, None, None),
        ("<x:12>", None, None, None),
        ("_:b", None, None, None),
    ],
)
def test_casts(
    term: str, double: float | None, decimal: float | None, integer: float | None
) -> None:
    for to, wanted in (("double", double), ("decimal", decimal), ("integer", integer)):
        values, good = cast_of(pa.array([term], pa.large_string()), to)
        assert good.tolist() == [wanted is not None], to
        if wanted is not None:
            assert values.tolist() == pytest.approx([wanted], nan_ok=True), to


def test_names_of_casts() -> None:
    assert [variable_in(f"x^^{to}") for to in CASTS] == ["x"] * len(CASTS)
    assert (plain_cast("x^^double=0.5"), plain_cast("x"), variable_in("x!")) == (
        "x^^double",
        "x",
        "x",
    )


def test_moments_are_seconds() -> None:
    def seconds(text: str) -> float:
        return float(moment_of(f'"{text}"^^<{XSD}dateTime>')[0])

    day = seconds("2024-03-01T00:00:00Z") - seconds("2024-02-28T00:00:00Z")
    assert day == 2 * 86_400
    assert seconds("2023-03-01T00:00:00Z") - seconds("2023-02-28T00:00:00Z") == 86_400
    assert seconds("2026-01-01T00:00:00-05:30") - seconds("2026-01-01T00:00:00Z") == 19_800


def test_the_characters_of_terms() -> None:
    terms = pa.array(["<x:a>", "_:b", '"a\\"b"@en', f'"5"^^<{XSD}integer>'], pa.large_string())
    texts, good = texts_of(terms, any_term=True)
    assert good.tolist() == [True, False, True, True]
    assert [text for text, ok in zip(texts.to_pylist(), good, strict=True) if ok] == [
        "x:a", 'a"b', "5",
    ]  # fmt: skip
    assert texts_of(terms, any_term=False)[1].tolist() == [False, False, True, False]
