"""Keys as a database takes them, and rows as the values of keys."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from tests.support.fetched import keys_of, values_or_problems
from topwater.remote.database_rows import Asked, KeyKind, key_text

IDENTIFIER = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("kind", "keys", "bound"),
    [
        ("given", [7, "7a", "a\0"], [7, "7a", "a\0"]),
        ("text", [7, "7a", "a\0", "\ud800"], ["7", "7a"]),
        ("other", [7, "x"], ["7", "x"]),
        ("whole", [7, "-7", "07", "+7", "7.0", "-0", "x", ""], [7, -7, 0]),
        ("whole", [str(2**63 - 1), str(2**63), str(-(2**63)), str(-(2**63) - 1)],
         [2**63 - 1, -(2**63)]),
        ("decimal", ["7", "7.5", "7.50", "1e3", "NaN", "-0.25"],
         [Decimal("7"), Decimal("7.5"), Decimal("-0.25")]),
        ("uuid", [IDENTIFIER, IDENTIFIER.upper().replace("1", "A"), "x"], [UUID(IDENTIFIER)]),
    ],
)  # fmt: skip
def test_keys_are_bound_in_the_type_of_the_column(
    kind: KeyKind, keys: list[Any], bound: list[Any]
) -> None:
    """Keys that the column can't hold are not asked for."""
    found = Asked.of(np.array(keys, object)).bound(kind)
    assert found == bound
    assert [type(each) for each in found] == [type(each) for each in bound]


def test_a_key_given_twice_is_bound_once_and_answered_twice() -> None:
    asked = Asked.of(np.array([7, "7", 8], object))
    assert asked.bound("given") == [7, 8]
    assert values_or_problems(asked.answer([(7, 70), ("8", 80)])) == [70.0, 70.0, 80.0]


def test_true_is_no_whole_number() -> None:
    assert Asked.of(np.array([True, 1], object)).bound("whole") == [1]


def test_blanks_that_fill_up_a_column_do_not_count() -> None:
    got = Asked.of(keys_of("ab", "c")).answer([("ab   ", 1), ("c", 2), ("c ", 3)])
    assert values_or_problems(got) == [1.0, "doubled"]


def test_numbers_as_keys() -> None:
    got = Asked.of(keys_of("7", "7.5", "1000")).answer(
        [(Decimal("7.00"), 1), (7.5, 2), (Decimal("1E+3"), 3)]
    )
    assert values_or_problems(got) == [1.0, 2.0, 3.0]


def test_keys_without_a_row_have_no_value_and_did_not_fail() -> None:
    got = Asked.of(keys_of(1, 2)).answer([(9, 1)])
    assert got.ok.tolist() == [True, True]
    assert np.isnan(got.values).all()


def test_a_failed_request_fails_all_its_keys() -> None:
    got = Asked.of(keys_of(1, 2, 1)).failed("dropped")
    assert values_or_problems(got) == ["dropped"] * 3
    assert np.isnan(got.values).all()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (Decimal("0.00"), "0"),
        (Decimal("100"), "100"),
        (Decimal("1E+3"), "1000"),
        (Decimal("-7.10"), "-7.1"),
        (Decimal("NaN"), "NaN"),
        (-0.0, "0"),
        (7.25, "7.25"),
        (float("inf"), "inf"),
        (UUID(IDENTIFIER), IDENTIFIER),
    ],
)
def test_the_text_of_a_key(key: Any, text: str) -> None:
    assert key_text(key) == text
