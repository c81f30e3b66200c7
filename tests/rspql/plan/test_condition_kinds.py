"""Conditions are values: equal if they say the same, and of one of the kinds that hosts know."""

from __future__ import annotations

import pickle
from typing import get_args

import pytest

from tests.support.rspql_asked import expression_of
from topwater.rspql.plan.condition_kinds import AllOf, Compare, Condition, Not, Text
from topwater.rspql.plan.conditions import Conditions
from topwater.rspql.plan.score_formula import Formulas


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("LANG(?a) = 'en'", Text("equals", "a", "en", of="lang")),
        ("'en' != LANG(?a)", Not(Text("equals", "a", "en", of="lang"))),
        ("LANGMATCHES(LANG(?a), 'EN')", Text("range", "a", "EN", of="lang")),
        ("STRSTARTS(LANG(?a), 'e')", Text("starts", "a", "e", of="lang")),
        ("DATATYPE(?a) = <x:t>", Text("equals", "a", "x:t", of="datatype")),
        ("REGEX(STR(DATATYPE(?a)), '^x')", Text("regex", "a", "^x", of="datatype")),
        ("ROUND(?a) > 1 && !(?b = 2)", AllOf((Compare("round(a)", ">", "1"),
                                              Not(Compare("b", "=", "2"))))),
    ],
)  # fmt: skip
def test_what_is_written_is_of_a_kind(text: str, condition: Condition) -> None:
    document, expression = expression_of(text)
    found = Conditions(document, Formulas(document, {}, set())).condition(expression)
    assert found == condition
    assert isinstance(found, get_args(Condition))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert hash(found) == hash(condition)
