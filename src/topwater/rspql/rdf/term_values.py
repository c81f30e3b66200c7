"""What terms are worth: as numbers, as texts, as moments; and which sort of term each is.

Everything works on Arrow columns of different terms, written as :mod:`~topwater.rspql.rdf.triples`
writes them.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.rspql.rdf.triples import XSD, quoted, unquoted

_WHOLE = (
    "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger "
    "negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
)
_INTEGER = r"^[+-]?[0-9]+$"
_DECIMAL = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$"
_DOUBLE = r"^[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|INF)$|^NaN$"
_FORMS = {
    **dict.fromkeys(_WHOLE.split(), _INTEGER),
    "decimal": _DECIMAL,
    "double": _DOUBLE,
    "float": _DOUBLE,
}
DATATYPES = (*_WHOLE.split(), "decimal", "float", "double")
"""The datatypes of numbers: those of whole ones, then in the order in which sums prefer them."""

KIND = "^^"
"""A variable with this behind its name stands for the datatype of its numbers; with a datatype
behind that, for the numbers that a cast to it gives."""

ERROR = "!"
"""A variable with this behind its name stands for 1 where it has no finite number, and else 0."""

CASTS = ("double", "float", "decimal", "integer")
"""The datatypes that a term can be cast to."""

IRI, BLANK, NUMBER, STRING, TAGGED, TRUTH, MOMENT, DAY, OTHER = range(9)
"""The sorts of terms: literals with a language are ``TAGGED``, and those that are of no datatype
that is known here, or are not written as theirs wants it, ``OTHER``."""

Sorts: TypeAlias = npt.NDArray[np.int8]
Exact: TypeAlias = Fraction | float | np.float32
"""A number in full, a double, or a float."""

LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
"""The datatype of texts with a language."""

_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_MOMENT = (
    r"^-?([1-9][0-9]{3,}|0[0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?$"
)
_DAY = (
    r"^-?([1-9][0-9]{3,}|0[0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?$"
)
_SORTED = {
    "boolean": (TRUTH, r"^(true|false|0|1)$"),
    "dateTime": (MOMENT, _MOMENT),
    "date": (DAY, _DAY),
}
_LITERAL = re.compile(r'"([^"]*)"\^\^<[^>]*[#/](\w+)>')
_PARTS = re.compile(
    r"(-?\d+)-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d(?:\.\d+)?))?(Z|[+-]\d\d:\d\d)?", re.ASCII
)


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
    rows, bodies, kinds = _typed(terms)
    for kind, form in _FORMS.items():
        mine = pc.equal(kinds, f"{kind}>")
        if not pc.any(mine).as_py():
            continue
        mine = _where(mine)
        good, found = _read(bodies.take(mine), form)
        if kind == "float":
            with np.errstate(over="ignore"):
                found = found.astype(np.float32).astype(np.float64)
        values[rows[mine[good]]] = found
        numeric[rows[mine[good]]] = True
    return values, numeric


def _typed(terms: pa.Array) -> tuple[IntArray, pa.Array, pa.Array]:
    """The rows of literals with a datatype of XML Schema, their texts, and the datatypes."""
    ends = f'"^^<{XSD}'
    rows = _where(pc.match_substring(terms, ends))
    parts = pc.split_pattern(terms.take(rows), ends, max_splits=1, reverse=True)
    bodies = pc.utf8_slice_codeunits(pc.list_element(parts, 0), 1)
    return rows, bodies, pc.list_element(parts, 1)


def _read(texts: pa.Array, form: str) -> tuple[IntArray, FloatArray]:
    """Which texts have a form, and the numbers that these are."""
    good = _where(pc.match_substring_regex(texts, form))
    plain = pc.utf8_ltrim(texts.take(good), "+")
    return good, np.asarray(plain.cast(pa.float64()).to_numpy(zero_copy_only=False))


def cast_of(terms: pa.Array, to: str) -> tuple[FloatArray, BoolArray]:
    """What ``xsd:double`` and its kin make of each term, and where that is not an error.

    Examples
    --------
    >>> true = '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
    >>> cast_of(pa.array(['"12"', '"1e3"', true, '"x"', "<x:a>"], pa.large_string()), "decimal")[0]
    array([12., nan,  1., nan, nan])
    """
    values, good = numbers_of(terms)
    sorts = sorts_of(terms)
    plain = np.flatnonzero(sorts == STRING)
    texts, _ = texts_of(terms.take(plain), any_term=False)
    read, found = _read(pc.utf8_trim(texts, " \t\r\n"), _FORMS[to])
    values[plain[read]], good[plain[read]] = found, True
    for row in np.flatnonzero(sorts == TRUTH):
        values[row], good[row] = float(truth_of(terms[row].as_py())), True
    return as_cast(values, good, to)


def as_cast(values: FloatArray, good: BoolArray, to: str) -> tuple[FloatArray, BoolArray]:
    """Numbers as numbers of a datatype, and where that is not an error."""
    if to == "float":
        with np.errstate(over="ignore"):
            values = values.astype(np.float32).astype(np.float64)
    if to in ("integer", "decimal"):
        good = good & np.isfinite(values)
        values = np.where(good, np.trunc(values) if to == "integer" else values, np.nan)
    return values, good


def texts_of(terms: pa.Array, *, any_term: bool) -> tuple[pa.Array, BoolArray]:
    """The characters of terms, and which have some: all but blank nodes, or only strings."""
    literal = _bools(pc.starts_with(terms, '"'))
    iri = _bools(pc.starts_with(terms, "<"))
    # The last quote ends a literal's text: neither a language nor a datatype can contain one.
    parts = pc.split_pattern(terms, '"', max_splits=1, reverse=True)
    suffix = last_of(parts)
    string = literal & ~_bools(pc.starts_with(suffix, "^^"))
    inner = pc.utf8_slice_codeunits(pc.list_element(parts, 0), 1)
    escaped = literal & _bools(pc.match_substring(terms, "\\"))
    if escaped.any():
        plain = pa.array(unquoted(terms.filter(pa.array(escaped)).to_pylist()), inner.type)
        inner = pc.replace_with_mask(inner, pa.array(escaped), plain)
    bare = pc.utf8_slice_codeunits(terms, 1, -1)
    texts = pc.if_else(pa.array(literal), inner, bare)
    return texts, (literal | iri) if any_term else string


def languages_of(terms: pa.Array) -> tuple[pa.Array, BoolArray]:
    """The language of each literal, empty where it has none; and which terms are literals.

    Examples
    --------
    >>> some = ['"a"', '"a"@en', "<x:a>"]
    >>> [languages_of(pa.array(some, pa.large_string()))[n].tolist() for n in (0, 1)]
    [['', 'en', ''], [True, True, False]]
    """
    literal, suffix = _suffixes(terms)
    tagged = pc.starts_with(suffix, "@")
    return pc.if_else(tagged, pc.utf8_slice_codeunits(suffix, 1), ""), literal


def datatypes_of(terms: pa.Array) -> tuple[pa.Array, BoolArray]:
    """The IRI of each literal's datatype, and which terms are literals."""
    literal, suffix = _suffixes(terms)
    written = pc.if_else(
        pc.starts_with(suffix, "@"),
        f"^^<{LANG_STRING}>",
        pc.if_else(pc.equal(suffix, ""), f"^^<{XSD}string>", suffix),
    )
    return pc.utf8_slice_codeunits(written, 3, -1), literal


