"""``FILTER`` and ``HAVING``: expressions of SPARQL → conditions on solutions, or on items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Identifier, Literal, URIRef, Variable

from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.condition_kinds import (
    Alike,
    AllOf,
    Among,
    AnyOf,
    Compare,
    Condition,
    Kind,
    Not,
    Text,
)
from topwater.rspql.plan.score_formula import Formulas
from topwater.scoring.expressions import Call, Expression, Name, Node, Number, parse

_TESTS = {"CONTAINS": "contains", "STRSTARTS": "starts", "STRENDS": "ends"}
_KINDS = {
    "isIRI": "iri",
    "isURI": "iri",
    "isBLANK": "blank",
    "isLITERAL": "literal",
    "isNUMERIC": "numeric",
}
_ABOUT_LITERALS = {"Builtin_LANG": "lang", "Builtin_DATATYPE": "datatype"}
_STRING = URIRef("http://www.w3.org/2001/XMLSchema#string")
_FLIPPED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_USABLE = (
    "compare numbers or terms, or use IN, REGEX, CONTAINS, STRSTARTS, STRENDS, isIRI, isLITERAL, "
    "isNUMERIC, LANG, DATATYPE, && || and !"
)


class Conditions:
    """Translates conditions on solutions."""

    def __init__(self, document: Document, formulas: Formulas) -> None:
        self._document = document
        self._formulas = Formulas(
            document,
            formulas.known,
            formulas.optional,
            _USABLE,
            choices=formulas.choices,
            solution=formulas.solution,
        )

    def condition(self, expression: Any) -> Condition:
        """An expression as a condition."""
        name = expression.name if isinstance(expression, CompValue) else ""
        handle = self._handlers().get(name)
        if handle is not None:
            return handle(expression)
        builtin = name.removeprefix("Builtin_")
        if builtin in _TESTS:
            return self._text(_TESTS[builtin], expression.arg1, expression.arg2)
        if builtin in _KINDS:
            return Kind(self._plain(expression.arg, builtin), _KINDS[builtin])  # type: ignore[arg-type]
        alone = f"?{expression}" if isinstance(expression, Variable) else str(expression)
        return self._refuse(builtin or alone)

    def _handlers(self) -> dict[str, Callable[[Any], Condition]]:
        return {
            "ConditionalAndExpression": lambda e: AllOf(self._all(e)),
            "ConditionalOrExpression": lambda e: AnyOf(self._all(e)),
            "UnaryNot": lambda e: Not(self.condition(e.expr)),
            "RelationalExpression": self._relation,
            "Builtin_REGEX": self._regex,
            "Builtin_LANGMATCHES": self._language_range,
        }

    def _all(self, expression: Any) -> tuple[Condition, ...]:
        return tuple(self.condition(each) for each in (expression.expr, *expression.other))

    def _relation(self, expression: Any) -> Condition:
        left, op, right = expression.expr, str(expression.op), expression.other
        for given, others in ((left, right), (right, left)):
            if getattr(given, "name", "") in _ABOUT_LITERALS:
                return self._about_literals(given, op, _listed(others))
        if op in ("IN", "NOT IN") and not self._is_plain(left):
            found = AnyOf(tuple(self._equals(left, each) for each in _listed(right)))
            return found if op == "IN" else Not(found)
        if op in ("IN", "NOT IN"):
            among = Among(self._plain(left, op), tuple(self._term(each) for each in _listed(right)))
            return among if op == "IN" else Not(among)
        if op in ("=", "!="):
            same = self._same(left, right) or self._same(right, left)
            if same is not None:
                return same if op == "=" else Not(same)
        return Compare(self._formulas.text(left), op, self._formulas.text(right))  # type: ignore[arg-type]

    def _about_literals(self, call: Any, op: str, others: list[Any]) -> Condition:
        """``LANG(?x) = "en"`` and ``DATATYPE(?x) = xsd:integer``; with ``!=`` and ``IN`` too."""
        of, wanted = _ABOUT_LITERALS[call.name], []
        word = of.upper()
        if op not in ("=", "!=", "IN", "NOT IN"):
            self._refuse(word, f"what {word} gives has no order here: it is compared with = or IN")
        for other in others:
            plain = type(other) is Literal and other.language is None
            if of == "lang" and not (plain and other.datatype in (None, _STRING)):
                self._refuse(word, 'LANG is compared with plain texts, as LANG(?x) = "en"')
            if of == "datatype" and not isinstance(other, URIRef):
                self._refuse(word, "DATATYPE is compared with IRIs, as DATATYPE(?x) = xsd:integer")
            wanted.append(Text("equals", self._plain(call.arg, word), str(other), of=of))  # type: ignore[arg-type]
        found = wanted[0] if len(wanted) == 1 else AnyOf(tuple(wanted))
        return found if op in ("=", "IN") else Not(found)

    def _language_range(self, expression: Any) -> Condition:
        given, wanted = expression.arg1, expression.arg2
        if getattr(given, "name", "") != "Builtin_LANG" or not isinstance(wanted, Literal):
            self._refuse("LANGMATCHES", 'LANGMATCHES is written as LANGMATCHES(LANG(?x), "en")')
        if not str(wanted):
            self._refuse("LANGMATCHES", "LANGMATCHES with an empty range never holds")
        return Text("range", self._plain(given.arg, "LANG"), str(wanted), of="lang")

    def _same(self, left: Any, right: Any) -> Condition | None:
        """Terms that are equal, if these are terms and no numbers."""
        if not isinstance(left, Variable) or str(left) in self._formulas.known:
            return None
        if isinstance(right, URIRef):
            return Among(str(left), (right,))
        if isinstance(right, Literal):
            return None if _is_number(right) else Among(str(left), (right,))
        if isinstance(right, Variable) and str(right) not in self._formulas.known:
            return Alike(str(left), str(right))
        return None

    def _regex(self, expression: Any) -> Condition:
        flags = expression.flags
        if flags is not None and str(flags) not in ("", "i"):
            self._refuse("REGEX", "the only flag that REGEX knows is i")
        found = self._text("regex", expression.text, expression.pattern, bool(flags))
        try:
            pc.match_substring_regex(pa.array(["x"]), found.text)
        except pa.ArrowInvalid:
            self._refuse(
                "REGEX", f"{found.text[:40]!r} is not a regular expression that is understood"
            )
        return found

    def _text(self, test: str, subject: Any, text: Any, ignore_case: bool = False) -> Text:
        of = "literal"
        if isinstance(subject, CompValue) and subject.name == "Builtin_STR":
            subject, of = subject.arg, "str"
            if getattr(subject, "name", "") == "Builtin_DATATYPE":
                subject, of = subject.arg, "datatype"
        if getattr(subject, "name", "") == "Builtin_LANG" and of == "literal":
            subject, of = subject.arg, "lang"
        if not isinstance(text, Literal):
            self._refuse(test, "what a text is compared with has to be a string")
        return Text(test, self._plain(subject, test), str(text), ignore_case, of)  # type: ignore[arg-type]

    def _plain(self, expression: Any, where: str) -> str:
        if self._is_plain(expression):
            return str(expression)
        return self._refuse(where, "a condition on terms is about a variable of a pattern")

    def _is_plain(self, expression: Any) -> bool:
        """Is it a variable that stands for a term?"""
        return isinstance(expression, Variable) and str(expression) not in self._formulas.known

    def _equals(self, computed: Any, other: Any) -> Condition:
        return Compare(self._formulas.text(computed), "=", self._formulas.text(other))

    def _term(self, expression: Any) -> Identifier:
        if isinstance(expression, Identifier) and not isinstance(expression, Variable):
            return expression
        return self._refuse("IN", "IN takes IRIs and literals only")

    def _refuse(self, where: str, problem: str = "") -> NoReturn:
        where = "NOT EXISTS" if where == "NOTEXISTS" else where
        problem = problem or f"{where[:40]} can't be used in a condition"
        self._document.fail(problem, self._document.find(where, "FILTER", "HAVING"), _USABLE)


def _is_number(literal: Literal) -> bool:
    is_truth = isinstance(literal.value, bool)
    return isinstance(literal.value, int | float | Decimal) and not is_truth


def _is_literal_number(term: Identifier) -> bool:
    return isinstance(term, Literal) and _is_number(term)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def conjuncts(expression: Any) -> Iterator[Any]:
    """The parts of an expression that all have to hold."""
    if isinstance(expression, CompValue) and expression.name == "ConditionalAndExpression":
        for each in (expression.expr, *expression.other):
            yield from conjuncts(each)
    else:
        yield expression


def is_comparison(condition: Condition) -> bool:
    """Is it made of nothing but comparisons of numbers?"""
    if isinstance(condition, AllOf | AnyOf):
        return all(map(is_comparison, condition.parts))
    return (
        is_comparison(condition.part)
        if isinstance(condition, Not)
        else isinstance(condition, Compare)
    )


def as_comparisons(condition: Condition) -> Condition:
    """A condition in which ``IN`` with numbers is written out.

    Examples
    --------
    >>> as_comparisons(Among("f", (Literal(1), Literal(2))))
    AnyOf(parts=(Compare(left='f', op='=', right='1'), Compare(left='f', op='=', right='2')))
    """
    if isinstance(condition, AllOf | AnyOf):
        return type(condition)(tuple(map(as_comparisons, condition.parts)))
    if isinstance(condition, Not):
        return Not(as_comparisons(condition.part))
    if isinstance(condition, Among) and all(_is_literal_number(each) for each in condition.terms):
        name = str(Expression(Name(condition.variable)))
        found = [
            Compare(name, "=", str(Expression(Number(float(each))))) for each in condition.terms
        ]
        return found[0] if len(found) == 1 else AnyOf(tuple(found))
    if isinstance(condition, Alike):
        names = (str(Expression(Name(each))) for each in (condition.left, condition.right))
        return Compare(next(names), "=", next(names))
    return condition


def condition_formula(condition: Condition) -> str:
    """Comparisons as :class:`~topwater.query.TopKQuery` writes them in ``where``.

    Examples
    --------
    >>> condition_formula(Not(AnyOf((Compare("f", "=", "1"), Compare("f", ">", "3")))))
    'not ((f == 1) or (f > 3))'
    """
    if isinstance(condition, AllOf | AnyOf):
        word = " and " if isinstance(condition, AllOf) else " or "
        return word.join(f"({condition_formula(each)})" for each in condition.parts)
    if isinstance(condition, Not):
        return f"not ({condition_formula(condition.part)})"
    assert isinstance(condition, Compare)  # noqa: S101  others were refused
    return f"{condition.left} {'==' if condition.op == '=' else condition.op} {condition.right}"


def guards(condition: Condition) -> list[Node] | None:
    """Formulas that are 0 where the condition holds and NaN elsewhere; None if there are none.

    The root of a negative number is NaN, and so is 0 times the logarithm of 0.
    """
    if isinstance(condition, AllOf):
        parts = [guards(part) for part in condition.parts]
        return None if None in parts else [node for part in parts for node in part or ()]
    margin = _margin(condition)
    if margin is None:
        return None
    node, strict = margin
    inner = Call("log", (Call("max", (node, Number(0.0))),)) if strict else Call("sqrt", (node,))
    return [Call("*", (Number(0.0), inner))]


def _margin(condition: Condition) -> tuple[Node, bool] | None:
    """By how much a condition holds, and whether 0 is too little."""
    if isinstance(condition, Not):
        return _margin_of_not(condition.part)
    if isinstance(condition, Compare):
        left, right = parse(condition.left).tree, parse(condition.right).tree
        if condition.op in ("<", "<="):
            left, right = right, left
        margin: Node = left if right == Number(0.0) else Call("-", (left, right))
        if condition.op in ("=", "!="):
            margin = Call("abs", (margin,))
        if condition.op == "=":
            margin = Call("neg", (margin,))
        return margin, condition.op in ("<", ">", "!=")
    if isinstance(condition, AnyOf):
        found = [_margin(part) for part in condition.parts]
        kinds = {part[1] for part in found if part is not None}
        if None in found or len(kinds) != 1:
            return None
        return Call("max", tuple(part[0] for part in found if part)), kinds.pop()
    return None


def _margin_of_not(condition: Condition) -> tuple[Node, bool] | None:
    if isinstance(condition, Not):
        return _margin(condition.part)
    if isinstance(condition, Compare):
        flipped: Any = _FLIPPED[condition.op]
        return _margin(Compare(condition.left, flipped, condition.right))
    return None


def names_in(condition: Condition) -> set[str]:
    """The variables that a condition is about."""
    if isinstance(condition, AllOf | AnyOf):
        return set().union(*(names_in(part) for part in condition.parts))
    if isinstance(condition, Not):
        return names_in(condition.part)
    if isinstance(condition, Compare):
        return {*parse(condition.left).columns, *parse(condition.right).columns}
    if isinstance(condition, Alike):
        return {condition.left, condition.right}
    return {condition.variable}
