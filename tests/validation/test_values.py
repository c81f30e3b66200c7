"""Values that people write: numbers and ranges, flags, mappings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from topwater.errors import QueryError
from topwater.validation import (
    ends_of,
    flag_of,
    mapping_of,
    number_of,
    numbers_of,
    range_of,
    whole_of,
)


@pytest.mark.parametrize("value", [1, 5, np.int64(3), 10])
def test_whole_numbers(value: Any) -> None:
    found = whole_of(value, "n", 1, 10)
    assert found == value
    assert type(found) is int


@pytest.mark.parametrize("value", [0, 11, 1.0, True, "3", None, math.nan])
def test_what_is_no_whole_number_between(value: Any) -> None:
    with pytest.raises(
        QueryError, match=r"^n: must be a whole number from 1 to 10, not "
    ) as caught:
        whole_of(value, "n", 1, 10, "count")
    assert caught.value.fix == "count"


def test_bounds_are_told_as_far_as_there_are() -> None:
    with pytest.raises(QueryError, match=r"^n: must be a whole number, not 'a'"):
        whole_of("a", "n")
    with pytest.raises(QueryError, match=r"^n: must be a whole number of at least 2, not 1"):
        whole_of(1, "n", 2)
    assert whole_of(-(10**30), "n") == -(10**30)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.25), np.int8(1)])
def test_numbers(value: Any) -> None:
    found = number_of(value, "x", above=0, most=1)
    assert found == value
    assert type(found) is float


@pytest.mark.parametrize("value", [0, 1.1, math.nan, math.inf, True, "1", None, 10**400])
def test_what_is_no_number_between(value: Any) -> None:
    with pytest.raises(QueryError, match=r"^x: must be a number above 0 and at most 1, not "):
        number_of(value, "x", above=0, most=1)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "1", None, 10**400])
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(QueryError, match=r"^x: must be a finite number, not ") as caught:
        number_of(value, "x")
    assert caught.value.fix == "write a finite number"


def test_at_least() -> None:
    assert number_of(0, "x", least=0) == 0.0
    with pytest.raises(QueryError, match=r"must be a number of at least 0, not -1"):
        number_of(-1, "x", least=0)


def test_flags() -> None:
    assert flag_of(True, "f") is True
    for wrong in (1, "yes", None):
        with pytest.raises(QueryError, match=r"^f: must be true or false, not "):
            flag_of(wrong, "f")


def test_mappings() -> None:
    given = {"a": 1}
    assert mapping_of(given, "m") is given
    for wrong in ([("a", 1)], "a", None):
        with pytest.raises(QueryError, match=r"^m: must be a table of names and values, not \w+"):
            mapping_of(wrong, "m")


def test_numbers_for_columns() -> None:
    assert numbers_of({"a": 1}, "w") == {"a": 1.0}
    for wrong, field in (({}, "w"), ([], "w"), ({"": 1}, "w"), ({"a": "b"}, "w.a")):
        with pytest.raises(QueryError) as caught:
            numbers_of(wrong, "w")
        assert caught.value.field == field


def test_ranges() -> None:
    assert range_of([0, 5], "r") == ends_of((0, 5), "r") == (0.0, 5.0)
    for wrong in ([5, 0], [1], "ab", [0, math.inf], None):
        with pytest.raises(QueryError):
            ends_of(wrong, "r")
    with pytest.raises(QueryError, match="too wide"):
        range_of([-1e308, 1e308], "r")


def test_a_number_that_python_does_not_write() -> None:
    for check in (lambda n: whole_of(n, "n", 1, 10), lambda n: number_of(n, "n")):
        with pytest.raises(QueryError, match="too long to show"):
            check(10**5_000)
