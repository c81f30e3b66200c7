"""The formulas behind weighted sums and distances: their trees, and what they give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from topwater.scoring.expressions import Call, Expression, Name, Node, Number
from topwater.scoring.sums import COMBINATIONS, offset, scaled, total_of

POINT, WEIGHTS = {"a": 1.0, "b": -2.0}, {"a": 2.0, "b": 3.0}


def depth(node: Node) -> int:
    return 1 + max(map(depth, node.args)) if isinstance(node, Call) else 0


def plus(left: Node, right: Node) -> Call:
    return Call("+", (left, right))


def test_three_terms_read_from_the_left() -> None:
    a, b, c = Name("a"), Name("b"), Name("c")
    assert total_of([a]) == a
    assert total_of([a, b, c]) == plus(plus(a, b), c)


@pytest.mark.parametrize("count", [2, 5, 64, 1_000])
def test_a_sum_is_as_flat_as_it_can_be_and_keeps_every_term(count: int) -> None:
    terms = [Number(float(n)) for n in range(count)]
    tree = total_of(terms)
    assert depth(tree) == math.ceil(math.log2(count))
    assert leaves(tree) == terms


def leaves(node: Node) -> list[Node]:
    return [each for arg in node.args for each in leaves(arg)] if isinstance(node, Call) else [node]


def test_only_a_declared_range_is_in_the_formula() -> None:
    assert scaled("a", None) == scaled("a", "running") == Name("a")
    assert scaled("a", (2.0, 8.0)) == Call("norm", (Name("a"), Number(2.0), Number(8.0)))


def test_an_offset_has_a_sign() -> None:
    assert offset("a", 3.0) == Call("-", (Name("a"), Number(3.0)))


@pytest.mark.parametrize(
    ("name", "right"),
    [("max", 12.0), ("sum", 2 * 3 + 3 * 4), ("euclidean", math.sqrt(2 * 9 + 3 * 16))],
)
def test_distances_of_one_row(name: str, right: float) -> None:
    """(4, 2) is 3 and 4 from the point; the columns count two and three times."""
    formula = COMBINATIONS[name](POINT, WEIGHTS)
    found = Expression(formula).evaluate({"a": np.array([4.0]), "b": np.array([2.0])})
    assert found.tolist() == [pytest.approx(right)]


def test_one_column_is_a_distance_too() -> None:
    for name, right in (("max", 6.0), ("sum", 6.0), ("euclidean", math.sqrt(18))):
        formula = COMBINATIONS[name]({"a": 1.0}, {"a": 2.0})
        found = Expression(formula).evaluate({"a": np.array([-2.0])})
        assert found.tolist() == [pytest.approx(right)]
