"""What the operators of an expression mean: for values, for ranges of values, for slopes.

An *algebra* maps each operator to a function. All have the same operators, and none knows the
tree that it is folded over.
"""

from __future__ import annotations

import math
from functools import partial, reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from topwater.model import BoolArray, FloatArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Interval: TypeAlias = tuple[FloatArray, FloatArray]
"""The least and the greatest value, per row; never NaN, perhaps infinite."""

Sign: TypeAlias = int | None
"""1, -1, 0, or None where it can't be told."""

Trend: TypeAlias = tuple[Sign, Interval]
"""How a value follows a column, and the range it lies in."""


def _least(*args: FloatArray) -> FloatArray:
    return reduce(np.minimum, args)


def _greatest(*args: FloatArray) -> FloatArray:
    return reduce(np.maximum, args)


def _clip(x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    return np.minimum(np.maximum(x, low), high)


def _norm(x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    # Times zero rather than zero, so that NaN stays NaN.
    return (x - low) / (high - low) if low < high else (x - low) * 0.0 + 0.0


def _round(x: FloatArray) -> FloatArray:
    """To the nearest whole number, and of two to the greater, as SPARQL and XPath have it."""
    whole = np.floor(x)
    # Not x + 0.5, which is rounded itself.
    return np.where(np.isinf(x), x, whole + (x - whole >= 0.5))


def _positive(x: FloatArray) -> FloatArray:
    return np.where(np.isnan(x), x, x > 0)


def _every(*args: FloatArray) -> FloatArray:
    """1 if all are above 0, and 0 if one is not, even where others are NaN."""
    some_false = reduce(np.logical_or, [arg <= 0 for arg in args])
    return np.where(some_false, 0.0, np.where(np.isnan(_least(*args)), np.nan, 1.0))


def _some(*args: FloatArray) -> FloatArray:
    some_true = reduce(np.logical_or, [arg > 0 for arg in args])
    return np.where(some_true, 1.0, np.where(np.isnan(_least(*args)), np.nan, 0.0))


def _if(condition: FloatArray, yes: FloatArray, no: FloatArray) -> FloatArray:
    return np.where(np.isnan(condition), np.nan, np.where(condition > 0, yes, no))


NUMPY: Mapping[str, Callable[..., FloatArray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "log": np.log,
    "log1p": np.log1p,
    "exp": np.exp,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": _round,
    "positive": _positive,
    "all": _every,
    "any": _some,
    "if": _if,
    "min": _least,
    "max": _greatest,
    "clip": _clip,
    "norm": _norm,
}
"""Operators on arrays of float64."""

_STEPS = ("floor", "ceil", "round", "positive", "all", "any")

# + - * / and sqrt round correctly, and rounding keeps order: the values at the ends, computed
# as evaluate computes them, already enclose what it computes in between. Only exp, log and **
# may be a few units in the last place off, so these are widened.


def sound(low: FloatArray, high: FloatArray) -> Interval:
    """The interval without NaN: an end that can't be told is infinite."""
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _anything(where: BoolArray, interval: Interval) -> Interval:
    return np.where(where, -np.inf, interval[0]), np.where(where, np.inf, interval[1])


def _widened(interval: Interval) -> Interval:
    low, high = interval
    for _ in range(4):
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return low, high


def _holds_zero(interval: Interval) -> BoolArray:
    held: BoolArray = (interval[0] <= 0) & (interval[1] >= 0)
    return held


def _corners(op: Callable[..., FloatArray], left: Interval, right: Interval) -> Interval:
    found = [op(x, y) for x in left for y in right]
    # Infinity is an end that is not reached: 0 * ∞ and ∞ / ∞ come near 0, never to NaN.
    found = [np.where(np.isnan(corner), 0.0, corner) for corner in found]
    return _least(*found), _greatest(*found)


def _add(left: Interval, right: Interval) -> Interval:
    return sound(left[0] + right[0], left[1] + right[1])


def _negated(interval: Interval) -> Interval:
    return -interval[1], -interval[0]


def _divided(left: Interval, right: Interval) -> Interval:
    return _anything(_holds_zero(right), _corners(np.divide, left, right))


def _magnitude(interval: Interval) -> Interval:
    low, high = np.abs(interval[0]), np.abs(interval[1])
    return np.where(_holds_zero(interval), 0.0, np.minimum(low, high)), np.maximum(low, high)


def _power(base: Interval, exponent: Interval) -> Interval:
    least = exponent[0]
    whole = (least == exponent[1]) & np.isfinite(least) & (least == np.floor(least))
    even = whole & (np.fmod(least, 2) == 0)
    odd = whole & ~even
    near, far = _magnitude(base)
    ends = np.where(odd, base[0], near), np.where(odd, base[1], far)
    low, high = _widened(_corners(np.power, ends, exponent))
    undefined = (base[0] < 0) & ~whole
    # (-0.0) ** -1 is minus infinity, so zero counts as either side.
    pole = _holds_zero(base) & (least < 0) & ~even
    return _anything(undefined | pole, (np.where(odd, low, np.maximum(low, 0.0)), high))


def _rising(op: Callable[..., FloatArray], start: float, floor: float, x: Interval) -> Interval:
    """Of a function that rises from ``start`` on, has no value before, and stays over ``floor``."""
    low, high = _widened((op(x[0]), op(x[1])))
    return _anything(x[0] < start, sound(np.maximum(low, floor), high))


def _least_range(*args: Interval) -> Interval:
    return _least(*[low for low, _ in args]), _least(*[high for _, high in args])


def _greatest_range(*args: Interval) -> Interval:
    return _greatest(*[low for low, _ in args]), _greatest(*[high for _, high in args])


def _norm_range(x: Interval, low: Interval, high: Interval) -> Interval:
    if low[0] == high[0]:
        return np.zeros_like(x[0]), np.zeros_like(x[1])
    return _norm(x[0], low[0], high[0]), _norm(x[1], low[0], high[0])


def _stepped(op: Callable[..., FloatArray], *args: Interval) -> Interval:
    """Of a function without rounding that falls with none of its arguments."""
    return op(*[low for low, _ in args]), op(*[high for _, high in args])


def _if_range(condition: Interval, yes: Interval, no: Interval) -> Interval:
    low, high = _least_range(yes, no)[0], _greatest_range(yes, no)[1]
    for certain, branch in ((condition[0] > 0, yes), (condition[1] <= 0, no)):
        low, high = np.where(certain, branch[0], low), np.where(certain, branch[1], high)
    return low, high


INTERVALS: Mapping[str, Callable[..., Interval]] = {
    "+": _add,
    "-": lambda left, right: _add(left, _negated(right)),
    "*": partial(_corners, np.multiply),
    "/": _divided,
    "**": _power,
    "neg": _negated,
    "abs": _magnitude,
    "sqrt": partial(_rising, np.sqrt, 0.0, 0.0),
    "log": partial(_rising, np.log, 0.0, -math.inf),
    "log1p": partial(_rising, np.log1p, -1.0, -math.inf),
    "exp": partial(_rising, np.exp, -math.inf, 0.0),
    **{op: partial(_stepped, NUMPY[op]) for op in _STEPS},
    "if": _if_range,
    "min": _least_range,
    "max": _greatest_range,
    "clip": lambda x, low, high: _least_range(_greatest_range(x, low), high),
    "norm": _norm_range,
}
"""Operators on (least, greatest) pairs of arrays without NaN."""


def _trend(op: str, *args: Trend) -> Trend:
    ranges = [interval for _, interval in args]
    signs = [_chain(s, own) for s, (own, _) in zip(_SLOPES[op](*ranges), args, strict=True)]
    return reduce(_together, signs), INTERVALS[op](*ranges)


def _chain(slope: Sign, inner: Sign) -> Sign:
    if slope == 0 or inner == 0:
        return 0
    return None if slope is None or inner is None else slope * inner


def _together(left: Sign, right: Sign) -> Sign:
    if left == 0 or left == right:
        return right
    return left if right == 0 else None


def _sign(interval: Interval) -> Sign:
    low, high = interval
    if low >= 0:
        return int(high > 0)
    return -1 if high <= 0 else None


def _division_slopes(left: Interval, right: Interval) -> tuple[Sign, Sign]:
    if _holds_zero(right):
        return None, None
    return _sign(right), _chain(-1, _sign(left))


def _power_slopes(base: Interval, exponent: Interval) -> tuple[Sign, Sign]:
    low, high = base
    by_exponent = 1 if low >= 1 else -1 if low > 0 and high <= 1 else None
    least = float(exponent[0])
    if least == exponent[1] and least.is_integer():
        return _whole_power_slope(base, least), by_exponent
    if low < 0 or (low == 0 and least < 0):
        return None, None
    return _sign(exponent), by_exponent


def _whole_power_slope(base: Interval, exponent: float) -> Sign:
    direction = int(exponent > 0) - int(exponent < 0)
    if math.fmod(exponent, 2) == 0:
        return _chain(direction, _sign(base))
    return None if direction < 0 and _holds_zero(base) else direction


def _if_slopes(_condition: Interval, yes: Interval, no: Interval) -> tuple[Sign, Sign, Sign]:
    return _sign(_add(yes, _negated(no))), 1, 1


_SLOPES: Mapping[str, Callable[..., tuple[Sign, ...]]] = {
    "+": lambda *_: (1, 1),
    "-": lambda *_: (1, -1),
    "*": lambda left, right: (_sign(right), _sign(left)),
    "/": _division_slopes,
    "**": _power_slopes,
    "neg": lambda _: (-1,),
    "abs": lambda x: (_sign(x),),
    "sqrt": lambda _: (1,),
    "log": lambda _: (1,),
    "log1p": lambda _: (1,),
    "exp": lambda _: (1,),
    **{op: lambda *args: (1,) * len(args) for op in _STEPS},
    "if": _if_slopes,
    "min": lambda *args: (1,) * len(args),
    "max": lambda *args: (1,) * len(args),
    "clip": lambda *_: (1, 1, 1),
    "norm": lambda _, low, high: (int(low[0] < high[0]), 0, 0),
}
TRENDS: Mapping[str, Callable[..., Trend]] = {op: partial(_trend, op) for op in _SLOPES}
