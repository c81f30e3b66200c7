"""Which rows fulfil a condition, might, or never can."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.scoring.condition import Comparison, Condition, Several
from topwater.scoring.condition_parser import read_condition
from topwater.scoring.expressions import parse

SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
values = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, np.nan])
comparisons = st.builds(
    lambda sign, left, right: Comparison(sign, parse(left), parse(right)),
    st.sampled_from([*SIGNS]),
    st.sampled_from(["a", "b", "a + b", "a * b"]),
    st.sampled_from(["0", "1", "-1", "a", "b - 1"]),
)
trees = st.recursive(
    comparisons,
    lambda parts: st.builds(
        Several, st.sampled_from(["and", "or"]), st.lists(parts, min_size=2, max_size=3).map(tuple)
    ),
    max_leaves=5,
)


def slowly(part: Any, row: dict[str, float]) -> bool:
    """The same for one row, word by word."""
    if isinstance(part, Several):
        join = all if part.word == "and" else any
        return join(slowly(each, row) for each in part.parts)
    columns = {name: np.array([value]) for name, value in row.items()}
    left = part.left.evaluate(columns)[0]
    right = part.right.evaluate(columns)[0]
    if np.isnan(left) or np.isnan(right):
        return False
    return bool(SIGNS[part.op](left, right))


@given(trees, st.lists(st.tuples(values, values), min_size=1, max_size=5))
def test_it_holds_where_each_comparison_says_so(tree: Any, rows: list[tuple[float, float]]) -> None:
    columns = {"a": np.array([a for a, _ in rows]), "b": np.array([b for _, b in rows])}
    assert Condition(tree).holds(columns).tolist() == [
        slowly(tree, {"a": a, "b": b}) for a, b in rows
    ]


@given(trees, values.filter(np.isfinite), st.lists(values.filter(np.isfinite), min_size=1))
def test_what_holds_for_some_value_may_hold(tree: Any, a: float, seen: list[float]) -> None:
    condition = Condition(tree)
    columns = {"a": np.full(len(seen), a), "b": np.array(seen)}
    may = condition.may_hold({"a": np.array([a])}, {"b": (min(seen), max(seen))})
    assert may[0] or not condition.holds(columns).any()


@given(trees, st.tuples(values, values))
def test_the_opposite_holds_where_it_does_not_unless_something_is_missing(
    tree: Any, row: tuple[float, float]
) -> None:
    columns = {"a": np.array([row[0]]), "b": np.array([row[1]])}
    held, other = (Condition(each).holds(columns)[0] for each in (tree, tree.opposite))
    assert not (held and other)
    if not np.isnan(row).any():
        assert held or other


@pytest.mark.parametrize(
    "text",
    [
        "stock > 5 and stock < 3",
        "stock > 3 and stock < 3",
        "stock == 1 and stock == 2",
        "1 > 2",
        "n < 1",
        "(stock > 5 and stock < 3) or n <= 0",
        "stock > 5 and (stock < 3 or stock == 4)",
        "abs(price) < 0",
    ],
)
def test_what_can_never_hold_is_known(text: str) -> None:
    assert not read_condition(text).can_hold({"n": (1.0, np.inf)})


@pytest.mark.parametrize(
    "text", ["stock > 5", "stock >= 3 and stock <= 3", "a != a + 0 or n > 3", "n >= 1", "a < b"]
)
def test_what_can_hold_is_left(text: str) -> None:
    assert read_condition(text).can_hold({"n": (1.0, np.inf)})


def test_it_tells_its_columns_once() -> None:
    assert read_condition("b > a and (a < 3 or c == b)").columns == ("b", "a", "c")


def test_conditions_are_equal_by_their_parts() -> None:
    assert read_condition("a>1 AND b<=2") == read_condition("(a > 1) and (b <= 2)")
