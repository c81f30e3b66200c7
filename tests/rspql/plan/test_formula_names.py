"""Names in formulas and conditions, and other names for them."""

from __future__ import annotations

import pytest

from topwater.rspql.plan.condition_kinds import Alike, AllOf, AnyOf, Compare, Condition, Kind, Not
from topwater.rspql.plan.formula_names import (
    columns,
    free_name,
    ordered,
    renamed_condition,
    renamed_tree,
)
from topwater.scoring.aggregates import RESERVED
from topwater.scoring.expressions import Expression, parse

OTHERS = {"a": "x", "b": "a b"}


def test_names_in_the_order_of_their_first_use() -> None:
    tree = parse("b + max(a, b) * c").tree
    assert ordered(tree) == ("b", "a", "c")
    assert columns(tree) == {"a", "b", "c"}
    assert columns(parse("3").tree) == set()


def test_all_names_are_changed_at_once() -> None:
    tree = renamed_tree(parse("a + b * max(a, 3) - c").tree, {"a": "b", "b": "a"})
    assert str(Expression(tree)) == "b + a * max(b, 3) - c"


@pytest.mark.parametrize(
    ("condition", "renamed"),
    [
        (Compare("a + 1", "<", "b"), Compare("x + 1", "<", "`a b`")),
        (Not(Compare("a", "<", "3")), Not(Compare("x", "<", "3"))),
        (AllOf((Compare("a", "<", "3"),)), AllOf((Compare("x", "<", "3"),))),
        (AnyOf((Compare("c", "<", "a"),)), AnyOf((Compare("c", "<", "x"),))),
        (Kind("a", "iri"), Kind("a", "iri")),
        (Alike("a", "b"), Alike("a", "b")),
    ],
)
def test_numbers_get_other_names_and_terms_keep_theirs(
    condition: Condition, renamed: Condition
) -> None:
    assert renamed_condition(condition, OTHERS) == renamed


@pytest.mark.parametrize(
    ("name", "taken", "free"),
    [
        ("user", {"user", "user_"}, "user__"),
        ("été", set(), "été"),
        ("1", set(), "v_1"),
        ("a·b", set(), "a·b"),
        ("x\U0001f600y", set(), "x_y"),
        ("a b", set(), "a_b"),
    ],
)
def test_a_name_that_is_free(name: str, taken: set[str], free: str) -> None:
    assert free_name(name, taken) == free
    assert free_name(name, taken).isidentifier()


def test_no_name_is_one_that_means_something() -> None:
    assert not {free_name(name, set()) for name in RESERVED} & set(RESERVED)
