"""What is read as a condition, and what is said of what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.scoring.condition_parser import read_condition


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a > 1", "a > 1"),
        ("a = 1", "a == 1"),
        ("a <> 1", "a != 1"),
        ("0 < a <= 3", "0 < a and a <= 3"),
        ("a>1 or b>2 and c>3", "a > 1 or (b > 2 and c > 3)"),
        ("(a>1 or b>2) and c>3", "(a > 1 or b > 2) and c > 3"),
        ("not (a>1 or b>2)", "a <= 1 and b <= 2"),
        ("not not a == 1", "a == 1"),
        ("(a + 1) * 2 > 3", "(a + 1) * 2 > 3"),
        ("((a)) > (3)", "a > 3"),
        ("`and` > 1 AND b < 2", "`and` > 1 and b < 2"),
        ("max(a, b) >= -1", "max(a, b) >= -1"),
    ],
)
def test_what_is_written_is_what_is_read(text: str, read: str) -> None:
    if read.startswith("`and`"):
        read = read.replace("`and`", "and")
    assert str(read_condition(text)) == read


@pytest.mark.parametrize(
    "text", ["a > 1 or (b > 2 and c > 3)", "(a > 1 or b > 2) and c > 3", "a + b < 2 * c"]
)
def test_what_it_says_is_read_as_the_same(text: str) -> None:
    assert read_condition(str(read_condition(text))) == read_condition(text)


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ("", "the condition is empty", "write one"),
        ("a", "expected a comparison", "compare it"),
        ("a > 1 b", "'b' is too much", "put and, or"),
        ("a > 1 && b > 1", "'&' can't be read", "write and, or, not"),
        ("a == 'x'", "can't be read", "only numbers are compared"),
        ("(a > 1", "expected ')'", "close the parenthesis"),
        ("a > 1 and", "expected a number", "complete"),
        ("(" * 150 + "a > 1" + ")" * 150, "the nesting is too deep", "simplify"),
    ],
)
def test_what_is_wrong_is_said_with_the_fix(text: str, problem: str, fix: str) -> None:
    with pytest.raises(QueryError, match="where: ") as caught:
        read_condition(text)
    assert problem in str(caught.value)
    assert fix in str(caught.value)


def test_only_text_of_a_usual_length_is_read() -> None:
    with pytest.raises(QueryError, match="a condition is text, not int"):
        read_condition(3)
    with pytest.raises(QueryError, match="characters, more than"):
        read_condition("a > 1 or " * 2_000 + "a > 1")


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read_condition(text)
    except QueryError:
        return
    assert found.columns is not None
    assert read_condition(str(found)) == found
