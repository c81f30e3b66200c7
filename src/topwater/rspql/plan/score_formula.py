"""Expressions of SPARQL → formulas of Topwater, over the names of variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn

import pyarrow as pa
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Identifier, Literal, URIRef, Variable

from topwater.errors import QueryError
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.choices import Choices, condition_tree, noted
from topwater.rspql.plan.condition_kinds import Condition
from topwater.rspql.rdf.term_values import CASTS, KIND, cast_of, variable_in
from topwater.rspql.rdf.triples import text_of
from topwater.scoring.expressions import Call, Expression, Name, Node, Number

OURS = "urn:topwater:"
MATH = "http://www.w3.org/2005/xpath-functions/math#"
XSD = "http://www.w3.org/2001/XMLSchema#"
"""The names of functions begin with one of these."""

_FUNCTIONS: dict[str, tuple[str, int, int]] = {
    **{MATH + name: (name, 1, 1) for name in ("sqrt", "log", "exp")},
    **{OURS + name: (name, 1, 1) for name in ("sqrt", "log", "log1p", "exp", "abs")},
    **{OURS + name: (name, 1, 20) for name in ("min", "max")},
    **{OURS + name: (name, 3, 3) for name in ("clip", "norm")},
    MATH + "pow": ("**", 2, 2),
    OURS + "pow": ("**", 2, 2),
}
_CASTS = {XSD + name: name for name in CASTS}
_ROUNDED = {"ABS": "abs", "CEIL": "ceil", "FLOOR": "floor", "ROUND": "round"}
_USABLE = (
    "use + - * /, ABS, ROUND, CEIL, FLOOR, IF(?a > ?b, ?a, ?b), COALESCE(?x, 0), or a function of "
    "<urn:topwater:>"
)


class Formulas:
    """Translates expressions. ``known`` has what stands for variables that were bound before.

    ``solution`` says which variables have one value in each solution; None if all have.

    Attributes
    ----------
    defaults
        What ``COALESCE`` gives for variables that may be unbound, found on the way.
    choices
        What ``IF`` asks of solutions, found on the way.
    """

    def __init__(
        self,
        document: Document,
        known: Mapping[str, Node],
        optional: set[str],
        usable: str = _USABLE,
        *,
        choices: Choices | None = None,
        solution: Collection[str] | None = None,
    ) -> None:
        self._document = document
        self._usable = usable
        self.choices = {} if choices is None else choices
        self.solution = solution
        self.known = dict(known)
        self.optional = optional
        self.defaults: dict[str, float] = {}

    def text(self, expression: Any) -> str:
        """An expression as the text of a formula."""
        return self.written(self.node(expression))

    def written(self, node: Node) -> str:
        """A tree as text; refused if it is too deep."""
        try:
            return str(Expression(node))
        except QueryError as error:
            self._document.fail(error.problem, self._document.find("ORDER"), error.fix)

    def node(self, expression: Any) -> Node:
        """An expression as a tree."""
        if isinstance(expression, Variable):
            return self._variable(str(expression))
        if isinstance(expression, Literal):
            return self._number(expression)
        if isinstance(expression, CompValue):
            handle = self._handlers().get(expression.name)
            if handle is not None:
                return handle(expression)
            self._refuse(expression)
        return self._fail_at(f"{_brief(expression)} is not a number", str(expression))

    def _handlers(self) -> dict[str, Callable[[Any], Node]]:
        return {
            "AdditiveExpression": self._chain,
            "MultiplicativeExpression": self._chain,
            "UnaryMinus": lambda e: _negative(self.node(e.expr)),
            "UnaryPlus": lambda e: self.node(e.expr),
            **{f"Builtin_{name}": partial(self._of_one, op) for name, op in _ROUNDED.items()},
            "Builtin_COALESCE": self._coalesce,
            "Builtin_IF": self._if,
            "Function": self._function,
        }

    def _of_one(self, op: str, expression: Any) -> Node:
        return Call(op, (self.node(expression.arg),))

    def _variable(self, name: str) -> Node:
        return self.known.get(name, Name(name))

    def _number(self, literal: Literal) -> Node:
        value = literal.value
        if isinstance(value, bool) or not _is_number(value):
            self._fail_at(f"{_brief(literal)} is not a number", str(literal))
        return Number.of(f"{value:f}") if isinstance(value, int | Decimal) else Number(float(value))

    def _chain(self, expression: Any) -> Node:
        left = self.node(expression.expr)
        for op, other in zip(expression.op, expression.other, strict=True):
            left = Call(str(op), (left, self.node(other)))
        return left

    def _coalesce(self, expression: Any) -> Node:
        first, *others = expression.arg
        return self._defaulted(first, others[0] if others else None)

    def _defaulted(self, wanted: Any, default: Any) -> Node:
        node = self.node(wanted)
        if not isinstance(node, Name) or node.name not in self.optional:
            # All other variables are bound in every solution, but a cast may fail.
            return self._or_else(node, default) if _is_cast(node) else node
        name = variable_in(node.name)
        number = None if default is None else self.node(default)
        if not isinstance(number, Number):
            self._fail_at(f"the default of ?{name} is not a plain number", "COALESCE")
        if self.defaults.setdefault(name, number.value) != number.value:
            self._fail_at(f"?{name} has two different defaults", "COALESCE", "use one of them")
        return node

    def _or_else(self, cast: Node, default: Any) -> Node:
        number = None if default is None else self.node(default)
        if not isinstance(cast, Name) or not isinstance(number, Number):
            self._fail_at("the default of a cast is not a plain number", "COALESCE")
        return Name(f"{cast.name}={number.value!r}")

    def _if(self, expression: Any) -> Node:
        test, yes, no = expression.arg1, expression.arg2, expression.arg3
        if getattr(test, "name", "") == "Builtin_BOUND" and self._same(yes, test.arg):
            return self._defaulted(yes, no)
        if getattr(test, "name", "") == "RelationalExpression" and test.op in _CHOICES:
            sides = self.node(test.expr), self.node(test.other)
            branches = self.node(yes), self.node(no)
            if branches in (sides, sides[::-1]):
                greater = (test.op in (">", ">=")) == (branches == sides)
                return Call("max" if greater else "min", sides)
        return self._chosen(test, self.node(yes), self.node(no))

    def _chosen(self, test: Any, yes: Node, no: Node) -> Node:
        """One of two numbers, by a condition of any kind."""
        # Late: conditions are made of formulas, too.
        from topwater.rspql.plan.conditions import Conditions, as_comparisons, names_in

        condition: Condition = Conditions(self._document, self).condition(test)
        names = names_in(condition)
        if (names or self.solution is None) and self._in_solution(names):
            choice = Call("if", (noted(self.choices, condition), yes, no))
            whole = self._in_solution({*Expression(yes).columns, *Expression(no).columns})
            return noted(self.choices, choice) if whole else choice
        tree = condition_tree(as_comparisons(condition))
        if tree is None:
            self._fail_at(
                "IF over groups or remote values compares something else than numbers",
                "IF",
                "compare numbers; or use IF in the WINDOW block: BIND(IF(…) AS ?x)",
            )
        return Call("if", (tree, yes, no))

    def _in_solution(self, names: Iterable[str]) -> bool:
        """Has each solution one value of all these names?"""
        solution = self.solution
        return solution is None or all(n in self.choices or n in solution for n in names)

    def _same(self, left: Any, right: Any) -> bool:
        return isinstance(right, Variable) and self.node(left) == self.node(right)

    def _function(self, expression: Any) -> Node:
        name = str(expression.iri)
        if name in _CASTS and len(expression.expr or ()) == 1:
            return self._cast(expression.expr[0], _CASTS[name])
        args = [self.node(each) for each in expression.expr or ()]
        if name not in _FUNCTIONS:
            fix = f"{_USABLE}: {_names()}"
            self._document.fail(f"the function <{name}> is unknown", self._called(name), fix)
        own, least, most = _FUNCTIONS[name]
        if not least <= len(args) <= most:
            self._fail_at(f"{own} takes {least} argument(s), not {len(args)}", "")
        if own == "norm" and not all(isinstance(end, Number) for end in args[1:]):
            self._fail_at("the ends of norm are not plain numbers", "", "write tw:norm(?x, 0, 50)")
        if own in ("norm", "clip") and not _is_range(*args[1:]):
            self._fail_at(f"{own} has no range", "", "write the lower end first")
        return Call(own, tuple(args))

    def _cast(self, given: Any, to: str) -> Node:
        """A number of a datatype. Of a variable it is a column of its own: texts can be cast."""
        if isinstance(given, Literal):
            (value,) = cast_of(pa.array([text_of(given)], pa.large_string()), to)[0].tolist()
            if not math.isfinite(value):
                self._fail_at(f"{_brief(given)} can't be cast to xsd:{to}", str(given))
            return Number(value)
        node = self.node(given)
        if isinstance(node, Name) and KIND not in node.name:
            return Name(f"{node.name}{KIND}{to}")
        if to == "integer":
            self._fail_at(
                "xsd:integer of what is computed is not supported", f"xsd:{to}", "cast the variable"
            )
        return node

    def _called(self, name: str) -> int:
        """Where a function is called."""
        for token, after in zip(self._document.tokens, self._document.tokens[1:], strict=False):
            local = token.text.strip("<>").rpartition(":")[2]
            if token.kind in ("iri", "name") and after.text == "(" and name.endswith(local):
                return token.start
        return self._document.find("ORDER")

    def _refuse(self, expression: Any) -> NoReturn:
        name = str(expression.name).removeprefix("Builtin_").removeprefix("Aggregate_")
        names = {
            "RelationalExpression": "a comparison",
            "ConditionalAndExpression": "&&",
            "ConditionalOrExpression": "||",
            "UnaryNot": "!",
        }
        what = names.get(name, name.upper())
        fix = f"BIND({what}(?x) AS ?y) in the WINDOW block, and use ?y" if what in _MADE else ""
        self._fail_at(f"{what} gives no number that can be used here", what, fix)

    def _fail_at(self, problem: str, token: str, fix: str = "") -> NoReturn:
        place = self._document.find(token, f"'{token}'", f'"{token}"', "ORDER")
        self._document.fail(problem, place, fix or self._usable)


_MADE = ("LANG", "DATATYPE", "STR")
_CHOICES = ("<", ">", "<=", ">=")


def _negative(node: Node) -> Node:
    return -node if isinstance(node, Number) else Call("neg", (node,))


def _is_cast(node: Node) -> bool:
    return isinstance(node, Name) and KIND in node.name and "=" not in node.name


def _is_number(value: object) -> bool:
    try:
        return math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def _is_range(low: Node, high: Node) -> bool:
    if isinstance(low, Number) and isinstance(high, Number):
        return low.value <= high.value and math.isfinite(high.value - low.value)
    return True


def _names() -> str:
    return ", ".join(sorted({name.removeprefix(OURS) for name in _FUNCTIONS if OURS in name}))


def _brief(term: Any) -> str:
    if isinstance(term, URIRef):
        return f"<{term}>"
    text = term.n3() if isinstance(term, Identifier) else str(term)
    return text if len(text) <= 40 else f"{text[:37]}…"
