"""Settings that people write: names, numbers and ranges, refused with the field and the fix."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from topwater.errors import QueryError
from topwater.model import Frozen

Range: TypeAlias = tuple[float, float]


def check_choice(value: object, choices: Iterable[str], field: str) -> None:
    """Refuse what is none of the names, with the closest one."""
    names = list(choices)
    if isinstance(value, str) and value in names:
        return
    close = difflib.get_close_matches(value[:40], names, n=1) if isinstance(value, str) else []
    fix = f"did you mean {close[0]!r}?" if close else f"use one of: {', '.join(names)}"
    raise QueryError(f"{value!r} is unknown", field=field, fix=fix)


def number_of(value: Any, field: str) -> float:
    """A finite number."""
    # True is an int to Python, and no weight to anybody.
    numeric = isinstance(value, int | float | np.integer | np.floating)
    if not numeric or isinstance(value, bool):
        raise QueryError(f"must be a number, not {value!r}", field=field, fix="write a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise QueryError(f"must be finite, not {number}", field=field, fix="write a finite number")
    return number


def numbers_of(given: object, field: str) -> Frozen[float]:
    """A finite number for each of some columns."""
    if not isinstance(given, Mapping) or not given:
        raise QueryError(
            f"must name a number for one column or more, not {given!r}",
            field=field,
            fix='write {"column": 1.0}',
        )
    for name in given:
        if not isinstance(name, str) or not name:
            raise QueryError(f"{name!r} is no column", field=field, fix="use names of columns")
    return Frozen({name: number_of(value, f"{field}.{name}") for name, value in given.items()})


def range_of(given: object, field: str) -> Range:
    """The ends of a range whose width is a number, too."""
    low, high = ends_of(given, field)
    if math.isinf(high - low):
        raise QueryError(f"{low:g} to {high:g} is too wide", field=field, fix="narrow the range")
    return low, high


def ends_of(given: object, field: str) -> Range:
    """The lower and the upper end."""
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise QueryError(
            f"must be (lo, hi) or 'running', not {given!r}", field=field, fix="write (0, 100)"
        )
    low, high = number_of(given[0], field), number_of(given[1], field)
    if low > high:
        raise QueryError(f"{low:g} is above {high:g}", field=field, fix="write the lower end first")
    return low, high
