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
``min max``           of one argument or more
``clip(x, lo, hi)``   x, but at least lo and at most hi
``norm(x, lo, hi)``   (x - lo) / (hi - lo) with constant lo and hi; 0 where lo = hi
====================  =============================================================
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar

import numpy as np

from topwater.errors import BatchError, QueryError
from topwater.model import FloatArray
from topwater.scoring.algebras import INTERVALS, NUMPY, TRENDS, Interval, Trend, sound
from topwater.validation import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_LENGTH = 10_000
"""Characters in the longest text that is read."""

MAX_DEPTH = 100
"""Levels of the deepest tree. A sum of n terms has n levels."""

T = TypeVar("T")
Bound: TypeAlias = float | FloatArray


@dataclass(frozen=True, slots=True)
class Number:
    """A finite constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function with its arguments; ``neg`` is the unary minus."""

    op: str
    args: tuple[Node, ...]


Node: TypeAlias = Number | Name | Call
Leaf: TypeAlias = Number | Name


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
        rows = rows_of(columns)
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
        rows = rows_of(columns)
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
        return self.fold(_TEXTS, _leaf_text)[0]


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
    return Expression(_Parser(text).whole())


def _fold(node: Node, algebra: Mapping[str, Callable[..., T]], leaf: Callable[[Leaf], T]) -> T:
    if isinstance(node, Call):
        return algebra[node.op](*[_fold(arg, algebra, leaf) for arg in node.args])
    return leaf(node)


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<symbol>\*\*|[-+*/(),])
    )""",
    re.VERBOSE | re.ASCII,
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SPACE = re.compile(r"\s*", re.ASCII)

_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
_NEGATIVE, _POWER, _ATOM = 3, 4, 5

_ARITY: dict[str, tuple[int, int]] = {
    "abs": (1, 1),
    "sqrt": (1, 1),
    "log": (1, 1),
    "log1p": (1, 1),
    "exp": (1, 1),
    "min": (1, MAX_LENGTH),
    "max": (1, MAX_LENGTH),
    "clip": (3, 3),
    "norm": (3, 3),
}

_HINTS = {
    "`": "close the backtick; write a backtick inside a name twice",
    "^": "write powers with **",
    ".": "put a column name with a dot in backticks",
    "'": "put column names in backticks, not in quotes",
    '"': "put column names in backticks, not in quotes",
}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


class _Parser:
    """Precedence climbing over a list of tokens that ends with one of kind ``end``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.next = 0

    def _tokens(self) -> list[_Token]:
        tokens, start = [], 0
        while match := _TOKEN.match(self.text, start):
            kind = match.lastgroup or ""
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            start = match.end()
        start = _SPACE.match(self.text, start).end()  # type: ignore[union-attr]  # matches ""
        if start < len(self.text):
            character = self.text[start]
            fix = _HINTS.get(character, "put column names with other characters in backticks")
            self._fail(f"{character!r} can't be read", start, fix)
        return [*tokens, _Token("end", "", len(self.text))]

    def whole(self) -> Node:
        """The one expression that the text is."""
        if len(self.tokens) == 1:
            self._fail("the expression is empty", 0, "write a column name, or a formula")
        tree = self._expression(1, 0)
        if (token := self.tokens[self.next]).kind != "end":
            fix = (
                "remove it, or open a parenthesis before"
                if token.text == ")"
                else "put an operator (+ - * / **) between, or remove what follows"
            )
            self._fail(f"{token.text[:40]!r} is too much", token.start, fix)
        return tree

    def _expression(self, binding: int, nesting: int) -> Node:
        """Operands joined by operators that bind at least as tightly as ``binding``."""
        # Twice the depth of a tree: an operand in parentheses nests twice for its one level.
        if nesting > 2 * MAX_DEPTH:
            self._fail("the nesting is too deep", self.tokens[self.next].start, "simplify it")
        left = self._operand(nesting)
        while (own := self._binding()) >= binding:
            op = self._take().text
            right = self._expression(own if op == "**" else own + 1, nesting + 1)
            left = Call(op, (left, right))
        return left

    def _binding(self) -> int:
        token = self.tokens[self.next]
        return _BINDING.get(token.text, 0) if token.kind == "symbol" else 0

    def _operand(self, nesting: int) -> Node:
        token = self._take()
        if token.kind == "number":
            return self._number(token)
        if token.kind == "quoted":
            return Name(token.text[1:-1].replace("``", "`"))
        if token.kind == "name":
            called = self.tokens[self.next].text == "("
            return self._call(token, nesting) if called else Name(token.text)
        if token.text == "-":
            return _negative(self._expression(_NEGATIVE, nesting + 1))
        if token.text == "(":
            inner = self._expression(1, nesting + 1)
            self._close(token)
            return inner
        problem = f"expected a number, a column or '(' {self._found(token)}"
        return self._fail(problem, token.start, "complete the expression")

    def _number(self, token: _Token) -> Number:
        value = float(token.text)
        if math.isinf(value):
            self._fail(f"{token.text[:40]} is too large", token.start, "use numbers below 1.79e308")
        return Number(value)

    def _call(self, name: _Token, nesting: int) -> Node:
        if name.text not in _ARITY:
            problem = f"{name.text[:40]!r} is not a function"
            self._fail(problem, name.start, suggestion(name.text, _ARITY))
        opened = self._take()
        args: list[Node] = []
        if self.tokens[self.next].text != ")":
            args.append(self._expression(1, nesting + 2))
            while self.tokens[self.next].text == ",":
                self._take()
                args.append(self._expression(1, nesting + 2))
        self._close(opened)
        self._check(name, args)
        return Call(name.text, tuple(args))

    def _check(self, name: _Token, args: list[Node]) -> None:
        least, most = _ARITY[name.text]
        if not least <= len(args) <= most:
            wanted = f"{least}" if least == most else f"at least {least}"
            problem = f"{name.text} takes {wanted} argument(s), not {len(args)}"
            self._fail(problem, name.start, f"write {_usage(name.text)}")
        if name.text not in ("clip", "norm"):
            return
        low, high = args[1:]
        if isinstance(low, Number) and isinstance(high, Number):
            if not low.value <= high.value or math.isinf(high.value - low.value):
                problem = f"{low.value:g} to {high.value:g} is no range"
                self._fail(problem, name.start, "write the lower end first")
        elif name.text == "norm":
            self._fail("the ends of norm are not plain numbers", name.start, "write norm(x, 0, 50)")

    def _close(self, opened: _Token) -> None:
        token = self._take()
        if token.text != ")":
            fix = f"close the parenthesis opened at character {opened.start + 1}"
            self._fail(f"expected ')' {self._found(token)}", token.start, fix)

    def _found(self, token: _Token) -> str:
        return f"but found {token.text[:40]!r}" if token.text else "but the text ends"

    def _take(self) -> _Token:
        token = self.tokens[self.next]
        self.next += token.kind != "end"
        return token

    def _fail(self, problem: str, position: int, fix: str) -> NoReturn:
        first = max(0, position - 40)
        shown = "".join(c if c.isprintable() else " " for c in self.text[first : position + 30])
        caret = " " * (position - first) + "^"
        raise QueryError(
            f"{problem} at character {position + 1}\n    {shown}\n    {caret}",
            field="score",
            fix=fix,
        )


