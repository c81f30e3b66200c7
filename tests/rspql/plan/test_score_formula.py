"""Expressions of SPARQL as formulas."""

from __future__ import annotations

import pytest

from tests.support.rspql_asked import expression_of, ranked
from topwater.errors import QueryError
from topwater.rspql.plan.score_formula import MATH, OURS, Formulas
from topwater.scoring.expressions import Expression, Name, parse


@pytest.mark.parametrize(
    ("score", "formula"),
    [
        ("0.3 * ?v + 0.7 * ?f", "0.3 * v + 0.7 * f"),
        ("?v - -?f", "v - -f"),
        ("?v-5+?f", "v - 5 + f"),
        ("xsd:double(?v) + ?f", "v + f"),
        ("IF(?v > ?f, ?v, ?f)", "max(v, f)"),
        ("IF(?v < ?f, ?v, ?f)", "min(v, f)"),
        ("IF(?v <= ?f, ?f, ?v)", "max(v, f)"),
        ("<urn:topwater:clip>(?v, 0, 10) + ?f", "clip(v, 0, 10) + f"),
        ("<http://www.w3.org/2005/xpath-functions/math#sqrt>(?v) + ?f", "sqrt(v) + f"),
        ("COALESCE(?v, 3) + ?f", "v + f"),
        ("(?v + ?f) / 2", "(v + f) / 2"),
        ("ROUND(?v) + CEIL(?f) + FLOOR(?v / 2)", "round(v) + ceil(f) + floor(v / 2)"),
        ("?v + IF(?f > 3, 2, 1)", "v + if(positive(f - 3), 2, 1)"),
        ("IF(?v > 1, 2, 3) + ?f", "chosen + f"),
        ("IF(?v > 1 || ?f = 2, 2, ?f)", "if(any(positive(v - 1), 1 - positive(abs(f - 2))), 2, f)"),
    ],
)
def test_scores(score: str, formula: str) -> None:
    assert ranked(score).score == formula


@pytest.mark.parametrize(
    ("score", "told"),
    [
        ("?v * ?f", "rises or falls"),
        ("ABS(?f)", "rises or falls"),
        ("?v / ?f", "rises or falls"),
        ("?f - ?f * 2", "rises or falls"),
        ("STRLEN(?v) + ?f", "STRLEN gives no number"),
        ('"a" + ?f', "is not a number"),
        (":thing + ?f", "is not a number"),
        ("true + ?f", "is not a number"),
        ("(?v > ?f) + ?f", "a comparison gives no number"),
        ('IF(?v > 1, "a", ?f)', "is not a number"),
        ("IF(CONTAINS(?v, ?w), 1, ?f)", "compared with has to be a string"),
        ('IF(CONTAINS(?f, "a"), 1, ?f)', "something else than numbers"),
        (":F(?v, ?f)", "function <http://example.org/F> is unknown"),
        ("<urn:topwater:norm>(?v, ?f, 1) + ?f", "not plain numbers"),
        ("<urn:topwater:norm>(?v, 9, 1) + ?f", "no range"),
        ("<urn:topwater:clip>(?v) + ?f", "takes 3"),
        ("?nowhere + ?f", r"\?nowhere is bound nowhere"),
        ("RAND() + ?f", "RAND"),
        ("1e999 + ?f", "is not a number"),
    ],
)
def test_scores_refused(score: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        ranked(score)


def formulas_and_text(text: str) -> tuple[Formulas, str]:
    """With ?sum bound before, and ?f of which there may be none."""
    document, expression = expression_of(text)
    formulas = Formulas(document, {"sum": parse("a + b").tree}, {"f"})
    return formulas, formulas.text(expression)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("?a", "a"),
        ("+?a", "a"),
        ("-(-3)", "3"),
        ("?sum * 2", "(a + b) * 2"),
        ("?a - ?b - ?c", "a - b - c"),
        ("?a - (?b - ?c)", "a - (b - c)"),
        ("?a / ?b * ?c", "a / b * c"),
        ("ABS(?a)", "abs(a)"),
        ("COALESCE(?a, 3)", "a"),
        ("COALESCE(?a)", "a"),
        (f"<{OURS}min>(?a, ?b, 3)", "min(a, b, 3)"),
        (f"<{OURS}norm>(?a, 0, 50)", "norm(a, 0, 50)"),
        (f"<{MATH}pow>(?a, 2)", "a ** 2"),
        ("xsd:decimal(?a)", "`a^^decimal`"),
        ("xsd:double(?a * 2)", "a * 2"),
        ('xsd:double("12") * ?a', "12 * a"),
        ("COALESCE(xsd:double(?a), 0.5)", "`a^^double=0.5`"),
        ("IF(?a >= ?b, ?b, ?a)", "min(a, b)"),
    ],
)
def test_formulas(text: str, formula: str) -> None:
    formulas, found = formulas_and_text(text)
    assert found == formula
    assert not formulas.defaults


@pytest.mark.parametrize(
    "text", ["COALESCE(?f, -3)", "IF(BOUND(?f), ?f, -3)", "COALESCE(?f, -3) + COALESCE(?f, -3)"]
)
def test_a_value_that_may_be_missing_has_a_default(text: str) -> None:
    formulas, found = formulas_and_text(text)
    assert formulas.defaults == {"f": -3.0}
    assert "f" in Expression(parse(found).tree).columns


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("COALESCE(?f)", r"default of \?f"),
        ("COALESCE(?f, ?a)", r"default of \?f"),
        ("COALESCE(?f, 1) + COALESCE(?f, 2)", "two different defaults"),
        (f"<{OURS}norm>(?a, ?b, 50)", "norm"),
        (f"<{OURS}clip>(?a, 5, 1)", "clip"),
        (f"<{OURS}sqrt>(?a, ?b)", "sqrt"),
        ("STRLEN(?a)", "STRLEN"),
        ("?a && ?b", "&&"),
    ],
)
def test_what_is_no_number_is_marked(text: str, told: str) -> None:
    with pytest.raises(QueryError, match=told) as caught:
        formulas_and_text(text)
    assert caught.value.problem.startswith("line 2, ")


def test_an_unknown_function_is_marked_with_those_there_are() -> None:
    with pytest.raises(QueryError, match=f"<{OURS}logg>") as caught:
        formulas_and_text(f"?a + <{OURS}logg>(?a)")
    _, shown, caret = caught.value.problem.splitlines()
    assert shown[caret.index("^") :].startswith(f"<{OURS}logg>(")
    assert "log, log1p" in caught.value.fix


def test_a_variable_that_stands_for_another_one() -> None:
    document, expression = expression_of("?who + 1")
    assert Formulas(document, {"who": Name("a b")}, set()).text(expression) == "`a b` + 1"
