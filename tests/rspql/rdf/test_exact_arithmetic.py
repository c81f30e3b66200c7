"""Formulas in full, and where doubles can't decide."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from topwater.rspql.rdf.exact_arithmetic import DOUBLE, FLOAT, Rounding, decided, evaluated, near
from topwater.rspql.rdf.term_values import Exact
from topwater.scoring.expressions import parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + 0.2", Fraction("0.3")),
        ("a * 3 - 0.3", Fraction(0)),
        ("a / 3", Fraction(1, 30)),
        ("-abs(a)", Fraction("-0.1")),
        ("max(a, 0.05, 0.02)", Fraction("0.1")),
        ("clip(a, 0.2, 0.5)", Fraction("0.2")),
        ("9007199254740993 - 9007199254740992", Fraction(1)),
        ("sqrt(4)", 2.0),
        ("d + a", 0.5 + 0.1),
    ],
)
def test_what_is_known_in_full_stays_so(text: str, value: Exact) -> None:
    found = evaluated(parse(text).tree, {"a": Fraction("0.1"), "d": 0.5})
    assert found == value
    assert type(found) is type(value)


def test_what_has_no_value_says_so() -> None:
    for text in ("1 / a", "b * b * b * b"):
        with pytest.raises(ArithmeticError):
            evaluated(parse(text).tree, {"a": Fraction(0), "b": Fraction(1, 3**1000)})


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (Fraction("0.1"), Fraction("0.10"), True),
        (Fraction(2**53 + 1), Fraction(2**53), False),
        (Fraction(2**53 + 1), float(2**53), True),
        (Fraction("0.1"), np.float32(0.1), True),
        (0.1, np.float32(0.1), False),
    ],
)
def test_the_coarser_side_decides(left: Exact, right: Exact, equal: bool) -> None:
    assert decided("=", left, right) == equal
    assert decided("!=", left, right) != equal


def test_small_whole_numbers_are_never_in_doubt() -> None:
    columns = {"a": np.arange(-5.0, 5.0), "b": np.full(10, 3.0)}
    left, right = parse("a * b + 2 - a").tree, parse("2 * a + 2").tree
    assert not near(left, right, columns).any()


def test_the_error_of_a_formula_is_not_underestimated() -> None:
    rng = random.Random(5)
    for text in ("a + b - c", "a * b - c", "(a - b) * c", "a / b + c", "a / (b - c)"):
        tree = parse(text).tree
        for _ in range(200):
            given = {name: Fraction(rng.randrange(-999, 999), 1000) for name in "abc"}
            try:
                right = evaluated(tree, given)
            except ZeroDivisionError:
                continue
            columns = {name: np.array([float(value)]) for name, value in given.items()}
            for unit in (DOUBLE, FLOAT):
                value, error = Rounding(unit).of(tree, columns)
                assert abs(Fraction(float(value[0])) - Fraction(str(right))) <= Fraction(
                    float(error[0])
                )
