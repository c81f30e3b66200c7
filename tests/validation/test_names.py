"""Names that people write: the error for an unknown one suggests the nearest that is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.timing import effort
from topwater.errors import QueryError
from topwater.validation import (
    choice_of,
    column_of,
    nearest,
    require_given,
    require_known,
    shown,
    suggestion,
    text_of,
    texts_of,
)

KNOWN = ("policy", "budget", "spare")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("polcy", "policy"),
        ("POLICY", "policy"),
        ("budgets", "budget"),
        ("xyz", None),
        ("", None),
        (7, None),
        (None, None),
        (["policy"], None),
    ],
)
def test_the_nearest_name(name: object, near: str | None) -> None:
    assert nearest(name, KNOWN) == near
    expected = "use one of: policy, budget, spare" if near is None else f"did you mean {near}?"
    assert suggestion(name, KNOWN) == expected


@given(st.text(max_size=5_000))
def test_any_text_has_an_answer(name: str) -> None:
    assert nearest(name, KNOWN) in (None, *KNOWN)
    assert suggestion(name, KNOWN)


def test_of_equal_names_the_first_is_near() -> None:
    assert nearest("a", ["A", "a"]) == "A"


@pytest.mark.parametrize("value", ["polcy", "", 7, None, [], {}, b"policy"])
def test_a_choice(value: Any) -> None:
    assert choice_of("policy", KNOWN, "field") == "policy"
    with pytest.raises(QueryError, match=r"^field: .* is unknown\n  fix: ") as caught:
        choice_of(value, KNOWN, "field")
    assert caught.value.field == "field"


def test_settings_that_are_known() -> None:
    require_known(["spare", "policy"], KNOWN)
    with pytest.raises(QueryError, match=r"^a\.plicy: no such setting of b\n  fix: did you mean p"):
        require_known(["spare", "plicy"], KNOWN, "a", "b")
    with pytest.raises(QueryError, match=r"^3: no such setting\n  fix: use one of: policy"):
        require_known([3], KNOWN)


def test_settings_that_are_needed() -> None:
    require_given(KNOWN, ["policy"])
    with pytest.raises(QueryError, match=r"^a\.policy: is missing\n  fix: b needs it$"):
        require_given(["spare"], KNOWN, "a", "b")
    with pytest.raises(QueryError, match=r"^policy: is missing\n  fix: give policy$"):
        require_given([], KNOWN)


@pytest.mark.parametrize("value", ["", "  ", 7, None, ["a"]])
def test_texts(value: Any) -> None:
    assert (text_of("a", "f"), texts_of(["a"], "f", "fix")) == ("a", ("a",))
    for wrong in (lambda: text_of(value, "f"), lambda: texts_of([value], "f", "fix")):
        with pytest.raises(QueryError, match=r"^f: must be text"):
            wrong()
    wrong_ones: list[Any] = [[], (), "a", None]
    for empty in wrong_ones:
        with pytest.raises(QueryError, match=r"^f: must be a list of names"):
            texts_of(empty, "f", "fix")


@pytest.mark.parametrize("value", ["", 7, None, ["a"]])
def test_columns(value: Any) -> None:
    assert column_of("two words", "key") == "two words"
    with pytest.raises(QueryError, match=r"^key: .* does not name a column"):
        column_of(value, "key")


def test_what_is_shown_is_not_endless() -> None:
    assert shown("a") == "'a'"
    assert len(shown("a" * 10_000)) < 300
    assert shown(10**10_000) == "a int that is too long to show"


def test_what_is_shown_of_more_than_fits_in_memory() -> None:
    """Ten lists in ten lists in ten lists, twenty times: a few lines of YAML."""
    bomb: Any = ["lol"]
    for _ in range(20):
        bomb = [bomb] * 10
    itself: Any = {}
    itself["again"] = (itself,)
    for value in (bomb, {"a": bomb}, (bomb,), itself):
        assert len(shown(value)) == 200
    for small in ({"a": (1,), "b": []}, [1, 2.5, None, b"x"], (), (1, 2), {}, "it's"):
        assert shown(small) == repr(small)


def test_names_without_number_are_not_all_compared() -> None:
    names = ["policy", *map(str, range(1_000_000))]
    assert nearest("polcy", names) == "policy"
    assert effort(lambda: nearest("polcy", names), 2) < 2
