"""FILTER and HAVING as conditions, and conditions as formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rdflib.term import Literal, URIRef

from tests.support.rspql_asked import EX, expression_of
from topwater.errors import QueryError
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
from topwater.rspql.plan.conditions import Conditions, conjuncts, guards, names_in
from topwater.rspql.plan.score_formula import Formulas
from topwater.scoring.expressions import Expression, Name

NOBODY = URIRef(f"{EX}nobody")


def condition_of(text: str) -> Condition:
    """With ?n bound before, to what ?v is."""
    document, expression = expression_of(text)
    return Conditions(document, Formulas(document, {"n": Name("v")}, set())).condition(expression)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("?a > 1", Compare("a", ">", "1")),
        ("2 * ?a <= ?b", Compare("2 * a", "<=", "b")),
        ("?a = 3", Compare("a", "=", "3")),
        ("?n = ?a", Compare("v", "=", "a")),
        ("?a = :nobody", Among("a", (NOBODY,))),
        (":nobody = ?a", Among("a", (NOBODY,))),
        ("?a != 'x'", Not(Among("a", (Literal("x"),)))),
        ("?a = true", Among("a", (Literal(True),))),
        ("?a = ?b", Alike("a", "b")),
        ("?a != ?b", Not(Alike("a", "b"))),
        ("?a IN (:nobody, 'x')", Among("a", (NOBODY, Literal("x")))),
        ("?a NOT IN (:nobody)", Not(Among("a", (NOBODY,)))),
        ("REGEX(?a, 'x', 'i')", Text("regex", "a", "x", ignore_case=True)),
        ("CONTAINS(?a, 'x')", Text("contains", "a", "x")),
        ("STRSTARTS(STR(?a), 'x')", Text("starts", "a", "x", of="str")),
        ("STRENDS(?a, 'x')", Text("ends", "a", "x")),
        ("isIRI(?a)", Kind("a", "iri")),
        ("isURI(?a)", Kind("a", "iri")),
        ("isNUMERIC(?a)", Kind("a", "numeric")),
        ("?a > 1 && ?b > 2 && ?a < 9",
         AllOf((Compare("a", ">", "1"), Compare("b", ">", "2"), Compare("a", "<", "9")))),
        ("?a > 1 || !isBLANK(?b)", AnyOf((Compare("a", ">", "1"), Not(Kind("b", "blank"))))),
    ],
)  # fmt: skip
def test_conditions(text: str, condition: Condition) -> None:
    assert condition_of(text) == condition


@pytest.mark.parametrize(
    "text",
    ["?a", "EXISTS { ?a :v ?b }", "LANG(?a) < 'en'", "LANG(?a) = 5",
     "DATATYPE(?a) = 'x'", "LANGMATCHES(?a, 'en')", "LANGMATCHES(LANG(?a), '')",
     "REGEX(?a, '(')", "REGEX(?a, 'x', 's')",
     "CONTAINS(?a, ?b)", "isIRI(?n)", "?n IN (:nobody)", "?a IN (?b)", "isIRI(STR(?a))",
     "BOUND(?a)"],
)  # fmt: skip
def test_what_can_not_be_a_condition(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        condition_of(text)
    assert caught.value.problem.startswith("line 2, ")
    assert caught.value.fix


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("?a > 3", [4, 5]),
        ("?a >= 3", [3, 4, 5]),
        ("3 > ?a", [1, 2]),
        ("?a <= 3", [1, 2, 3]),
        ("?a = 3", [3]),
        ("?a != 3", [1, 2, 4, 5]),
        ("!(?a = 3)", [1, 2, 4, 5]),
        ("!(?a < 3)", [3, 4, 5]),
        ("!(!(?a < 3))", [1, 2]),
        ("?a > 1 && ?a < 5", [2, 3, 4]),
        ("?a < 2 || ?a > 4", [1, 5]),
        ("?a <= 2 || ?a >= 4", [1, 2, 4, 5]),
        ("?a - 3 > 0", [4, 5]),
    ],
)
def test_a_guard_is_0_where_its_condition_holds_and_else_nan(text: str, holds: list[int]) -> None:
    nodes = guards(condition_of(text))
    assert nodes
    values = np.arange(1.0, 6.0)
    total = np.sum([Expression(node).evaluate({"a": values}) for node in nodes], axis=0)
    assert [int(value) for value, guard in zip(values, total, strict=True) if guard == 0] == holds
    assert all(guard == 0 or math.isnan(guard) for guard in total)


@pytest.mark.parametrize(
    "text",
    ["?a < 2 || ?a >= 4", "isIRI(?a)", "?a > 1 && isIRI(?b)", "!(?a > 1 && ?a < 5)", "?a = ?b"],
)
def test_what_no_formula_says(text: str) -> None:
    assert guards(condition_of(text)) is None


def test_all_parts_of_a_conjunction() -> None:
    document, expression = expression_of("?a > 1 && (?b > 2 && isIRI(?a)) && (?a > 1 || ?b > 1)")
    formulas = Formulas(document, {}, set())
    found = [Conditions(document, formulas).condition(part) for part in conjuncts(expression)]
    assert [type(each) for each in found] == [Compare, Compare, Kind, AnyOf]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("?a + ?b > ?c", {"a", "b", "c"}),
        ("?a = ?b", {"a", "b"}),
        ("isIRI(?a) || !(?b IN (:nobody) && REGEX(?c, 'x'))", {"a", "b", "c"}),
    ],
)
def test_what_a_condition_is_about(text: str, names: set[str]) -> None:
    assert names_in(condition_of(text)) == names
