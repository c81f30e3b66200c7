"""Several values a key: made right where that can be, and named where it can't."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.model import Fetched
from topwater.remote.fetched_columns import Misshapen, valid_columns, valid_whys
from topwater.remote.fetched_values import valid

OK = np.array([True, True, False])


def test_columns_come_in_the_order_of_their_names_and_failed_keys_have_none() -> None:
    given = {"title": ["a", None, "c"], "price": [1, 2, 3]}
    columns = valid_columns(given, OK, ("price", "title"))
    assert [*columns] == ["price", "title"]
    np.testing.assert_array_equal(columns["price"], [1.0, 2.0, np.nan])
    assert columns["title"].tolist() == ["a", None, None]


@pytest.mark.parametrize(
    ("given", "names", "words"),
    [
        ({"price": [1, 2]}, ("price",), r"price of shape \(2,\) for 3 keys"),
        ({"price": [1, 2, 3]}, ("price", "stock"), "columns price, and its names are price, stock"),
        ({}, ("price",), "columns of no name"),
        ({"title": ["a", "b", "c"]}, ("title",), "none of numbers"),
        ({"price": [1, 2, 3], "title": ["a", 7, None]}, (), "title of neither numbers nor texts"),
        ({"price": [1, 2, 3], "title": [b"a", "b", None]}, (), "title of neither"),
    ],
)
def test_what_can_not_be_used_is_named(given: Any, names: Any, words: str) -> None:
    with pytest.raises(Misshapen, match=words):
        valid_columns(given, OK, names)


def test_where_nothing_was_answered_nothing_need_be_told() -> None:
    assert valid_columns({}, np.zeros(2, bool), ("price",)) == {}


def test_reasons_are_those_of_answered_keys_without_a_value() -> None:
    columns = valid_columns({"price": [np.inf, np.nan, 1.0]}, OK, ())
    told = {"price": ["null", "null", "null"], "title": ["null"] * 3}
    assert {k: v.tolist() for k, v in valid_whys(told, OK, columns).items()} == {
        "price": ["not_a_number", "null", ""]
    }
    with pytest.raises(Misshapen, match="reasons for"):
        valid_whys({"price": ["null"]}, OK, columns)
    assert valid_whys({"price": ["bad luck"] * 3}, OK, {"price": np.full(3, np.nan)}) == {}


def test_values_are_the_first_column_of_numbers_whatever_is_said() -> None:
    columns = {"title": np.array(["a"], object), "price": np.array([2]), "stock": np.array([3.0])}
    got = valid(Fetched(np.array([9.0]), np.array([True]), columns=columns), 1)
    assert got.values.tolist() == got.numbers("price").tolist() == [2.0]
    assert got.columns["price"].dtype == np.float64


def test_infinite_is_no_number_of_a_column() -> None:
    got = valid(Fetched.of_columns({"a": np.array([1.0]), "b": np.array([np.inf])}), 1)
    assert np.isnan(got.numbers("b")).all()
    assert got.whys["b"].tolist() == ["not_a_number"]
