"""Solutions of a pattern as columns, what they are worth as numbers, and which of them stay.

Conditions have three values, as in SPARQL: they hold, they do not, or there is an error, and only
what holds stays. They are worked out once for each different term, not for each solution.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rdflib.term import Identifier

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.rspql.plan.condition_kinds import (
    Alike,
    AllOf,
    Among,
    AnyOf,
    Compare,
    Condition,
    Kind,
    Not,
    SameTerm,
    Text,
)
from topwater.rspql.plan.plan import Binding, Derived, Fixed, Holds
from topwater.rspql.rdf.comparison import Verdict, among, compared, three_valued
from topwater.rspql.rdf.exact_arithmetic import decided, exact_column
from topwater.rspql.rdf.term_values import (
    DATATYPES,
    ERROR,
    KIND,
    Exact,
    are_floats,
    are_long,
    as_cast,
    cast_named,
    cast_of,
    datatypes_of,
    derived_terms,
    exact_cast,
    exact_of,
    languages_of,
    last_of,
    numbers_of,
    texts_of,
)
from topwater.rspql.rdf.triples import XSD, text_of
from topwater.scoring.expressions import Call, Expression, Name, Node, Number
from topwater.scoring.expressions import parse as parse_formula

_BEGINS = {"iri": "<", "blank": "_:", "literal": '"'}


@dataclass(frozen=True, slots=True)
class Bindings:
    """Solutions, one a row.

    Attributes
    ----------
    event
        Which event each came from.
    codes
        By variable, the numbers of its terms.
    bound
        By variable, the numbers that ``BIND`` computed, or that a column has; NaN where there was
        an error.
    terms
        The text of each term.
    made
        By variable, the formula of ``BIND``.
    whole
        The variables bound to a column of whole numbers.
    """

    event: IntArray
    codes: Mapping[str, IntArray]
    terms: pa.Array
    bound: Mapping[str, FloatArray] = field(default_factory=dict)
    made: Mapping[str, Node] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    _read: dict[str, tuple[FloatArray, BoolArray]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.event)

    def take(self, rows: IntArray | BoolArray) -> Bindings:
        """The solutions at ``rows``."""
        return replace(
            self,
            event=self.event[rows],
            codes={name: column[rows] for name, column in self.codes.items()},
            bound={name: column[rows] for name, column in self.bound.items()},
            _read={name: (of[rows], good[rows]) for name, (of, good) in self._read.items()},
        )

    def without(self, names: Sequence[str]) -> Bindings:
        """The same without some variables."""
        return replace(self, codes={n: each for n, each in self.codes.items() if n not in names})

    def numbers(self, variable: str) -> tuple[FloatArray, BoolArray]:
        """The numbers that a variable is bound to, and where it is bound to one.

        Of a name with :data:`KIND` and a datatype, what a cast to that gives; of one with
        :data:`ERROR`, where there is no finite number.
        """
        if variable not in self._read:
            self._read[variable] = self._numbers(variable)
        return self._read[variable]

    def _numbers(self, variable: str) -> tuple[FloatArray, BoolArray]:
        if variable in self.bound:
            values = self.bound[variable]
            return values, ~np.isnan(values)
        if variable.endswith(ERROR):
            finite = np.isfinite(self.numbers(variable.removesuffix(ERROR))[0])
            return (~finite).astype(np.float64), np.ones(len(self), np.bool_)
        if KIND in variable:
            return self._cast(*cast_named(variable))
        used, back = np.unique(self.codes[variable], return_inverse=True)
        values, numeric = numbers_of(self.terms.take(used))
        return values[back], numeric[back]

    def _cast(self, variable: str, to: str, default: float | None) -> tuple[FloatArray, BoolArray]:
        if variable in self.bound:
            values, good = as_cast(*self.numbers(variable), to)
        else:
            used, back = np.unique(self.codes[variable], return_inverse=True)
            values, good = cast_of(self.terms.take(used), to)
            values, good = values[back], good[back]
        if default is None:
            return values, good
        return np.where(good, values, default), np.ones(len(self), np.bool_)

    def has_floats(self, name: str) -> bool:
        """Are there floats among a name's numbers?"""
        variable, to, _ = cast_named(name)
        if variable in self.made:
            return any(map(self.has_floats, Expression(self.made[variable]).columns))
        if to or variable not in self.codes:
            return to == "float"
        return bool(are_floats(self.terms.take(np.unique(self.codes[variable]))).any())

    def kinds(self, variable: str) -> FloatArray:
        """The places in ``DATATYPES`` of the numbers that a variable is bound to."""
        if KIND in variable:
            return np.full(len(self), float(DATATYPES.index(cast_named(variable)[1])))
        if variable in self.bound:
            whole = self.bound[variable] == np.floor(self.bound[variable])
            names = ("integer", "decimal")
            return np.where(whole, *(float(DATATYPES.index(name)) for name in names))
        used, back = np.unique(self.codes[variable], return_inverse=True)
        parts = pc.split_pattern(self.terms.take(used), f'"^^<{XSD}', max_splits=1, reverse=True)
        known = pa.array([f"{name}>" for name in DATATYPES], pa.large_string())
        places = pc.index_in(last_of(parts).cast(pa.large_string()), known)
        return np.asarray(places.cast(pa.float64()).to_numpy(zero_copy_only=False))[back]

    def computed(self, formula: str) -> tuple[FloatArray, BoolArray]:
        """The values of a formula over variables, and where it has one."""
        return self.worth(parse_formula(formula).tree)

    def worth(self, node: Node) -> tuple[FloatArray, BoolArray]:
        """The same of a formula's tree."""
        if isinstance(node, Name):
            return self.numbers(node.name)
        if isinstance(node, Call) and node.op == "if":
            return self._chosen(node)
        good = np.ones(len(self), np.bool_)
        if isinstance(node, Number):
            return np.full(len(self), node.value), good
        columns = self.columns_of(node)
        for name in columns:
            good &= self.numbers(name)[1]
        # A column that no formula names tells how many rows there are.
        values = Expression(node).evaluate(columns or {"": np.zeros(len(self))})
        finite = np.ones(len(self), np.bool_)
        for column in columns.values():
            finite &= np.isfinite(column)
        # What is infinite though nothing in it is was divided by zero.
        good &= np.isfinite(values) | ~finite
        return np.where(good, values, np.nan), good

    def _chosen(self, node: Call) -> tuple[FloatArray, BoolArray]:
        """The branch that is taken; an error in the other one is none."""
        (test, known), (yes, yes_good), (no, no_good) = map(self.worth, node.args)
        good = known & np.where(test > 0, yes_good, no_good)
        return np.where(good, np.where(test > 0, yes, no), np.nan), good

    def columns_of(self, *nodes: Node) -> dict[str, FloatArray]:
        """The numbers of the variables in some formulas."""
        names = {name for node in nodes for name in Expression(node).columns}
        return {name: self.numbers(name)[0] for name in sorted(names)}

    def in_terms(self, node: Node) -> Node:
        """A formula with those of ``BIND`` put in, down to what the events say."""
        if isinstance(node, Call):
            return Call(node.op, tuple(self.in_terms(each) for each in node.args))
        if isinstance(node, Name) and node.name in self.made:
            return self.in_terms(self.made[node.name])
        return node

    def origins(self, name: str) -> list[Any]:
        """What a name's numbers are read from, row by row: numbers of terms, or numbers."""
        variable = cast_named(name)[0] if KIND in name else name
        column: Any = self.codes.get(variable)
        return list((self.bound[variable] if column is None else column).tolist())

    def exact(self, name: str, origin: Any) -> Exact:
        """The number in full that a name stands for where it has this origin."""
        variable, to, default = cast_named(name)
        if variable in self.bound:
            return exact_column(origin, variable in self.whole)
        term = str(self.terms[origin])
        try:
            return exact_cast(term, to) if to else exact_of(term)
        except (ValueError, ArithmeticError, KeyError):
            return float("nan") if default is None else default

    def terms_of(self, variable: str, rows: IntArray) -> pa.Array:
        """The terms that a variable is bound to at ``rows``."""
        return self.terms.take(self.codes[variable][rows])

    def with_bound(self, bind: Binding) -> Bindings:
        """The same, and one variable more: a term, another name for one, or a number."""
        if isinstance(bind, Fixed):
            return self._with_term(bind.variable, text_of(bind.term))
        if isinstance(bind, Derived):
            return self._with_derived(bind)
        if isinstance(bind, Holds):
            verdict = _verdict(bind.condition, self)
            values = np.where(verdict < 0, np.nan, verdict)
            return replace(self, bound={**self.bound, bind.variable: values})
        formula = parse_formula(bind.formula).tree
        if isinstance(formula, Name) and formula.name in self.codes:
            return replace(self, codes={**self.codes, bind.variable: self.codes[formula.name]})
        values, _ = self.worth(formula)
        return replace(
            self,
            bound={**self.bound, bind.variable: values},
            made={**self.made, bind.variable: formula},
        )

    def _with_term(self, variable: str, text: str) -> Bindings:
        at = pc.index(self.terms, pa.scalar(text, self.terms.type)).as_py()
        terms = self.terms
        if at < 0:
            at, terms = len(terms), pa.concat_arrays([terms, pa.array([text], terms.type)])
        codes = {**self.codes, variable: np.full(len(self), at, np.int64)}
        return replace(self, codes=codes, terms=terms)

    def _with_derived(self, bind: Derived) -> Bindings:
        """The same with terms that are made of those of a variable, each once."""
        used, back = np.unique(self.codes[bind.of], return_inverse=True)
        made = derived_terms(self.terms.take(used), bind.part)
        # All terms are different, so those that were there keep their numbers.
        encoded = pa.concat_arrays([self.terms, made.cast(self.terms.type)]).dictionary_encode()
        codes = encoded.indices.to_numpy()[len(self.terms) :].astype(np.int64)
        return replace(
            self,
            codes={**self.codes, bind.variable: codes[back]},
            terms=encoded.dictionary,
        )

    def holds(self, condition: Condition) -> BoolArray:
        """Where a condition holds."""
        found: Verdict = _verdict(condition, self)
        return np.asarray(found == 1)


