"""Columns as they come in, and results in their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topwater.model import FloatArray, IntArray

FARTHEST = 1e150
"""What is farther out would overflow when squared, and is not a coordinate."""


def usable_rows(columns: Sequence[FloatArray]) -> npt.NDArray[np.bool_]:
    """Which objects have numbers throughout, none of them too far out."""
    good = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        if not (column.min(initial=0.0) > -FARTHEST and column.max(initial=0.0) < FARTHEST):
            good &= np.abs(column) < FARTHEST
    return good


def join_records(parts: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Records one after the other, without copying where only one part has some."""
    some = [part for part in parts if len(part)] or parts[:1]
    return some[0] if len(some) == 1 else np.concatenate(some)


def sort_order(*columns: IntArray) -> IntArray:
    """How to sort by the first column, then by the next ones: as one number, if that is enough."""
    if not len(columns[0]):
        return np.empty(0, np.int64)
    least = [int(column.min()) for column in columns]
    ranges = [int(column.max()) - low + 1 for column, low in zip(columns, least, strict=True)]
    if math.prod(ranges) >= 2**63:
        return np.lexsort(columns[::-1])
    number = np.zeros(len(columns[0]), np.int64)
    for column, low, range_ in zip(columns, least, ranges, strict=True):
        number *= range_
        number += column - low
    return np.argsort(number)


def as_numbers(column: npt.ArrayLike) -> FloatArray:
    """A column as numbers; what is none becomes NaN."""
    try:
        return np.asarray(column, np.float64).reshape(-1)
    except (TypeError, ValueError):
        return np.array([_number(value) for value in np.asarray(column, object).reshape(-1)])


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
