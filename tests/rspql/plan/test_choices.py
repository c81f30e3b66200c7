"""``IF``: its columns, and conditions as formulas."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from rdflib import URIRef

from tests.support.rspql_asked import asked
from topwater.rspql import explain
from topwater.rspql.plan.choices import (
    Choices,
    condition_tree,
    has_if,
    noted,
    uses,
    variables_behind,
    with_choices,
)
from topwater.rspql.plan.condition_kinds import AllOf, Among, AnyOf, Compare, Not
from topwater.rspql.plan.plan import Bind, EventPattern, Holds
from topwater.scoring.expressions import Call, Expression, Name, parse

ABOVE = Compare("a", ">", "3")
VALUES = [-1.0, 0.0, 2.5, 3.0, 4.0]


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
def test_comparisons_are_numbers(op: Literal["=", "!=", "<", "<=", ">", ">="]) -> None:
    tree = condition_tree(Compare("a", op, "2.5"))
    assert tree is not None
    python = {"=": "==", "!=": "!="}.get(op, op)
    found = Expression(tree).evaluate({"a": np.array([*VALUES, np.nan])})
    assert found[:-1].tolist() == [eval(f"{value} {python} 2.5") for value in VALUES]  # noqa: S307
    assert np.isnan(found[-1]), "an error stays one"


def test_what_is_put_together_is_so_too() -> None:
    tree = condition_tree(AllOf((ABOVE, AnyOf((Not(ABOVE), Compare("b", "=", "1"))))))
    assert tree is not None
    columns = {"a": np.array([4.0, 4.0, 2.0]), "b": np.array([1.0, 2.0, np.nan])}
    assert Expression(tree).evaluate(columns).tolist() == [1.0, 0.0, 0.0]
    assert condition_tree(AllOf((ABOVE, Among("a", (URIRef("x:a"),))))) is None
    assert condition_tree(Not(Among("a", (URIRef("x:a"),)))) is None


def test_columns_are_bound_in_the_order_in_which_they_are_needed_and_once() -> None:
    choices: Choices = {}
    inner = noted(choices, ABOVE)
    outer = noted(choices, Call("if", (inner, Name("a"), Name("b"))))
    assert noted(choices, ABOVE) == inner
    pattern = EventPattern(URIRef("x:w"), ())
    found = with_choices(pattern, [outer.name, "a"], choices)
    assert [type(each) for each in found.binds] == [Holds, Bind]
    assert with_choices(found, [outer.name, inner.name], choices) is found
    assert variables_behind([outer.name, "c"], choices) == {"a", "b", "c"}
    assert set().union(*map(uses, found.binds)) == {"a", "b", inner.name}


def test_it_is_seen_at_any_depth() -> None:
    assert has_if(parse("1 + 2 * if(a, b, c)").tree)
    assert not has_if(parse("1 + max(a, b)").tree)


def test_what_is_asked_is_told_in_words() -> None:
    told = explain(
        asked(
            '?u (SUM(IF(LANG(?t) = "en" && ?v > 2, ?v, 0)) AS ?s)',
            "WINDOW :w { ?u :v ?v ; :t ?t }",
            "GROUP BY ?u ORDER BY DESC(?s) LIMIT 2",
        )
    )
    assert "s = sum(if((LANG(?t) equals 'en' and v > 2), v, 0)), for each ?u of a window" in told
