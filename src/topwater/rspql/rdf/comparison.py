"""``= != < <= > >=`` between the parts of solutions, by the rules of SPARQL.

Numbers are compared by value, moments by the instant, texts by their characters, and any two terms
are equal if they are the same. What can't be compared is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.rspql.rdf.exact_arithmetic import (
    COMPARED,
    DOUBLE,
    FLOAT,
    decided,
    evaluated,
    near,
)
from topwater.rspql.rdf.term_values import (
    BLANK,
    DAY,
    IRI,
    MOMENT,
    NUMBER,
    OTHER,
    STRING,
    TAGGED,
    TRUTH,
    Sorts,
    are_floats,
    are_long,
    cast_named,
    moment_of,
    sorts_of,
    texts_of,
    truth_of,
    variable_in,
)
from topwater.scoring.expressions import Call, Expression, Name, Node, Number

if TYPE_CHECKING:
    from topwater.rspql.rdf.solutions import Bindings

Verdict: TypeAlias = npt.NDArray[np.int8]
"""For each solution 1 where a condition holds, 0 where it does not, and -1 for an error."""

UNBOUND = -1
"""The sort of what has no value."""

_HALF_DAYS = Fraction(14 * 3_600)
"""A zone that is not said may be up to this many seconds away, on either side."""


def three_valued(found: BoolArray, good: BoolArray) -> Verdict:
    """Where it is good what was found, and elsewhere an error."""
    return np.where(good, found, -1).astype(np.int8)


def compared(of: Bindings, left: Node, op: str, right: Node) -> Verdict:
    """What a comparison of two formulas says of each solution."""
    a, a_good = of.worth(left)
    b, b_good = of.worth(right)
    good = a_good & b_good
    verdict = three_valued(COMPARED[op](a, b), good)
    rows = np.flatnonzero(good & _doubtful(of, left, right, a, b))
    if len(rows):
        verdict[rows] = _in_full(of.take(rows), left, op, right, verdict[rows])
    rows = np.flatnonzero(~good)
    if len(rows):
        verdict[rows] = _by_sort(of.take(rows), left, op, right)
    return verdict


def _doubtful(of: Bindings, left: Node, right: Node, a: FloatArray, b: FloatArray) -> BoolArray:
    """Where doubles may not decide."""
    if not _is_plain(left, right):
        names = {*Expression(left).columns, *Expression(right).columns}
        unit = FLOAT if any(map(of.has_floats, names)) else DOUBLE
        return near(left, right, of.columns_of(left, right), unit)
    with np.errstate(all="ignore"):
        # Two numbers that are too large for doubles are both infinite.
        found: BoolArray = (np.abs(a - b) <= FLOAT * np.abs(a)) | (a == b)
    return found


def _is_plain(*sides: Node) -> bool:
    return not any(isinstance(side, Call) for side in sides)


def _in_full(of: Bindings, left: Node, op: str, right: Node, verdict: Verdict) -> Verdict:
    """The same for rows that doubles can't decide; each combination of terms once."""
    left, right = of.in_terms(left), of.in_terms(right)
    if _is_plain(left, right) and not _some_odd(of, left, right):
        return verdict
    names = tuple(dict.fromkeys((*Expression(left).columns, *Expression(right).columns)))
    known: dict[tuple[Any, ...], int] = {}
    for row, given in enumerate(zip(*(of.origins(name) for name in names), strict=True)):
        if given not in known:
            values = {n: of.exact(n, each) for n, each in zip(names, given, strict=True)}
            known[given] = _decision(left, op, right, values, int(verdict[row]))
        verdict[row] = known[given]
    return verdict


def _some_odd(of: Bindings, left: Node, right: Node) -> bool:
    """Is a number on either side longer than a double, or a float? If none is, doubles will do."""
    for side in (left, right):
        if isinstance(side, Number) and side.written:
            return True
        variable = variable_in(side.name) if isinstance(side, Name) else ""
        if variable in of.codes:
            terms = of.terms.take(np.unique(of.codes[variable]))
            if are_long(terms).any() or are_floats(terms).any():
                return True
        if isinstance(side, Name) and cast_named(side.name)[1] == "float":
            return True
    return False


def _decision(left: Node, op: str, right: Node, values: Any, otherwise: int) -> int:
    try:
        return int(decided(op, evaluated(left, values), evaluated(right, values)))
    except ArithmeticError:
        return otherwise


def _by_sort(of: Bindings, left: Node, op: str, right: Node) -> Verdict:
    """Comparisons of which at least one side is not a number."""
    a, b = _sorts(of, left), _sorts(of, right)
    if op in ("=", "!="):
        same = _same(of, left, right, a, b)
        return same if op == "=" else three_valued(same == 0, same >= 0)
    verdict: Verdict = np.full(len(of), -1, np.int8)
    names = _terms(of, left, right)
    if names is not None:
        verdict[of.codes[names[0]] == of.codes[names[1]]] = op in ("<=", ">=")
        for sort, order in _ORDERS.items():
            rows = np.flatnonzero((a == sort) & (b == sort))
            if len(rows):
                terms = (of.terms_of(name, rows) for name in names)
                verdict[rows] = order(*terms, COMPARED[op])
    return verdict


