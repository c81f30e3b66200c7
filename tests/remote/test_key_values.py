"""Values matched to keys: which are numbers, which are one value, which keys failed."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tests.support.timing import effort
from topwater.remote.key_values import DOUBLED, Matches, failed, key_text, number


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (False, 0.0), ("-.5", -0.5), ("+5.", 5.0), ("1E-3", 0.001), ("\t7\n", 7.0),
        (Decimal("1e3"), 1000.0), (2**60, 2.0**60), (-0.0, 0.0),
    ],
)  # fmt: skip
def test_numbers(value: Any, found: float) -> None:
    assert number(value) == found


@pytest.mark.parametrize(
    "value",
    ["", " ", "true", "NaN", "inf", "1e999", "0x10", "٣", "1 2", "--1", ".", b"7", 7j,
     Decimal("NaN"), Decimal("sNaN"), Decimal("1e999"), -math.inf, object()],
)  # fmt: skip
def test_what_is_no_number(value: Any) -> None:
    assert math.isnan(number(value))


def test_keys_are_compared_by_their_text() -> None:
    assert [key_text(key) for key in (7, "7", 7.0, 7.5, "07")] == ["7", "7", "7", "7.5", "07"]


def test_a_key_with_two_values_has_none_whatever_comes_after() -> None:
    matches = Matches()
    for value in (1, 2, 1, 1):
        matches.add("a", value)
    assert matches.doubled == {"a"}
    assert math.isnan(matches.values["a"])


def test_nothing_and_a_number_are_two_values_and_nothing_twice_is_one() -> None:
    matches = Matches()
    for key, value in (("a", None), ("a", 1), ("b", None), ("b", "many")):
        matches.add(key, value)
    assert matches.doubled == {"a"}
    matches.add("b", DOUBLED)
    assert matches.doubled == {"a", "b"}


def test_the_answer_has_a_row_for_each_key_that_was_asked_for() -> None:
    matches = Matches()
    for key, value in (("a", 1), ("b", 1), ("b", 2), ("z", 9)):
        matches.add(key, value)
    got = matches.fetched(["b", "a", "c", "a"], 0.25)
    np.testing.assert_array_equal(got.values, [np.nan, 1, np.nan, 1])
    assert got.ok.tolist() == [False, True, True, True]
    assert got.why is not None
    assert got.why.tolist() == ["doubled", "", "not_found", ""]
    assert (got.problems(), got.lacks()) == ({"doubled": 1}, {"not_found": 1})
    assert got.seconds == 0.25
    assert matches.fetched(["a"], 0.0).why is None


def test_keys_that_were_not_asked_for_did_not_fail() -> None:
    got = failed(["a", "b"], {"b"}, "limited", 0.5, wait=3.0)
    assert got.ok.tolist() == [True, False]
    assert got.problems() == {"limited": 1}
    assert np.isnan(got.values).all()
    assert (got.seconds, got.wait) == (0.5, 3.0)


def test_a_long_text_is_not_a_number_and_takes_no_time() -> None:
    """The expression took the square of the length, and held the interpreter's lock all along."""
    texts = ("1" * 500_000, "1" * 500_000 + "x", " " * 500_000, "1e" + "9" * 500_000)
    assert all(math.isnan(number(text)) for text in texts)
    assert number("0." + "1" * 900) == pytest.approx(1 / 9)
    assert effort(lambda: [number(text) for text in texts], 0.5) < 0.5