@functools.singledispatch
def _verdict(condition: Condition, of: Bindings) -> Verdict:  # noqa: ARG001
    raise TypeError(f"{type(condition).__name__} is not a condition")


@_verdict.register
def _(condition: Compare, of: Bindings) -> Verdict:
    left, right = parse_formula(condition.left).tree, parse_formula(condition.right).tree
    return compared(of, left, condition.op, right)


@_verdict.register
def _(condition: AllOf, of: Bindings) -> Verdict:
    parts = np.stack([_verdict(part, of) for part in condition.parts])
    some_false, some_error = (parts == 0).any(axis=0), (parts == -1).any(axis=0)
    return three_valued(~some_false, some_false | ~some_error)


@_verdict.register
def _(condition: AnyOf, of: Bindings) -> Verdict:
    parts = np.stack([_verdict(part, of) for part in condition.parts])
    some_true, some_error = (parts == 1).any(axis=0), (parts == -1).any(axis=0)
    return three_valued(some_true, some_true | ~some_error)


@_verdict.register
def _(condition: Not, of: Bindings) -> Verdict:
    part = _verdict(condition.part, of)
    return three_valued(part == 0, part != -1)


@_verdict.register
def _(condition: Alike, of: Bindings) -> Verdict:
    return compared(of, Name(condition.left), "=", Name(condition.right))