def _terms(of: Bindings, left: Node, right: Node) -> tuple[str, str] | None:
    """The names of two variables that are bound to terms; None if one is not."""
    names = [side.name if isinstance(side, Name) else "" for side in (left, right)]
    return (names[0], names[1]) if all(name in of.codes for name in names) else None


def _sorts(of: Bindings, side: Node) -> Sorts:
    if isinstance(side, Name) and side.name in of.codes:
        used, back = np.unique(of.codes[side.name], return_inverse=True)
        return sorts_of(of.terms.take(used))[back]
    _, good = of.worth(side)
    return np.where(good, NUMBER, UNBOUND).astype(np.int8)


def _same(of: Bindings, left: Node, right: Node, a: Sorts, b: Sorts) -> Verdict:
    """Are two terms equal, of which one is not a number?"""
    verdict: Verdict = np.zeros(len(of), np.int8)
    literals = (a > BLANK) & (b > BLANK)
    tagged = (a == TAGGED) | (b == TAGGED)
    verdict[literals & ~tagged & ((a == OTHER) | (b == OTHER))] = -1
    verdict[(a == UNBOUND) | (b == UNBOUND)] = -1
    names = _terms(of, left, right)
    if names is None:
        return verdict
    for sort in (TRUTH, MOMENT, DAY):
        rows = np.flatnonzero((a == sort) & (b == sort))
        if len(rows):
            terms = (of.terms_of(name, rows) for name in names)
            verdict[rows] = _ORDERS[sort](*terms, COMPARED["="])
    verdict[of.codes[names[0]] == of.codes[names[1]]] = 1
    return verdict


def among(variable: pa.Array, wanted: pa.Array, numbers: Verdict) -> Verdict:
    """Which terms are equal to one of those wanted, as ``IN`` has it.

    Parameters
    ----------
    variable, wanted
        Terms.
    numbers
        Which of the first are equal to a number that is wanted.
    """
    verdict: Verdict = (numbers == 1).astype(np.int8)
    sorts, theirs = sorts_of(variable), sorts_of(wanted)
    verdict[_bools(pc.is_in(variable, wanted)) & (sorts != NUMBER)] = 1
    for sort in (TRUTH, MOMENT, DAY):
        same = wanted.take(np.flatnonzero(theirs == sort))
        for row in np.flatnonzero((verdict == 0) & (sorts == sort)):
            each = pa.concat_arrays([variable[row:][:1]] * len(same)) if len(same) else same
            verdict[row] = (_ORDERS[sort](each, same, COMPARED["="]) == 1).any()
    literal = (sorts > BLANK) & (sorts != TAGGED)
    unlike = (theirs > BLANK) & (theirs != TAGGED)
    odd = np.where(sorts == OTHER, unlike.any(), (theirs == OTHER).any())
    verdict[(verdict == 0) & literal & odd] = -1
    return verdict


def _of_texts(left: pa.Array, right: pa.Array, op: Callable[[Any, Any], Any]) -> Verdict:
    ranks = _ranks(left, right)
    return np.asarray(op(*ranks)).astype(np.int8)


def _of_tagged(left: pa.Array, right: pa.Array, op: Callable[[Any, Any], Any]) -> Verdict:
    """Texts of one language; those of two can't be compared."""
    tags = [pc.replace_substring_regex(each, r'(?s)^.*"@', "") for each in (left, right)]
    return three_valued(np.asarray(op(*_ranks(left, right))), _bools(pc.equal(tags[0], tags[1])))


def _ranks(left: pa.Array, right: pa.Array) -> tuple[IntArray, IntArray]:
    """The characters of literals as numbers in the same order."""
    texts = pa.concat_arrays([texts_of(each, any_term=False)[0] for each in (left, right)])
    ranks = pc.rank(texts, tiebreaker="dense").to_numpy().astype(np.int64)
    return ranks[: len(left)], ranks[len(left) :]


def _of_truths(left: pa.Array, right: pa.Array, op: Callable[[Any, Any], Any]) -> Verdict:
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    return np.array([op(truth_of(a), truth_of(b)) for a, b in pairs], np.int8)


def _of_moments(left: pa.Array, right: pa.Array, op: Callable[[Any, Any], Any]) -> Verdict:
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    return np.array([_moment_verdict(a, b, op) for a, b in pairs], np.int8)


def _moment_verdict(left: str, right: str, op: Callable[[Any, Any], Any]) -> int:
    (a, a_zoned), (b, b_zoned) = moment_of(left), moment_of(right)
    if a_zoned != b_zoned and abs(a - b) <= _HALF_DAYS:
        return 0 if op is COMPARED["="] else -1
    return int(op(a, b))


_ORDERS: dict[int, Callable[..., Verdict]] = {
    STRING: _of_texts,
    TAGGED: _of_tagged,
    TRUTH: _of_truths,
    MOMENT: _of_moments,
    DAY: _of_moments,
}


def _bools(mask: pa.Array) -> BoolArray:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))


assert IRI < BLANK < NUMBER  # noqa: S101  what is above is a literal
