"""Arithmetic over named columns: text → tree → any algebra.

The text is read by a parser of its own and never reaches Python's. The tree knows nothing of
arrays: :meth:`Expression.fold` walks it with an *algebra*, a mapping from operator to function,
so that evaluating, bounding, finding slopes and printing are four algebras over one tree.

====================  =============================================================
``2``, ``1.5e3``      numbers
``followers``         a column; any other name in backticks: ```user.followers```
``+ - * / **``        as in Python: ``**`` binds tightest and to the right
``-x``                the negative of x
``abs sqrt exp``      of one argument, like ``log`` (natural) and ``log1p``
``floor ceil round``  to whole numbers; ``round`` takes a half upwards, -2.5 to -2
``min max``           of one argument or more
``clip(x, lo, hi)``   x, but at least lo and at most hi
``norm(x, lo, hi)``   (x - lo) / (hi - lo) with constant lo and hi; 0 where lo = hi
``positive(x)``       1 where x is above 0, else 0
``all any``           1 where all, or any, of the arguments are above 0, else 0
``if(c, x, y)``       x where c is above 0, else y; the other one may be without a value
====================  =============================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from topwater.errors import BatchError, QueryError
from topwater.model import FloatArray
from topwater.scoring.algebras import INTERVALS, NUMPY, TRENDS, Interval, Trend, sound
from topwater.scoring.formula_parser import Parser
from topwater.scoring.formula_text import TEXTS, leaf_text
from topwater.scoring.tree import MAX_DEPTH, MAX_LENGTH, Call, Leaf, Name, Node, Number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "MAX_DEPTH",
    "MAX_LENGTH",
    "Bound",
    "Call",
    "Expression",
    "Leaf",
    "Name",
    "Node",
    "Number",
    "column_of",
    "parse",
    "row_count",
]

T = TypeVar("T")
Bound: TypeAlias = float | FloatArray


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. Equal when the trees are equal; ``str`` gives text that parses to it.

    Examples
    --------
    >>> score = parse("0.7 * norm(mentions, 0, 50) + 0.3*growth")
    >>> score.columns
    ('mentions', 'growth')
    >>> score.evaluate({"mentions": np.array([25.0, 50.0]), "growth": np.array([1.0, 0.0])})
    array([0.65, 0.7 ])
    >>> print(score)
    0.7 * norm(mentions, 0, 50) + 0.3 * growth
    """

    tree: Node

    def __post_init__(self) -> None:
        # Level by level: a recursive count would fall into the very pit it is to warn of.
        level, depth = [self.tree], 0
        while level:
            depth += 1
            level = [arg for node in level if isinstance(node, Call) for arg in node.args]
        if depth > MAX_DEPTH:
            raise QueryError(
                f"the expression has {depth} levels, more than {MAX_DEPTH}",
                field="score",
                fix="use fewer terms, or a weighted sum, which takes any number of columns",
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order of first use."""
        found: dict[str, None] = {}
        self.fold(_IGNORE, lambda leaf: found.update(_names(leaf)))
        return tuple(found)

    def fold(self, algebra: Mapping[str, Callable[..., T]], leaf: Callable[[Leaf], T]) -> T:
        """Replace numbers and names by ``leaf`` of them, and calls by what ``algebra`` says.

        Examples
        --------
        >>> import operator
        >>> parse("2 * 3 + 4").fold({"+": operator.add, "*": operator.mul}, lambda n: n.value)
        10.0
        """
        return _fold(self.tree, algebra, leaf)

    def evaluate(self, columns: Mapping[str, FloatArray]) -> FloatArray:
        """One value per row; NaN or infinite where the arithmetic gives that.

        The result may share memory with a column.
        """
        rows = row_count(columns)
        with np.errstate(all="ignore"):
            values = self.fold(NUMPY, partial(_value, columns))
        return values if np.ndim(values) else np.full(rows, values)

    def bounds(
        self,
        columns: Mapping[str, FloatArray],
        unknown: Mapping[str, tuple[Bound, Bound]],
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest value of each row, if ``unknown`` columns stay in range.

        Parameters
        ----------
        columns
            The columns whose values are known.
        unknown
            The least and the greatest value of each other column, for all rows or per row.
            Where a name is in both, the range counts.

        Returns
        -------
        tuple of arrays
            Every number that :meth:`evaluate` could return lies between them, ends included,
            by interval arithmetic. They are minus and plus infinity where some value in the
            ranges has no result (the root of a negative number) or divides by zero.

        Examples
        --------
        >>> low, high = parse("a * b").bounds({"a": np.array([2.0, -1.0])}, {"b": (1.0, 3.0)})
        >>> low.tolist(), high.tolist()
        ([2.0, -3.0], [6.0, -1.0])
        """
        rows = row_count(columns)
        with np.errstate(all="ignore"):
            low, high = self.fold(INTERVALS, partial(_range, columns, unknown))
        rows = max(rows, np.size(low), np.size(high)) if rows else rows
        return np.broadcast_to(low, (rows,)).copy(), np.broadcast_to(high, (rows,)).copy()

    def monotone(
        self, name: str, ranges: Mapping[str, tuple[float, float]] | None = None
    ) -> int | None:
        """How the value follows a column when the others stay: 1 up, -1 down, 0 not at all.

        None means: neither, or not to be told from the operators and the ``ranges`` declared
        for columns. Equal values may follow different inputs, and inputs without a result (the
        root of a negative number) are left aside.

        Examples
        --------
        >>> distance = parse("abs(x - 3)")
        >>> distance.monotone("x"), distance.monotone("x", {"x": (3, 10)}), distance.monotone("y")
        (None, 1, 0)
        """
        with np.errstate(all="ignore"):
            return self.fold(TRENDS, partial(_leaf_trend, name, ranges or {}))[0]

    def __str__(self) -> str:
        return self.fold(TEXTS, leaf_text)[0]


def parse(text: str) -> Expression:
    """Read an expression.

    Raises
    ------
    QueryError
        With the place marked and what to do, for any text that is not an expression.

    Examples
    --------
    >>> parse("2 * (a + b")
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: score: expected ')' but the text ends at character 11
        2 * (a + b
                  ^
      fix: close the parenthesis opened at character 5
    """
    if not isinstance(text, str):
        raise QueryError(
            f"an expression is text, not {type(text).__name__}", field="score", fix='write "a + b"'
        )
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"the expression has {len(text)} characters, more than {MAX_LENGTH}",
            field="score",
            fix="use a weighted sum, or compute part of it as a column before",
        )
    return Expression(Parser(text).whole())