@_verdict.register
def _(condition: Among, of: Bindings) -> Verdict:
    wanted = _texts(condition.terms)
    if condition.variable in of.bound:
        return _computed_among(of, condition.variable, wanted)
    used, back = np.unique(of.codes[condition.variable], return_inverse=True)
    each = Bindings(used, {condition.variable: used}, of.terms)
    numbers = _numbers_among(each, condition.variable, wanted)
    return among(of.terms.take(used), wanted, numbers)[back]


def _computed_among(of: Bindings, variable: str, wanted: pa.Array) -> Verdict:
    """The same of numbers that were computed, or come from a column."""
    _, good = of.numbers(variable)
    found = np.zeros(len(of), np.bool_)
    for value, text in zip(numbers_of(wanted)[0].tolist(), wanted.to_pylist(), strict=True):
        if math.isfinite(value):
            written = "" if text.endswith(("double>", "float>")) else text[1 : text.rindex('"')]
            found |= compared(of, Name(variable), "=", Number(value, written)) == 1
    return three_valued(found, good)


def _numbers_among(of: Bindings, variable: str, wanted: pa.Array) -> Verdict:
    """Which numbers are equal to one of those wanted."""
    values, good = of.numbers(variable)
    numbers, is_number = numbers_of(wanted)
    verdict = three_valued(np.isin(values, numbers[is_number]), good)
    floats = are_floats(wanted).any() or of.has_floats(variable)
    rows = np.flatnonzero(good if floats else verdict == 1)
    if floats or are_long(wanted).any() or _has_long(of, variable, rows):
        full = [exact_of(term) for term in wanted.filter(pa.array(is_number)).to_pylist()]
        verdict[rows] = [
            any(decided("=", of.exact(variable, origin), each) for each in full)
            for origin in of.take(rows).origins(variable)
        ]
    return verdict


