"""Text → tree: what binds how, and where an error is."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.scoring.formula_parser import Parser
from topwater.scoring.tree import Call, Name, Node, Number

A, B, C = Name("a"), Name("b"), Name("c")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("`a b```", Name("a b`")),
        (" 1.5e3 ", Number(1500.0)),
        ("-3", Number(-3.0)),
        ("-a", Call("neg", (A,))),
        ("a - b - c", Call("-", (Call("-", (A, B)), C))),
        ("a ** b ** c", Call("**", (A, Call("**", (B, C))))),
        ("-a ** b", Call("neg", (Call("**", (A, B)),))),
        ("a + b * c", Call("+", (A, Call("*", (B, C))))),
        ("(a + b) * c", Call("*", (Call("+", (A, B)), C))),
        ("min(a, b, c)", Call("min", (A, B, C))),
        ("clip(a, 0, 1)", Call("clip", (A, Number(0.0), Number(1.0)))),
        ("min", Name("min")),
    ],
)
def test_text_is_read_as_python_reads_it(text: str, tree: Node) -> None:
    assert Parser(text).whole() == tree


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ("", "empty at character 1", "write a column name"),
        ("a +", "text ends at character 4", "complete"),
        ("a b", "'b' is too much at character 3", "put an operator"),
        ("a)", "is too much at character 2", "open a parenthesis"),
        ("a ^ b", "can't be read at character 3", r"\*\*"),
        ("sqr(a)", "not a function at character 1", "sqrt"),
        ("clip(a)", "takes 3", r"clip\(x, lo, hi\)"),
        ("norm(a, b, 1)", "not plain numbers", r"norm\(x, 0, 50\)"),
        ("clip(a, 2, 1)", "2 to 1", "lower end first"),
        ("1e999", "too large", "below"),
        ("(" * 500 + "a", "too deep", "simplify"),
    ],
)
def test_an_error_says_where_and_what_to_do(text: str, problem: str, fix: str) -> None:
    with pytest.raises(QueryError, match=f"(?s){problem}.*fix: .*{fix}"):
        Parser(text).whole()


@pytest.mark.parametrize("text", ["a > 3", "a == 3", "a != 1", "a & b", "a < b", "a | b", "!a"])
def test_a_comparison_is_told_that_a_score_has_none(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        Parser(text)
    assert "without conditions" in caught.value.fix
    assert "backtick" not in str(caught.value)


@pytest.mark.parametrize("text", ["a if b else c", "a and b", "a OR b", "a between 1"])
def test_words_of_conditions_are_told_so_too(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        Parser(text).whole()
    assert "without conditions" in caught.value.fix