def _fold(node: Node, algebra: Mapping[str, Callable[..., T]], leaf: Callable[[Leaf], T]) -> T:
    if isinstance(node, Call):
        return algebra[node.op](*[_fold(arg, algebra, leaf) for arg in node.args])
    return leaf(node)


def _names(leaf: Leaf) -> dict[str, None]:
    return {leaf.name: None} if isinstance(leaf, Name) else {}


def row_count(columns: Mapping[str, FloatArray]) -> int:
    """How many rows the columns have; without any column, one."""
    return len(next(iter(columns.values()))) if columns else 1


def column_of(columns: Mapping[str, FloatArray], name: str) -> FloatArray:
    """A column as float64, copied only if it has another type."""
    if name not in columns:
        given = ", ".join(map(str, columns)) or "(none)"
        raise BatchError(f"the score needs the column {name!r}", fix=f"the batch has: {given}")
    try:
        return np.asarray(columns[name], dtype=np.float64)
    except (TypeError, ValueError):
        raise BatchError(f"the column {name!r} is not numeric", fix="cast it before") from None


def _value(columns: Mapping[str, FloatArray], leaf: Leaf) -> FloatArray:
    return column_of(columns, leaf.name) if isinstance(leaf, Name) else np.asarray(leaf.value)


def _range(
    columns: Mapping[str, FloatArray], unknown: Mapping[str, tuple[Bound, Bound]], leaf: Leaf
) -> Interval:
    if isinstance(leaf, Name) and leaf.name in unknown:
        low, high = unknown[leaf.name]
        return np.asarray(low, np.float64), np.asarray(high, np.float64)
    value = _value(columns, leaf)
    return sound(value, value)


_IGNORE: Mapping[str, Callable[..., None]] = dict.fromkeys(NUMPY, lambda *_: None)


def _leaf_trend(name: str, ranges: Mapping[str, tuple[float, float]], leaf: Leaf) -> Trend:
    unknown = {} if isinstance(leaf, Number) else {leaf.name: (-np.inf, np.inf), **ranges}
    return int(leaf == Name(name)), _range({}, unknown, leaf)
