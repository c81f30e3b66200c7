"""Settings that people write: what is taken, and what is refused with its field and a fix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from topwater.errors import QueryError
from topwater.validation import check_choice, ends_of, number_of, numbers_of, range_of


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("largets", "did you mean 'largest'?"),
        ("x", "use one of: largest, smallest"),
        (None, "use one of: largest, smallest"),
        (["largest"], "use one of: largest, smallest"),
        ("largest" * 10_000, "use one of: largest, smallest"),
    ],
)
def test_an_unknown_name_is_refused_with_the_closest(value: object, fix: str) -> None:
    check_choice("smallest", ["largest", "smallest"], "order")
    with pytest.raises(QueryError) as caught:
        check_choice(value, ["largest", "smallest"], "order")
    assert (caught.value.field, caught.value.fix) == ("order", fix)


@pytest.mark.parametrize("value", [3, 3.0, np.int16(3), np.float32(3), -0.0])
def test_numbers_of_every_kind(value: Any) -> None:
    assert number_of(value, "weight") == float(value)
    assert type(number_of(value, "weight")) is float


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (True, "must be a number, not True"),
        ("3", "must be a number, not '3'"),
        (None, "must be a number, not None"),
        (3j, "must be a number"),
        (math.nan, "must be finite, not nan"),
        (-math.inf, "must be finite, not -inf"),
        (10**400, "must be finite, not inf"),
    ],
)
def test_what_is_no_finite_number_is_refused(value: Any, told: str) -> None:
    with pytest.raises(QueryError, match=f"^weight: {told}"):
        number_of(value, "weight")


def test_the_column_of_a_bad_number_is_named() -> None:
    assert dict(numbers_of({"a": 1, "b": 2.5}, "weights")) == {"a": 1.0, "b": 2.5}
    with pytest.raises(QueryError) as caught:
        numbers_of({"a": 1, "b": "x"}, "weights")
    assert caught.value.field == "weights.b"


@pytest.mark.parametrize("given", [{}, None, [("a", 1)], "a", {"": 1}, {3: 1}])
def test_what_names_no_columns_is_refused(given: object) -> None:
    with pytest.raises(QueryError) as caught:
        numbers_of(given, "weights")
    assert caught.value.field == "weights"


def test_ends_may_be_equal_and_in_a_list() -> None:
    assert ends_of((5, 5), "r") == range_of([5, 5], "r") == (5.0, 5.0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("01", "must be"),
        ((1,), "must be"),
        ((1, 2, 3), "must be"),
        ({1, 2}, "must be"),
        ((2, 1), "2 is above 1"),
        ((0, None), "must be a number, not None"),
    ],
)
def test_what_has_no_two_ends_in_order_is_refused(given: object, told: str) -> None:
    with pytest.raises(QueryError, match=f"^r: {told}"):
        ends_of(given, "r")


def test_a_range_has_a_finite_width_though_its_ends_may_have_none() -> None:
    assert ends_of((-1e308, 1e308), "r") == (-1e308, 1e308)
    with pytest.raises(QueryError, match="too wide"):
        range_of((-1e308, 1e308), "r")
