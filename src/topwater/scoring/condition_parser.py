"""Text → condition, by the parser of formulas: what is compared are formulas.

====================  ===============================================================
``stock > 0``         ``< <= > >= == !=`` (and ``=``, ``<>``) of two formulas
``0 < x <= 3``        the same as ``0 < x and x <= 3``
``a and b``           ``and`` binds tighter than ``or``; parentheses as usual
``not a``             the opposite; a value that is missing fulfils neither
====================  ===============================================================
"""

from __future__ import annotations

import re
from typing import Any

from topwater.errors import QueryError
from topwater.scoring.condition import Comparison, Condition, Part, Several
from topwater.scoring.expressions import MAX_LENGTH, Expression
from topwater.scoring.formula_parser import Parser
from topwater.scoring.tree import MAX_DEPTH

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<symbol>\*\*|<=|>=|==|!=|<>|[-+*/(),<>=])
    )""",
    re.VERBOSE | re.ASCII,
)
_SIGNS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "==", "==": "=="}
_SIGNS |= {"!=": "!=", "<>": "!="}


def _token_at(text: str, start: int) -> re.Match[str] | None:
    return _TOKEN.match(text, start)


class ConditionParser(Parser):
    """The parser of formulas, and above it comparisons and the words between them."""

    token_at = staticmethod(_token_at)
    field = "where"
    hints = {
        **Parser.hints,
        **dict.fromkeys("&|!", "write and, or, not"),
        **dict.fromkeys("'\"", "only numbers are compared; put column names in backticks"),
    }

    def condition(self) -> Condition:
        """The one condition that the text is."""
        if len(self.tokens) == 1:
            self._fail("the condition is empty", 0, 'write one, as "stock > 0"')
        tree = self._either(0)
        if (token := self.tokens[self.next]).kind != "end":
            fix = "put and, or, or an operator between, or remove what follows"
            self._fail(f"{token.text[:40]!r} is too much", token.start, fix)
        return Condition(tree)

    def _either(self, nesting: int) -> Part:
        return self._joined("or", [self._both(nesting)], nesting)

    def _both(self, nesting: int) -> Part:
        return self._joined("and", [self._one(nesting)], nesting)

    def _joined(self, word: str, parts: list[Part], nesting: int) -> Part:
        """All that follows with the same word between."""
        while self._word() == word:
            self._take()
            parts.append(self._both(nesting) if word == "or" else self._one(nesting))
        return parts[0] if len(parts) == 1 else Several(word, tuple(parts))

    def _one(self, nesting: int) -> Part:
        if nesting > MAX_DEPTH:
            self._fail("the nesting is too deep", self.tokens[self.next].start, "simplify it")
        if self._word() == "not":
            self._take()
            return self._one(nesting + 1).opposite
        begun = self.next
        if self.tokens[begun].text == "(":
            # A parenthesis may open a formula, or a condition: that is known at its end.
            try:
                return self._comparison()
            except QueryError:
                self.next = begun
            opened = self._take()
            inner = self._either(nesting + 1)
            self._close(opened)
            return inner
        return self._comparison()

    def _comparison(self) -> Part:
        """Two formulas and a sign between them, or more of them in a chain."""
        left, parts = self._formula(), list[Part]()
        while (sign := self.tokens[self.next]).text in _SIGNS and sign.kind == "symbol":
            self._take()
            right = self._formula()
            parts.append(Comparison(_SIGNS[sign.text], left, right))
            left = right
        if not parts:
            problem = f"expected a comparison {self._found(sign)}"
            self._fail(problem, sign.start, "compare it with something, as stock > 0")
        return parts[0] if len(parts) == 1 else Several("and", tuple(parts))

    def _formula(self) -> Expression:
        return Expression(self._expression(1, 0))

    def _word(self) -> str:
        token = self.tokens[self.next]
        return token.text.lower() if token.kind == "name" else ""


def read_condition(text: Any) -> Condition:
    """Read a condition.

    Raises
    ------
    QueryError
        With the place marked and what to do, for any text that is not a condition.

    Examples
    --------
    >>> print(read_condition("0 < stock and (price < 5 or not rating < 4)"))
    0 < stock and (price < 5 or rating >= 4)
    >>> read_condition("stock")
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: where: expected a comparison but the text ends at character 6
        stock
             ^
      fix: compare it with something, as stock > 0
    """
    if not isinstance(text, str):
        what = f"a condition is text, not {type(text).__name__}"
        raise QueryError(what, field="where", fix='write "stock > 0"')
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"the condition has {len(text)} characters, more than {MAX_LENGTH}",
            field="where",
            fix="compute part of it as a column before",
        )
    return ConditionParser(text).condition()
