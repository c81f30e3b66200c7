"""Values that people write: numbers and ranges, flags, mappings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from topwater.errors import QueryError
from topwater.model import Frozen
from topwater.validation.names import column_of, shown

Range: TypeAlias = tuple[float, float]


def whole_of(
    value: Any,
    field: str,
    least: int | None = None,
    most: int | None = None,
    fix: str = "leave it out",
) -> int:
    """A whole number within bounds, both inclusive.

    Examples
    --------
    >>> whole_of(70_000, "port", 0, 65_535)
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: port: must be a whole number from 0 to 65535, not 70000
      fix: leave it out
    """
    right = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if right and (least is None or value >= least) and (most is None or value <= most):
        return int(value)
    bounds = "" if least is None else f" of at least {least}"
    bounds = bounds if most is None else f" from {least} to {most}"
    raise QueryError(f"must be a whole number{bounds}, not {shown(value)}", field=field, fix=fix)


def number_of(
    value: Any,
    field: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    fix: str = "",
) -> float:
    """A finite number, within bounds if there are any.

    Examples
    --------
    >>> number_of(1.5, "accuracy", above=0, most=1)
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: accuracy: must be a number above 0 and at most 1, not 1.5
      fix: write a number above 0 and at most 1
    """
    number = _plain(value)
    low = (above is None or number > above) and (least is None or number >= least)
    if low and math.isfinite(number) and (most is None or number <= most):
        return number
    ends = {"above": above, "of at least": least, "at most": most}
    bounds = " and ".join(f"{name} {end:g}" for name, end in ends.items() if end is not None)
    wanted = f"a number {bounds}" if bounds else "a finite number"
    raise QueryError(
        f"must be {wanted}, not {shown(value)}", field=field, fix=fix or f"write {wanted}"
    )


def _plain(value: Any) -> float:
    """The number that a value is; NaN if it is none."""
    # True is an int to Python, and a number to nobody else.
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def flag_of(value: Any, field: str, fix: str = "leave it out") -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise QueryError(f"must be true or false, not {shown(value)}", field=field, fix=fix)
    return value


def mapping_of(
    given: Any, field: str, fix: str = "give names and values, as {name: value}"
) -> Mapping[Any, Any]:
    """Names and their values: a table in a file, a dict in Python."""
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise QueryError(f"must be a table of names and values, not {kind}", field=field, fix=fix)
    return given


def numbers_of(given: object, field: str) -> Frozen[float]:
    """A finite number for each of some columns."""
    if not isinstance(given, Mapping) or not given:
        raise QueryError(
            f"must name a number for one column or more, not {shown(given)}",
            field=field,
            fix='write {"column": 1.0}',
        )
    for name in given:
        column_of(name, field, "use names of columns")
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
            f"must be (lo, hi) or 'running', not {shown(given)}", field=field, fix="write (0, 100)"
        )
    low, high = number_of(given[0], field), number_of(given[1], field)
    if low > high:
        raise QueryError(f"{low:g} is above {high:g}", field=field, fix="write the lower end first")
    return low, high