def _negative(node: Node) -> Node:
    # Folded, so that -3 is a plain number wherever one is asked for.
    return Number(-node.value) if isinstance(node, Number) else Call("neg", (node,))


def _usage(name: str) -> str:
    least = _ARITY[name][0]
    return f"{name}(x, lo, hi)" if least == 3 else f"{name}(x)"


def _names(leaf: Leaf) -> dict[str, None]:
    return {leaf.name: None} if isinstance(leaf, Name) else {}


def rows_of(columns: Mapping[str, FloatArray]) -> int:
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


_Text: TypeAlias = tuple[str, int]


def _leaf_text(leaf: Leaf) -> _Text:
    if isinstance(leaf, Name):
        plain = _PLAIN.fullmatch(leaf.name)
        return (leaf.name if plain else "`" + leaf.name.replace("`", "``") + "`"), _ATOM
    short = f"{leaf.value:.0f}" if abs(leaf.value) < 1e15 and leaf.value.is_integer() else ""
    text = short or repr(leaf.value)
    return text, _NEGATIVE if text.startswith("-") else _ATOM


def _enclosed(part: _Text, binding: int) -> str:
    return part[0] if part[1] >= binding else f"({part[0]})"


def _infix_text(op: str, left: _Text, right: _Text) -> _Text:
    own = _BINDING[op]
    # Only the power groups to the right, so only it needs the parentheses on the left.
    before, after = (own + 1, own) if own == _POWER else (own, own + 1)
    return f"{_enclosed(left, before)} {op} {_enclosed(right, after)}", own


def _call_text(name: str, *args: _Text) -> _Text:
    return f"{name}({', '.join(text for text, _ in args)})", _ATOM


_TEXTS: Mapping[str, Callable[..., _Text]] = {
    **{op: partial(_infix_text, op) for op in _BINDING},
    **{name: partial(_call_text, name) for name in _ARITY},
    "neg": lambda x: (f"-{_enclosed(x, _NEGATIVE)}", _NEGATIVE),
}
