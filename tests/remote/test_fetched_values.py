"""What a source gave: made right where that can be, and named where it can't."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from topwater.model import Fetched
from topwater.remote.fetched_columns import Misshapen
from topwater.remote.fetched_values import valid, where_it_broke


def test_lists_become_arrays() -> None:
    got = valid(Fetched([1, 2], [True, False]), 2)  # type: ignore[arg-type]
    np.testing.assert_array_equal(got.values, [1.0, np.nan])
    assert got.values.dtype == np.float64
    assert got.problems() == {"": 1}


def test_what_has_the_attributes_will_do() -> None:
    given: Any = SimpleNamespace(values=[1.0], ok=[True], seconds=0, why=None, wait=None)
    assert valid(given, 1).values.tolist() == [1.0]


def test_infinite_is_not_the_same_as_unknown() -> None:
    got = valid(Fetched(np.array([np.inf, -np.inf, np.nan, 1.0]), np.ones(4, bool)), 4)
    assert got.lacks() == {"not_a_number": 2, "not_found": 1}


@pytest.mark.parametrize("kind", [float, int])
def test_what_is_masked_is_missing(kind: type) -> None:
    values: Any = np.ma.masked_array(np.array([5, 6], kind), mask=[True, False])
    got = valid(Fetched(values, np.ones(2, bool)), 2)
    np.testing.assert_array_equal(got.values, [np.nan, 6.0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "NoneType, not Fetched"),
        ({"a": 1.0}, "dict, not Fetched"),
        (np.ones(2), "ndarray, not Fetched"),
        (Fetched(np.ones(1), np.ones(1, bool)), "for 2 keys"),
        (Fetched(np.ones((2, 1)), np.ones(2, bool)), r"shape \(2, 1\)"),
        (Fetched(np.array(["1", "2"]), np.ones(2, bool)), "values of <U1"),
        (Fetched(np.ones(2), np.ones(2, bool), why=np.array(["late"], object)), None),
        (Fetched(np.ones(2), np.zeros(2, bool), why=np.array(["late"], object)), "1,.* reasons"),
    ],
)
def test_what_can_not_be_used_is_named(given: Any, words: str | None) -> None:
    if words is None:  # nobody asks why where all have a number
        assert valid(given, 2).why is None
        return
    with pytest.raises(Misshapen, match=words) as caught:
        valid(given, 2)
    assert where_it_broke(caught.value).startswith("gave ")


def test_the_message_of_an_error_is_not_told() -> None:
    try:
        raise OSError("password hunter2")
    except OSError as error:
        told = where_it_broke(error)
    assert told.startswith("raised OSError at ")
    assert "hunter2" not in told
