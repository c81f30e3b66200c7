"""Solutions of a pattern as columns, what they are worth as numbers, and which of them stay.

Conditions have three values, as in SPARQL: they hold, they do not, or there is an error, and only
what holds stays. They are worked out once for each different term, not for each solution.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.rspql.plan.plan import (
    Alike,
    AllOf,
    Among,
    AnyOf,
    Bind,
    Compare,
    Condition,
    Kind,
    Not,
    Text,
)
from topwater.rspql.rdf.triples import XSD, text_of, unquoted
from topwater.scoring.expressions import Name
from topwater.scoring.expressions import parse as parse_formula

Verdict: TypeAlias = npt.NDArray[np.int8]
"""For each solution 1 where a condition holds, 0 where it does not, and -1 for an error."""

_WHOLE = (
    "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger "
    "negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
)
_FORMS = {
    **dict.fromkeys(_WHOLE.split(), r"^[+-]?[0-9]+$"),
    "decimal": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$",
    "double": r"^[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|INF)$|^NaN$",
}
_FORMS["float"] = _FORMS["double"]
DATATYPES = (*_WHOLE.split(), "decimal", "float", "double")
"""The datatypes of numbers: those of whole ones, then in the order in which sums prefer them."""

KIND = "^^"
"""A variable with this behind its name stands for the datatype of its numbers."""

_COMPARED: dict[str, Callable[[FloatArray, FloatArray], BoolArray]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def numbers_of(terms: pa.Array) -> tuple[FloatArray, BoolArray]:
    """The value of each term, and whether it is a number at all; NaN where it is not.

    Examples
    --------
    >>> some = ['"+5"^^<http://www.w3.org/2001/XMLSchema#integer>', '"5"', "<x:a>"]
    >>> [column.tolist() for column in numbers_of(pa.array(some))]
    [[5.0, nan, nan], [True, False, False]]
    """
    values = np.full(len(terms), np.nan)
    numeric = np.zeros(len(terms), np.bool_)
    ends = f'"^^<{XSD}'
    rows = _where(pc.match_substring(terms, ends))
    parts = pc.split_pattern(terms.take(rows), ends, max_splits=1, reverse=True)
    bodies, kinds = pc.list_element(parts, 0), pc.list_element(parts, 1)
    for kind, form in _FORMS.items():
        mine = pc.equal(kinds, f"{kind}>")
        if not pc.any(mine).as_py():
            continue
        mine = _where(mine)
        texts = pc.utf8_slice_codeunits(bodies.take(mine), 1)
        good = _where(pc.match_substring_regex(texts, form))
        texts = pc.utf8_ltrim(texts.take(good), "+")
        values[rows[mine[good]]] = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
        numeric[rows[mine[good]]] = True
    return values, numeric


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
        By variable, the numbers that ``BIND`` computed; NaN where there was an error.
    terms
        The text of each term.
    """

    event: IntArray
    codes: Mapping[str, IntArray]
    terms: pa.Array
    bound: Mapping[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.event)

    def take(self, rows: IntArray | BoolArray) -> Bindings:
        """The solutions at ``rows``."""
        return Bindings(
            self.event[rows],
            {name: column[rows] for name, column in self.codes.items()},
            self.terms,
            {name: column[rows] for name, column in self.bound.items()},
        )

    def numbers(self, variable: str) -> tuple[FloatArray, BoolArray]:
        """The numbers that a variable is bound to, and where it is bound to one."""
        if variable in self.bound:
            values = self.bound[variable]
            return values, ~np.isnan(values)
        used, back = np.unique(self.codes[variable], return_inverse=True)
        values, numeric = numbers_of(self.terms.take(used))
        return values[back], numeric[back]

    def kinds(self, variable: str) -> FloatArray:
        """The places in ``DATATYPES`` of the numbers that a variable is bound to."""
        if variable in self.bound:
            whole = self.bound[variable] == np.floor(self.bound[variable])
            names = ("integer", "decimal")
            return np.where(whole, *(float(DATATYPES.index(name)) for name in names))
        used, back = np.unique(self.codes[variable], return_inverse=True)
        parts = pc.split_pattern(self.terms.take(used), f'"^^<{XSD}', max_splits=1, reverse=True)
        known = pa.array([f"{name}>" for name in DATATYPES], pa.large_string())
        places = pc.index_in(_last(parts).cast(pa.large_string()), known)
        return np.asarray(places.cast(pa.float64()).to_numpy(zero_copy_only=False))[back]

    def computed(self, formula: str) -> tuple[FloatArray, BoolArray]:
        """The values of a formula over variables, and where it has one."""
        parsed = parse_formula(formula)
        read = {name: self.numbers(name) for name in parsed.columns}
        good = np.ones(len(self), np.bool_)
        for _, numeric in read.values():
            good &= numeric
        columns = {name: values for name, (values, _) in read.items()}
        values = parsed.evaluate(columns) if columns else np.full(len(self), _constant(formula))
        finite = np.ones(len(self), np.bool_)
        for column in columns.values():
            finite &= np.isfinite(column)
        # What is infinite though nothing in it is was divided by zero.
        good &= np.isfinite(values) | ~finite
        return np.where(good, values, np.nan), good

    def with_bound(self, bind: Bind) -> Bindings:
        """The same, and one variable more: another name for a term, or a number."""
        formula = parse_formula(bind.formula).tree
        if isinstance(formula, Name) and formula.name in self.codes:
            return replace(self, codes={**self.codes, bind.variable: self.codes[formula.name]})
        values, _ = self.computed(bind.formula)
        return replace(self, bound={**self.bound, bind.variable: values})

    def holds(self, condition: Condition) -> BoolArray:
        """Where a condition holds."""
        found: Verdict = _verdict(condition, self)
        return np.asarray(found == 1)


