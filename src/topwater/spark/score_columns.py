"""Scores as Spark expressions, so that one column crosses from Java to Python instead of many.

Only what both sides compute alike, to the last bit, is translated: the operators that IEEE 754
rounds correctly. ``exp``, ``log`` and ``**`` are not among them, and a division only by a
constant, because Spark has an opinion of its own on division by zero. A score with anything else
in it is left to Python, and so is one of decimal columns.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

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

from topwater.scoring.expressions import Call, Expression, Leaf, Name, Node, Number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column
    from pyspark.sql.types import StructType

    from topwater.scoring import Score

_EXACT = (BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)

Folded: TypeAlias = "Column"


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
    exact = all(isinstance(types.get(name), _EXACT) for name in expression.columns)
    if not exact or not _translatable(expression.tree):
        return None
    value = expression.fold(_SPARK, _leaf)
    # Infinite inputs can give finite scores, as in min(x, 1); such a score means nothing.
    finite = [F.abs(_double(name)) < F.lit(math.inf) for name in expression.columns]
    whole = F.when(reduce(lambda left, right: left & right, finite), value)
    return -whole if score.order == "smallest" else whole


def _translatable(node: Node) -> bool:
    if not isinstance(node, Call):
        return True
    if node.op not in _SPARK:
        return False
    if node.op == "/" and not _is_nonzero(node.args[1]):
        return False
    return all(_translatable(arg) for arg in node.args)


def _is_nonzero(node: Node) -> bool:
    return isinstance(node, Number) and node.value != 0


def _double(name: str) -> Column:
    return quoted(name).cast("double")


def _leaf(leaf: Leaf) -> Column:
    return _double(leaf.name) if isinstance(leaf, Name) else F.lit(leaf.value)


def _least(*args: Column) -> Column:
    return _chosen(F.least, args)


def _greatest(*args: Column) -> Column:
    return _chosen(F.greatest, args)


def _chosen(choose: Callable[..., Column], args: tuple[Column, ...]) -> Column:
    """NumPy's minimum and maximum are NaN if any argument is; Spark ranks NaN above all."""
    if len(args) == 1:
        return args[0]
    lost = reduce(lambda left, right: left | right, [F.isnan(arg) for arg in args])
    return F.when(lost, F.lit(math.nan)).otherwise(choose(*args))


def _clip(x: Column, low: Column, high: Column) -> Column:
    return _least(_greatest(x, low), high)


def _norm(x: Column, low: Column, high: Column) -> Column:
    return F.when(low < high, (x - low) / F.nullif(high - low, F.lit(0.0))).otherwise(
        (x - low) * F.lit(0.0) + F.lit(0.0)
    )


_SPARK: Mapping[str, Callable[..., Folded]] = {
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
    "norm": _norm,
}
