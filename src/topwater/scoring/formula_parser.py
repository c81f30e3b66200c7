"""Text → tree. The text is read by a parser of its own, and never reaches Python's."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from topwater.errors import QueryError
from topwater.scoring.tree import ARITY, BINDING, MAX_DEPTH, NEGATIVE, Call, Name, Node, Number
from topwater.validation import suggestion

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<symbol>\*\*|[-+*/(),])
    )""",
    re.VERBOSE | re.ASCII,
)
_SPACE = re.compile(r"\s*", re.ASCII)

_HINTS = {
    "`": "close the backtick; write a backtick inside a name twice",
    "^": "write powers with **",
    ".": "put a column name with a dot in backticks",
    "'": "put column names in backticks, not in quotes",
    '"': "put column names in backticks, not in quotes",
    **dict.fromkeys(
        "<>=!&|",
        "a score is arithmetic, without conditions: leave events out before the query, or use "
        "min, max and clip, as max(x - 10, 0)",
    ),
    "%": "there is no remainder: compute it as a column before",
}
_CONDITIONS = frozenset({"and", "or", "not", "if", "else", "case", "when", "in", "is", "between"})
"""Words with which other languages write conditions."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


def _token_at(text: str, start: int) -> re.Match[str] | None:
    return _TOKEN.match(text, start)


class Parser:
    """Precedence climbing over a list of tokens that ends with one of kind ``end``.

    Attributes
    ----------
    token_at, hints, field
        Finds the token at a place of a text; what to do about a character that can't be read;
        and the setting that errors name.
    """

    token_at = staticmethod(_token_at)
    hints: Mapping[str, str] = _HINTS
    field = "score"

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.next = 0

    def _tokens(self) -> list[_Token]:
        tokens, start = [], 0
        while match := self.token_at(self.text, start):
            kind = match.lastgroup or ""
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            start = match.end()
        start = _SPACE.match(self.text, start).end()  # type: ignore[union-attr]  # matches ""
        if start < len(self.text):
            character = self.text[start]
            fix = self.hints.get(character, "put column names with other characters in backticks")
            self._fail(f"{character!r} can't be read", start, fix)
        return [*tokens, _Token("end", "", len(self.text))]

    def whole(self) -> Node:
        """The one expression that the text is."""
        if len(self.tokens) == 1:
            self._fail("the expression is empty", 0, "write a column name, or a formula")
        tree = self._expression(1, 0)
        if (token := self.tokens[self.next]).kind != "end":
            self._fail(f"{token.text[:40]!r} is too much", token.start, _surplus(token.text))
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
        return BINDING.get(token.text, 0) if token.kind == "symbol" else 0

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
            return _negative(self._expression(NEGATIVE, nesting + 1))
        if token.text == "(":
            inner = self._expression(1, nesting + 1)
            self._close(token)
            return inner
        problem = f"expected a number, a column or '(' {self._found(token)}"
        return self._fail(problem, token.start, "complete the expression")

    def _number(self, token: _Token) -> Number:
        number = Number.of(token.text)
        if math.isinf(number.value):
            self._fail(f"{token.text[:40]} is too large", token.start, "use numbers below 1.79e308")
        return number

    def _call(self, name: _Token, nesting: int) -> Node:
        if name.text not in ARITY:
            problem = f"{name.text[:40]!r} is not a function"
            self._fail(problem, name.start, suggestion(name.text, ARITY))
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
        least, most = ARITY[name.text]
        if not least <= len(args) <= most:
            wanted = f"{least}" if least == most else f"at least {least}"
            problem = f"{name.text} takes {wanted} argument(s), not {len(args)}"
            self._fail(problem, name.start, f"write {_usage(name.text)}")
        if name.text not in ("clip", "norm"):
            return
        low, high = args[1:]
        if isinstance(low, Number) and isinstance(high, Number):
            if not low.value <= high.value or math.isinf(high.value - low.value):
                problem = f"{low.value:g} to {high.value:g} is not a range"
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
            field=self.field,
            fix=fix,
        )


def _surplus(text: str) -> str:
    """What to do about a part that is too much."""
    if text == ")":
        return "remove it, or open a parenthesis before"
    if text.lower() in _CONDITIONS:
        return _HINTS["<"]
    return "put an operator (+ - * / **) between, or remove what follows"


def _negative(node: Node) -> Node:
    # Folded, so that -3 is a plain number wherever one is asked for.
    return -node if isinstance(node, Number) else Call("neg", (node,))


def _usage(name: str) -> str:
    least = ARITY[name][0]
    if name == "if":
        return "if(c, x, y)"
    return f"{name}(x, lo, hi)" if least == 3 else f"{name}(x)"
