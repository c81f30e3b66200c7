"""The algebras, operator by operator: ranges enclose values, and signs agree with slopes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from topwater.scoring.algebras import INTERVALS, NUMPY, TRENDS, sound

TWO = ["+", "-", "*", "/", "**", "min", "max"]
ONE = ["neg", "abs", "sqrt", "log", "log1p", "exp"]
ENDS = [(-3.0, -1.0), (-2.0, 2.0), (0.0, 0.0), (0.0, 3.0), (0.5, 4.0), (2.0, 2.0), (3.0, 3.0)]


def interval(ends: tuple[float, float]) -> Any:
    return np.array([ends[0]], float), np.array([ends[1]], float)


def inside(ends: tuple[float, float]) -> Any:
    return np.linspace(*ends, 9)


def encloses(found: Any, values: Any) -> bool:
    known = values[~np.isnan(values)]
    return bool(np.all(known >= found[0][0]) and np.all(known <= found[1][0]))


@pytest.mark.parametrize("op", TWO)
def test_ranges_of_two_enclose_all_values_between(op: str) -> None:
    for left, right in product(ENDS, ENDS):
        with np.errstate(all="ignore"):
            found = INTERVALS[op](interval(left), interval(right))
            values = NUMPY[op](inside(left)[:, None], inside(right)[None, :])
        assert not np.isnan(found).any()
        assert encloses(found, values), (left, right)


@pytest.mark.parametrize("op", ONE)
def test_ranges_of_one_enclose_all_values_between(op: str) -> None:
    for ends in ENDS:
        with np.errstate(all="ignore"):
            found = INTERVALS[op](interval(ends))
            values = NUMPY[op](inside(ends))
        assert not np.isnan(found).any()
        assert encloses(found, values), ends


@pytest.mark.parametrize(
    ("op", "args", "right"),
    [
        ("+", [(1, 2), (10, 20)], (11, 22)),
        ("-", [(1, 2), (10, 20)], (-19, -8)),
        ("*", [(-1, 2), (10, 20)], (-20, 40)),
        ("/", [(1, 2), (4, 8)], (0.125, 0.5)),
        ("/", [(1, 2), (0, 8)], (-np.inf, np.inf)),
        ("neg", [(1, 2)], (-2, -1)),
        ("abs", [(-3, 2)], (0, 3)),
        ("abs", [(-3, -2)], (2, 3)),
        ("log", [(-1, 2)], (-np.inf, np.inf)),
        ("min", [(1, 9), (3, 4)], (1, 4)),
        ("max", [(1, 9), (3, 4)], (3, 9)),
        ("clip", [(-5, 5), (0, 0), (3, 3)], (0, 3)),
        ("norm", [(2, 4), (0, 0), (8, 8)], (0.25, 0.5)),
        ("norm", [(2, 4), (8, 8), (8, 8)], (0, 0)),
    ],
)
def test_ranges_are_as_tight_as_told(op: str, args: Any, right: tuple[float, float]) -> None:
    with np.errstate(all="ignore"):
        low, high = INTERVALS[op](*map(interval, args))
    assert (low[0], high[0]) == right


def test_what_can_not_be_told_is_infinite() -> None:
    low, high = sound(np.array([np.nan, 1.0]), np.array([2.0, np.nan]))
    assert (low.tolist(), high.tolist()) == ([-np.inf, 1.0], [2.0, np.inf])


@pytest.mark.parametrize(
    ("op", "args", "sign"),
    [
        ("+", [(1, (0, 9)), (0, (0, 9))], 1),
        ("+", [(1, (0, 9)), (-1, (0, 9))], None),
        ("-", [(0, (0, 9)), (1, (0, 9))], -1),
        ("*", [(1, (0, 9)), (0, (-3, -1))], -1),
        ("*", [(1, (0, 9)), (0, (-3, 1))], None),
        ("*", [(1, (0, 9)), (0, (0, 0))], 0),
        ("/", [(0, (1, 9)), (1, (1, 2))], -1),
        ("/", [(1, (1, 9)), (0, (-1, 2))], None),
        ("**", [(1, (-9, 9)), (0, (3, 3))], 1),
        ("**", [(1, (-9, 9)), (0, (2, 2))], None),
        ("**", [(1, (-9, -1)), (0, (2, 2))], -1),
        ("**", [(1, (1, 9)), (0, (-1, -1))], -1),
        ("neg", [(-1, (0, 9))], 1),
        ("abs", [(1, (-9, -1))], -1),
        ("norm", [(1, (0, 9)), (0, (0, 0)), (0, (5, 5))], 1),
        ("norm", [(1, (0, 9)), (0, (5, 5)), (0, (5, 5))], 0),
    ],
)
def test_how_a_value_follows_a_column(op: str, args: Any, sign: int | None) -> None:
    ranges = [(np.array(low, float), np.array(high, float)) for _, (low, high) in args]
    with np.errstate(all="ignore"):
        found, _ = TRENDS[op](*zip([own for own, _ in args], ranges, strict=True))
    assert found == sign