def derived_terms(terms: pa.Array, part: str) -> pa.Array:
    """The terms that ``LANG``, ``DATATYPE`` or ``STR`` give; no text at all for an error.

    Examples
    --------
    >>> some = pa.array(['"a"@en', "<x:a>"], pa.large_string())
    >>> [derived_terms(some, part).to_pylist() for part in ("lang", "datatype", "str")]
    ... # doctest: +ELLIPSIS
    [['"en"', ''], ['<http://...#langString>', ''], ['"a"', '"x:a"']]
    """
    if part == "str":
        texts, good = texts_of(terms, any_term=True)
        made = [quoted(each) if each is not None else "" for each in texts.to_pylist()]
    elif part == "lang":
        texts, good = languages_of(terms)
        made = [f'"{each}"' for each in texts.to_pylist()]
    else:
        texts, good = datatypes_of(terms)
        made = [f"<{each}>" for each in texts.to_pylist()]
    some = [each if ok else "" for each, ok in zip(made, good.tolist(), strict=True)]
    return pa.array(some, pa.large_string())


def _suffixes(terms: pa.Array) -> tuple[BoolArray, pa.Array]:
    """Which terms are literals, and what follows their text; nothing for other terms."""
    literal = _bools(pc.starts_with(terms, '"'))
    suffix = last_of(pc.split_pattern(terms, '"', max_splits=1, reverse=True))
    return literal, pc.if_else(pa.array(literal), suffix.cast(terms.type), "")


def last_of(parts: pa.Array) -> pa.Array:
    """The last element of each list."""
    ends = parts.offsets.to_numpy()[1:] - 1
    return parts.values.take(pa.array(ends))


def cast_named(name: str) -> tuple[str, str, float | None]:
    """The variable, the datatype and the default in the name of a cast.

    Examples
    --------
    >>> cast_named("x^^double"), cast_named("x^^double=0.5")
    (('x', 'double', None), ('x', 'double', 0.5))
    """
    variable, _, rest = name.partition(KIND)
    to, _, default = rest.partition("=")
    return variable, to, float(default) if default else None


