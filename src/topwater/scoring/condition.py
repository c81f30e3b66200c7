"""What a row has to fulfil to be ranked: comparisons of formulas, with ``and`` and ``or``.

A value that is missing fulfils nothing, as in SQL: neither ``x > 3`` nor its opposite. So there is
no node for ``not``: the parser turns it into the opposite comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from topwater.model import BoolArray, FloatArray
from topwater.scoring.expressions import Bound, Expression, row_count
from topwater.scoring.tree import Name, Number

Columns: TypeAlias = Mapping[str, FloatArray]
Ranges: TypeAlias = Mapping[str, tuple[Bound, Bound]]

OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
"""The comparison that holds where one does not, and nothing is missing."""

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_TESTS: Mapping[str, Callable[[FloatArray, FloatArray], BoolArray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two formulas, and how the first has to compare with the second."""

    op: str
    left: Expression
    right: Expression

    @property
    def opposite(self) -> Comparison:
        """What holds where this does not, and nothing is missing."""
        return Comparison(OPPOSITE[self.op], self.left, self.right)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order of first use."""
        return tuple(dict.fromkeys([*self.left.columns, *self.right.columns]))

    def holds(self, columns: Columns) -> BoolArray:
        """Which rows fulfil it."""
        left, right = self.left.evaluate(columns), self.right.evaluate(columns)
        known = ~(np.isnan(left) | np.isnan(right))
        return np.asarray(_TESTS[self.op](left, right) & known)

    def may_hold(self, columns: Columns, unknown: Ranges) -> BoolArray:
        """Which rows might, for values of the unknown columns in their ranges."""
        (low, high) = self.left.bounds(columns, unknown)
        (least, most) = self.right.bounds(columns, unknown)
        if self.op == "==":
            return np.asarray((low <= most) & (high >= least))
        if self.op == "!=":
            return np.asarray(~((low == high) & (least == most) & (low == least)))
        first, second = (low, most) if self.op in ("<", "<=") else (high, least)
        return np.asarray(_TESTS[self.op](first, second))

    @property
    def limit(self) -> tuple[str, str, float] | None:
        """Column, comparison and number, if it compares one with the other."""
        left, right, op = self.left.tree, self.right.tree, self.op
        if isinstance(left, Number):
            left, right, op = right, left, _MIRRORED[op]
        if isinstance(left, Name) and isinstance(right, Number):
            return left.name, op, right.value
        return None

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True, slots=True)
class Several:
    """Several conditions, of which all have to hold (``and``), or one (``or``)."""

    word: str
    parts: tuple[Part, ...]

    @property
    def opposite(self) -> Several:
        """What holds where this does not, and nothing is missing."""
        other = "or" if self.word == "and" else "and"
        return Several(other, tuple(part.opposite for part in self.parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order of first use."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    def holds(self, columns: Columns) -> BoolArray:
        """Which rows fulfil it."""
        return self._together([part.holds(columns) for part in self.parts])

    def may_hold(self, columns: Columns, unknown: Ranges) -> BoolArray:
        """Which rows might, for values of the unknown columns in their ranges."""
        return self._together([part.may_hold(columns, unknown) for part in self.parts])

    def _together(self, found: list[BoolArray]) -> BoolArray:
        join = np.logical_and if self.word == "and" else np.logical_or
        return np.asarray(join.reduce(np.broadcast_arrays(*found)))

    def __str__(self) -> str:
        return f" {self.word} ".join(
            f"({part})" if isinstance(part, Several) else str(part) for part in self.parts
        )


Part: TypeAlias = Comparison | Several


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition. Equal when the parts are equal; ``str`` gives text that reads as the same.

    Examples
    --------
    >>> from topwater.scoring.condition_parser import read_condition
    >>> wanted = read_condition("stock > 0 and not price >= 10")
    >>> print(wanted)
    stock > 0 and price < 10
    >>> wanted.holds({"stock": np.array([3.0, 3.0, 0.0]), "price": np.array([9.0, np.nan, 9.0])})
    array([ True, False, False])
    """

    tree: Part

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order of first use."""
        return self.tree.columns

    def holds(self, columns: Columns) -> BoolArray:
        """Which rows fulfil it; a value that is missing fulfils nothing."""
        return np.broadcast_to(self.tree.holds(columns), row_count(columns))

    def may_hold(self, columns: Columns, unknown: Ranges) -> BoolArray:
        """Which rows might fulfil it, for values of the unknown columns in their ranges.

        Never false where some values in the ranges fulfil it.
        """
        return np.broadcast_to(self.tree.may_hold(columns, unknown), row_count(columns))

    def can_hold(self, ranges: Mapping[str, tuple[float, float]]) -> bool:
        """Whether any row could fulfil it: false only if that is certain.

        Parameters
        ----------
        ranges
            What is known of columns; of the others nothing is.
        """
        return _can_hold(self.tree, dict.fromkeys(self.columns, (-np.inf, np.inf)) | {**ranges})

    def __str__(self) -> str:
        return str(self.tree)


def _can_hold(part: Part, ranges: Mapping[str, tuple[float, float]]) -> bool:
    if isinstance(part, Comparison):
        narrow = _narrowed(ranges, [part])
        return narrow is not None and bool(part.may_hold({}, narrow)[0])
    if part.word == "or":
        return any(_can_hold(each, ranges) for each in part.parts)
    plain = [each for each in part.parts if isinstance(each, Comparison)]
    narrow = _narrowed(ranges, plain)
    return narrow is not None and all(_can_hold(each, narrow) for each in part.parts)


def _narrowed(
    ranges: Mapping[str, tuple[float, float]], parts: list[Comparison]
) -> dict[str, tuple[float, float]] | None:
    """The ranges that are left where all of some comparisons hold; None if one is empty."""
    found = dict(ranges)
    for part in parts:
        if part.limit is None:
            continue
        name, op, number = part.limit
        low, high = found[name]
        if op in (">", ">=", "=="):
            low = max(low, np.nextafter(number, np.inf) if op == ">" else number)
        if op in ("<", "<=", "=="):
            high = min(high, np.nextafter(number, -np.inf) if op == "<" else number)
        if low > high:
            return None
        found[name] = low, high
    return found
