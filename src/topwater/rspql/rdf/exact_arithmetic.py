"""Comparisons that doubles can't decide, decided with whole numbers and decimals in full.

Integers and decimals of SPARQL are exact, and the columns are doubles. Rounding keeps the order of
numbers, so a comparison of doubles is right unless the two sides are as near as the rounding
may have moved them. Only then a row is looked at again, here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from topwater.model import BoolArray, FloatArray
from topwater.rspql.rdf.term_values import Exact
from topwater.scoring.algebras import NUMPY
from topwater.scoring.expressions import Call, Name, Node, Number

Rounded: TypeAlias = tuple[FloatArray, FloatArray]
"""Values, and how far each may be from what it stands for."""

COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
DOUBLE, FLOAT = 2.0**-51, 2.0**-22
"""More than the rounding of any operation, relative to its result."""

_WHOLE = 2.0**53
_LARGEST = 4_000
"""Bits of the largest number that is multiplied in full."""


def near(
    left: Node, right: Node, columns: Mapping[str, FloatArray], unit: float = DOUBLE
) -> BoolArray:
    """Where two formulas are so near each other that doubles can't tell which is the greater.

    Parameters
    ----------
    left, right
        The formulas.
    columns
        What is in them.
    unit
        What an operation may be off, relative to its result: ``DOUBLE``, or ``FLOAT`` where
        there are floats.

    Examples
    --------
    >>> sum_of_two = Call("+", (Name("a"), Name("b")))
    >>> near(sum_of_two, Number(0.3), {"a": np.array([0.1, 1]), "b": np.array([0.2, 2])})
    array([ True, False])
    """
    with np.errstate(all="ignore"):
        rounding = Rounding(unit)
        (a, a_error), (b, b_error) = (rounding.of(side, columns) for side in (left, right))
        error = a_error + b_error
        found: BoolArray = (error > 0) & ~(np.abs(a - b) > error)
    return found


class Rounding:
    """Evaluates formulas along with how far from the truth each result may be."""

    def __init__(self, unit: float) -> None:
        self._unit = unit

    def of(self, node: Node, columns: Mapping[str, FloatArray]) -> Rounded:
        """A formula over columns."""
        if isinstance(node, Call):
            return self._applied(node.op, [self.of(each, columns) for each in node.args])
        values = np.asarray(columns[node.name] if isinstance(node, Name) else node.value)
        return self._rounded(values, np.zeros_like(values))

    def _rounded(self, values: FloatArray, error: FloatArray) -> Rounded:
        """Values that were rounded once more; whole ones that a double can hold were not."""
        whole = (error == 0) & (np.floor(values) == values) & (np.abs(values) < _WHOLE)
        return values, np.where(whole, 0.0, error + self._unit * np.abs(values))

    def _applied(self, op: str, parts: list[Rounded]) -> Rounded:
        values = [value for value, _ in parts]
        errors = [error for _, error in parts]
        found = NUMPY[op](*values)
        if op in ("+", "-"):
            return self._rounded(found, errors[0] + errors[1])
        if op == "*":
            error = np.abs(values[0]) * errors[1] + np.abs(values[1]) * errors[0]
            return self._rounded(found, error)
        if op == "/":
            error = (errors[0] + np.abs(found) * errors[1]) / np.abs(values[1])
            return found, np.nan_to_num(error) + self._unit * np.abs(found)
        if op in ("floor", "ceil", "round"):
            x, error = values[0], errors[0]
            return found, np.maximum(NUMPY[op](x + error) - found, found - NUMPY[op](x - error))
        # Of whatever else there is, doubles are all that is known.
        return found, reduce(np.maximum, errors) + np.zeros_like(found)


def evaluated(node: Node, values: Mapping[str, Exact]) -> Exact:
    """A formula in full, as far as its parts are known in full.

    Raises
    ------
    ArithmeticError
        If it has no value, or one too large to be of use in full.

    Examples
    --------
    >>> evaluated(Call("+", (Name("a"), Number(0.2))), {"a": Fraction("0.1")}) == Fraction("0.3")
    True
    """
    if isinstance(node, Name):
        return values[node.name]
    if isinstance(node, Number):
        return constant(node)
    if node.op == "if":
        holds = evaluated(node.args[0], values) > 0
        return evaluated(node.args[1 if holds else 2], values)
    args = [evaluated(each, values) for each in node.args]
    if node.op not in _IN_FULL or not all(isinstance(each, Fraction) for each in args):
        return _in_binary(node.op, args)
    found: Exact = _IN_FULL[node.op](*args)
    if isinstance(found, Fraction) and found.denominator.bit_length() > _LARGEST:
        raise OverflowError("so many digits decide no comparison")
    return found


def constant(number: Number) -> Fraction:
    """A number of a formula as it is written."""
    return Fraction(number.written or repr(number.value))


def _in_binary(op: str, args: list[Exact]) -> Exact:
    """A double, or a float where nothing is a double."""
    kind = np.float64 if op not in _IN_FULL or _has_double(args) else np.float32
    with np.errstate(all="ignore"):
        found = NUMPY[op](*(kind(float(each)) for each in args))
    return float(found) if kind is np.float64 else np.float32(found)


def _has_double(args: Iterable[Exact]) -> bool:
    return any(isinstance(each, float) for each in args)


_IN_FULL: Mapping[str, Callable[..., Exact]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "abs": operator.abs,
    "min": min,
    "max": max,
    "clip": lambda x, low, high: min(max(x, low), high),
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
    "round": lambda x: Fraction(math.floor(x + Fraction(1, 2))),
}


def decided(op: str, left: Exact, right: Exact) -> bool:
    """Does a comparison hold? With a double or a float on one side, the other becomes one too."""
    if _has_double((left, right)):
        left, right = float(left), float(right)
    elif not (isinstance(left, Fraction) and isinstance(right, Fraction)):
        left, right = np.float32(float(left)), np.float32(float(right))
    return bool(COMPARED[op](left, right))


def exact_column(value: float, whole: bool) -> Exact:
    """A number of a column, which is a double unless the column is of whole numbers."""
    return Fraction(int(value)) if whole and math.isfinite(value) else value