def plain_cast(name: str) -> str:
    """The name of a cast without its default; any other name as it is."""
    variable, sign, rest = name.partition(KIND)
    return f"{variable}{sign}{rest.partition('=')[0]}" if rest and variable[:1] != "=" else name


def variable_in(name: str) -> str:
    """The variable that a name stands for something of."""
    return name.removesuffix(ERROR).partition(KIND)[0]


def sorts_of(terms: pa.Array) -> Sorts:
    """Of which sort each term is.

    Examples
    --------
    >>> sorts_of(pa.array(["<x:a>", '"a"', '"a"@en', '"a"^^<x:own>'])).tolist()
    [0, 3, 4, 8]
    """
    sorts: Sorts = np.full(len(terms), OTHER, np.int8)
    sorts[_bools(pc.starts_with(terms, "<"))] = IRI
    sorts[_bools(pc.starts_with(terms, "_:"))] = BLANK
    literal = _bools(pc.starts_with(terms, '"'))
    sorts[literal & _bools(pc.ends_with(terms, '"'))] = STRING
    sorts[literal & _bools(pc.match_substring_regex(terms, r'"@[A-Za-z0-9-]+$'))] = TAGGED
    rows, bodies, kinds = _typed(terms)
    for kind, (sort, form) in _SORTED.items():
        mine = _where(pc.equal(kinds, f"{kind}>"))
        sorts[rows[mine[_where(pc.match_substring_regex(bodies.take(mine), form))]]] = sort
    sorts[numbers_of(terms)[1]] = NUMBER
    return sorts


def truth_of(term: str) -> bool:
    """The truth value that a literal is."""
    return _TRUTHS[term[1 : term.rindex('"')]]


def moment_of(term: str) -> tuple[Fraction, bool]:
    """The seconds of a date, perhaps with a time, since the year 0; and whether it has a zone.

    Examples
    --------
    >>> noon = moment_of('"2026-01-01T12:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>')
    >>> noon == moment_of('"2026-01-01T13:00:00+01:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>')
    True
    """
    found = _PARTS.fullmatch(term[1 : term.rindex('"')])
    assert found is not None  # noqa: S101  its sort says so
    year, month, day = (int(part) for part in found.group(1, 2, 3))
    # As the proleptic Gregorian calendar counts days; years may be beyond those of Python.
    y, m = (year, month) if month > 2 else (year - 1, month + 12)
    days = 365 * y + y // 4 - y // 100 + y // 400 + (153 * (m - 3) + 2) // 5 + day
    hours, minutes = int(found[4] or 0), int(found[5] or 0)
    seconds = days * 86_400 + hours * 3_600 + minutes * 60 + Fraction(found[6] or 0)
    zone = found[7]
    if zone is not None and zone != "Z":
        shift = int(zone[1:3]) * 3_600 + int(zone[4:]) * 60
        seconds -= shift if zone[0] == "+" else -shift
    return seconds, zone is not None


def exact_of(term: str) -> Exact:
    """A number as exactly as SPARQL knows it: doubles and floats as such, all others in full.

    Examples
    --------
    >>> exact_of('"0.1"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    Fraction(1, 10)
    """
    found = _LITERAL.fullmatch(term)
    if found is None:
        raise ValueError("not a number")
    # Python refuses to read very long integers, but not decimals.
    return _exact(found[1] if found[2] in ("double", "float") else Decimal(found[1]), found[2])


def exact_cast(term: str, to: str) -> Exact:
    """The same of a term that can be cast."""
    text = term[1 : term.rindex('"')]
    if not term.endswith('"'):
        value = Fraction(_TRUTHS[text]) if term.endswith("#boolean>") else exact_of(term)
        return _exact(math.trunc(float(value)) if _cuts(value, to) else value, to)
    return _exact(text if to in ("double", "float") else Decimal(text.strip()), to)


def _cuts(value: Exact, to: str) -> bool:
    return to == "integer" and not (isinstance(value, Fraction) and value.denominator == 1)


def _exact(value: Any, kind: str) -> Exact:
    if kind == "double":
        return float(value)
    if kind == "float":
        return np.float32(float(value))
    return Fraction(float(value) if isinstance(value, np.float32) else value)


def are_long(terms: pa.Array) -> BoolArray:
    """Which terms may be numbers with more digits than a double tells apart."""
    return _bools(pc.match_substring_regex(terms, r'^"[^"]{16}'))


def are_floats(terms: pa.Array) -> BoolArray:
    """Which terms are written as floats, with which decimals are compared as floats."""
    return _bools(pc.ends_with(terms, f"{XSD}float>"))


def _where(mask: pa.Array) -> IntArray:
    return np.flatnonzero(_bools(mask))


def _bools(mask: pa.Array) -> BoolArray:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))