def _constant(formula: str) -> float:
    return float(parse_formula(formula).evaluate({"": np.zeros(1)})[0])


@functools.singledispatch
def _verdict(condition: Condition, of: Bindings) -> Verdict:  # noqa: ARG001
    raise TypeError(f"{type(condition).__name__} is not a condition")


@_verdict.register
def _(condition: Compare, of: Bindings) -> Verdict:
    left, left_good = of.computed(condition.left)
    right, right_good = of.computed(condition.right)
    found = _COMPARED[condition.op](left, right)
    return _three(found, left_good & right_good)


@_verdict.register
def _(condition: AllOf, of: Bindings) -> Verdict:
    parts = np.stack([_verdict(part, of) for part in condition.parts])
    some_false, some_error = (parts == 0).any(axis=0), (parts == -1).any(axis=0)
    return _three(~some_false, some_false | ~some_error)


@_verdict.register
def _(condition: AnyOf, of: Bindings) -> Verdict:
    parts = np.stack([_verdict(part, of) for part in condition.parts])
    some_true, some_error = (parts == 1).any(axis=0), (parts == -1).any(axis=0)
    return _three(some_true, some_true | ~some_error)


@_verdict.register
def _(condition: Not, of: Bindings) -> Verdict:
    part = _verdict(condition.part, of)
    return _three(part == 0, part != -1)


@_verdict.register
def _(condition: Alike, of: Bindings) -> Verdict:
    left, right = condition.left, condition.right
    if left in of.codes and right in of.codes:
        found: BoolArray = of.codes[left] == of.codes[right]
        return _three(found, np.ones(len(of), np.bool_))
    (a, a_good), (b, b_good) = of.numbers(left), of.numbers(right)
    return _three(a == b, a_good & b_good)


@_verdict.register
def _(condition: Among, of: Bindings) -> Verdict:
    wanted = pa.array([text_of(term) for term in condition.terms], pa.large_string())
    numbers, is_number = numbers_of(wanted)
    if condition.variable in of.bound:
        values, good = of.numbers(condition.variable)
        return _three(np.isin(values, numbers[is_number]), good)

    def among(terms: pa.Array) -> Verdict:
        values, numeric = numbers_of(terms)
        found = _bools(pc.is_in(terms, wanted)) | (numeric & np.isin(values, numbers[is_number]))
        return _three(found, np.ones(len(terms), np.bool_))

    return _by_term(of, condition.variable, among)


@_verdict.register
def _(condition: Kind, of: Bindings) -> Verdict:
    if condition.variable in of.bound:
        _, good = of.numbers(condition.variable)
        return _three(np.full(len(of), condition.kind in ("literal", "numeric")), good)

    def is_kind(terms: pa.Array) -> Verdict:
        if condition.kind == "numeric":
            found = numbers_of(terms)[1]
        else:
            begins = {"iri": "<", "blank": "_:", "literal": '"'}[condition.kind]
            found = _bools(pc.starts_with(terms, begins))
        return _three(found, np.ones(len(terms), np.bool_))

    return _by_term(of, condition.variable, is_kind)


@_verdict.register
def _(condition: Text, of: Bindings) -> Verdict:
    tests = {
        "contains": pc.match_substring,
        "starts": pc.starts_with,
        "ends": pc.ends_with,
        "regex": pc.match_substring_regex,
    }

    def tested(terms: pa.Array) -> Verdict:
        texts, good = texts_of(terms, any_term=condition.of == "str")
        test = tests[condition.test]
        found = _bools(test(texts, condition.text, ignore_case=condition.ignore_case))
        return _three(found, good)

    return _by_term(of, condition.variable, tested)


def texts_of(terms: pa.Array, *, any_term: bool) -> tuple[pa.Array, BoolArray]:
    """The characters of terms, and which have some: all but blank nodes, or only strings."""
    literal = _bools(pc.starts_with(terms, '"'))
    iri = _bools(pc.starts_with(terms, "<"))
    # The last quote ends a literal's text: neither a language nor a datatype can contain one.
    parts = pc.split_pattern(terms, '"', max_splits=1, reverse=True)
    suffix = _last(parts)
    string = literal & ~_bools(pc.starts_with(suffix, "^^"))
    inner = pc.utf8_slice_codeunits(pc.list_element(parts, 0), 1)
    escaped = literal & _bools(pc.match_substring(terms, "\\"))
    if escaped.any():
        plain = pa.array(unquoted(terms.filter(pa.array(escaped)).to_pylist()), inner.type)
        inner = pc.replace_with_mask(inner, pa.array(escaped), plain)
    bare = pc.utf8_slice_codeunits(terms, 1, -1)
    texts = pc.if_else(pa.array(literal), inner, bare)
    return texts, (literal | iri) if any_term else string


def _last(parts: pa.Array) -> pa.Array:
    """The last element of each list."""
    ends = parts.offsets.to_numpy()[1:] - 1
    return parts.values.take(pa.array(ends))


def _by_term(of: Bindings, variable: str, test: Callable[[pa.Array], Verdict]) -> Verdict:
    """What a test says of each term of a variable."""
    used, back = np.unique(of.codes[variable], return_inverse=True)
    return test(of.terms.take(used))[back]


def _three(found: BoolArray, good: BoolArray) -> Verdict:
    return np.where(good, found, -1).astype(np.int8)


def _where(mask: pa.Array) -> IntArray:
    return np.flatnonzero(_bools(mask))


def _bools(mask: pa.Array) -> BoolArray:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))
