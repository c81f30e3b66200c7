"""Tree → text: no more parentheses than needed, and the same tree when it is read again."""

from __future__ import annotations

import pytest

from topwater.scoring.expressions import parse
from topwater.scoring.formula_text import leaf_text
from topwater.scoring.tree import ATOM, NEGATIVE, Name, Number


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("((a))+(b)", "a + b"),
        ("(a - b) - c", "a - b - c"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a ** b) ** c", "(a ** b) ** c"),
        ("a ** (b ** c)", "a ** b ** c"),
        ("(-a) ** 2", "(-a) ** 2"),
        ("-(a ** 2)", "-a ** 2"),
        ("(-2) ** a", "(-2) ** a"),
        ("2 * -a", "2 * -a"),
        ("max( a,b )", "max(a, b)"),
        ("`x y` + 1.0", "`x y` + 1"),
    ],
)
def test_only_needed_parentheses_are_written(given: str, text: str) -> None:
    assert str(parse(given)) == text
    assert parse(text) == parse(given)


def test_leaves_bind_tightest_but_for_negative_numbers() -> None:
    assert leaf_text(Name("a")) == ("a", ATOM)
    assert leaf_text(Name("a`b")) == ("`a``b`", ATOM)
    assert leaf_text(Number(0.5)) == ("0.5", ATOM)
    assert leaf_text(Number(-2.0)) == ("-2", NEGATIVE)
    assert leaf_text(Number(1e300))[0] == "1e+300"
