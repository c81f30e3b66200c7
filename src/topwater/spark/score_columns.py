"""Scores as Spark expressions, so that one column crosses from Java to Python instead of many.

Only what both sides compute alike, to the last bit, is translated: the operators that IEEE 754
rounds correctly. ``exp``, ``log`` and ``**`` are not among them, and a division only by a
constant, because Spark has an opinion of its own on division by zero. A score with anything else
in it is left to Python, and so is one of decimal columns.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
)

from topwater.scoring.expressions import Call, Expression, Name, Node, Number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column
    from pyspark.sql.types import StructType

    from topwater.scoring import Score

EXACT = (BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)


def quoted(name: str) -> Column:
    """A column by its name, whatever characters that has."""
    return F.col("`" + name.replace("`", "``") + "`")


def rank_score(score: Score, schema: StructType) -> Column | None:
    """The score of each row, larger ranking higher; null where it has none.

    None if Spark would not compute it exactly as NumPy does.
    """
    expression = getattr(score, "expression", None)
    if not isinstance(expression, Expression) or score.running:
        return None
    types = {field.name: field.dataType for field in schema}
    exact = all(isinstance(types.get(name), EXACT) for name in expression.columns)
    if not exact or not _translatable(expression.tree):
        return None
    value = _column(expression.tree)
    # Infinite inputs can give finite scores, as in min(x, 1); such a score means nothing.
    finite = [F.abs(_double(name)) < F.lit(math.inf) for name in expression.columns]
    whole = F.when(reduce(lambda left, right: left & right, finite), value)
    return -whole if score.order == "smallest" else whole


def _translatable(node: Node) -> bool:
    match node:
        case Call("norm", (x, Number(), Number())):
            return _translatable(x)
        case Call("/", (x, Number(value))):
            return value != 0 and _translatable(x)
        case Call("/"):
            return False
        case Call(op, args):
            return op in _SPARK and all(map(_translatable, args))
    return True


def _double(name: str) -> Column:
    return quoted(name).cast("double")


def _column(node: Node) -> Column:
    """A tree as a column. Every argument stands in it once.

    One that stood twice would double what is below it at every level, and Spark would plan all of
    it: ten levels of min() took 24 s.
    """
    match node:
        case Name(name):
            return _double(name)
        case Number(value):
            return F.lit(value)
        case Call("norm", (x, Number(low), Number(high))):
            return _norm(_column(x), low, high)
        case Call(op, args):
            return _SPARK[op](*map(_column, args))


def _least(*args: Column) -> Column:
    """NumPy's minimum is NaN if an argument is; so is Spark's maximum, which ranks NaN highest."""
    return args[0] if len(args) == 1 else -_greatest(*(-arg for arg in args))


def _greatest(*args: Column) -> Column:
    return args[0] if len(args) == 1 else F.greatest(*args)


def _clip(x: Column, low: Column, high: Column) -> Column:
    return _least(_greatest(x, low), high)


def _norm(x: Column, low: float, high: float) -> Column:
    if low < high:
        return (x - F.lit(low)) / F.lit(high - low)
    return (x - F.lit(low)) * F.lit(0.0) + F.lit(0.0)


_SPARK: Mapping[str, Callable[..., Column]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "neg": lambda x: -x,
    "abs": F.abs,
    "sqrt": F.sqrt,
    "min": _least,
    "max": _greatest,
    "clip": _clip,
}