def _has_long(of: Bindings, variable: str, rows: IntArray) -> bool:
    return variable in of.codes and bool(are_long(of.terms_of(variable, rows)).any())


@_verdict.register
def _(condition: SameTerm, of: Bindings) -> Verdict:
    wanted = _texts(condition.terms)
    everywhere = np.ones(len(of), np.bool_)
    if condition.variable in of.bound:
        values, good = of.numbers(condition.variable)
        return three_valued(np.isin(values, numbers_of(wanted)[0]), good)
    used, back = np.unique(of.codes[condition.variable], return_inverse=True)
    return three_valued(_bools(pc.is_in(of.terms.take(used), wanted))[back], everywhere)


def _texts(terms: Sequence[Identifier]) -> pa.Array:
    return pa.array([text_of(term) for term in terms], pa.large_string())


@_verdict.register
def _(condition: Kind, of: Bindings) -> Verdict:
    if condition.variable in of.bound:
        _, good = of.numbers(condition.variable)
        return three_valued(np.full(len(of), condition.kind in ("literal", "numeric")), good)

    def is_kind(terms: pa.Array) -> Verdict:
        if condition.kind == "numeric":
            found = numbers_of(terms)[1]
        else:
            found = _bools(pc.starts_with(terms, _BEGINS[condition.kind]))
        return three_valued(found, np.ones(len(terms), np.bool_))

    return _by_term(of, condition.variable, is_kind)


@_verdict.register
def _(condition: Text, of: Bindings) -> Verdict:
    def tested(terms: pa.Array) -> Verdict:
        texts, good = _READ[condition.of](terms)
        return three_valued(_bools(_passes(condition, texts)), good)

    return _by_term(of, condition.variable, tested)


_READ: Mapping[str, Callable[[pa.Array], tuple[pa.Array, BoolArray]]] = {
    "str": functools.partial(texts_of, any_term=True),
    "literal": functools.partial(texts_of, any_term=False),
    "lang": languages_of,
    "datatype": datatypes_of,
}


def _passes(condition: Text, texts: pa.Array) -> pa.Array:
    """Which texts pass a test."""
    if condition.test == "equals":
        return pc.equal(texts, condition.text)
    if condition.test == "range":
        return _in_range(texts, condition.text.lower())
    tests = {
        "contains": pc.match_substring,
        "starts": pc.starts_with,
        "ends": pc.ends_with,
        "regex": pc.match_substring_regex,
    }
    return tests[condition.test](texts, condition.text, ignore_case=condition.ignore_case)


def _in_range(languages: pa.Array, wanted: str) -> pa.Array:
    """Which languages are in a range: ``en`` has ``en-gb`` in it, and ``*`` any."""
    if wanted == "*":
        return pc.not_equal(languages, "")
    return pc.or_(pc.equal(languages, wanted), pc.starts_with(languages, f"{wanted}-"))


def _by_term(of: Bindings, variable: str, test: Callable[[pa.Array], Verdict]) -> Verdict:
    """What a test says of each term of a variable."""
    used, back = np.unique(of.codes[variable], return_inverse=True)
    return test(of.terms.take(used))[back]


def _bools(mask: pa.Array) -> BoolArray:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))
