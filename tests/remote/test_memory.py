"""Values in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.errors import QueryError, SourceError
from topwater.remote import memory
from topwater.testing import check_source


def test_it_keeps_the_contract() -> None:
    check_source(lambda: memory({1: 1.0, 2: 2.0}), np.array([1, 2]), np.array([7]))
    names = np.array(["a", "b"], object)
    check_source(lambda: memory({"a": 1.0, "b": 2.0}), names, np.array(["c"], object))


def test_changes_of_the_mapping_are_seen() -> None:
    values = {1: 1.0}
    source = memory(values)
    values[1] = 5.0
    assert source.fetch(np.array([1])).values.tolist() == [5.0]


def test_without_time_there_is_no_answer() -> None:
    assert memory({1: 1.0}).fetch(np.array([1]), 0.0).problems() == {"late": 1}


SHOP = {"ann": {"price": 3.0, "stock": 7, "title": "tea"}, "bob": {"price": 4.0, "title": None}}


def test_several_values_come_with_one_look_up() -> None:
    keys = np.array(["ann", "bob"], object)
    check_source(lambda: memory(SHOP), keys, np.array(["cy"], object))
    source = memory(SHOP)
    assert (source.names, source.text_names) == (("price", "stock", "title"), ("title",))
    got = source.fetch(np.array(["bob", "cy", "ann"], object))
    np.testing.assert_array_equal(got.numbers("stock"), [np.nan, np.nan, 7.0])
    assert got.texts("title").tolist() == [None, None, "tea"]
    assert got.lacks() == {"not_found": 1}


def test_a_check_shows_all_values() -> None:
    source = memory(SHOP)
    assert str(source.check("ann")) == "the key 'ann' has price 3, stock 7, title 'tea'"
    with pytest.raises(SourceError, match="stock: no usable value for the key 'bob'"):
        source.check("bob")
    with pytest.raises(SourceError, match="key not found"):
        source.check("cy")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"ann": {"price": 3.0}, "bob": 4.0}, "the key 'bob' has one value"),
        ({"ann": {"title": "tea"}}, "has no number"),
        ({"ann": {}}, "has no number"),
        ({"ann": {7: 3.0}}, "a name that is not a text"),
    ],
)
def test_values_that_do_not_fit_together_are_an_error(values: Any, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        memory(values)
