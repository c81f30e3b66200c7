"""The order that ``ORDER BY`` gives terms: nothing, blank nodes, IRIs, literals.

SPARQL orders literals that can be compared, and leaves the rest open. Here truth values come first,
then numbers, moments, texts, texts with a language, and last what is of no known datatype.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa

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
    exact_of,
    moment_of,
    sorts_of,
    truth_of,
)
from topwater.rspql.rdf.triples import unquoted

Place: TypeAlias = tuple[Any, ...]
"""What sorts as its term does."""

_NOTHING: Place = (0,)
_PLACES = (BLANK, IRI, TRUTH, NUMBER, MOMENT, DAY, STRING, TAGGED, OTHER)


def places_of(values: Sequence[float | str | None]) -> list[Place]:
    """Where values stand in that order: numbers, or terms as keys have them; None is nothing.

    Terms that are equal stand in one place, as ``5`` and ``5.0`` do.

    Examples
    --------
    >>> some = ['"b"', '"a"@en', "x:a", None, 5.0, "_:b1"]
    >>> [value for _, value in sorted(zip(places_of(some), some))]
    [None, '_:b1', 'x:a', 5.0, '"b"', '"a"@en']
    """
    texts = [each for each in values if isinstance(each, str)]
    terms = [each if each.startswith(('"', "_:")) else f"<{each}>" for each in texts]
    sorts = sorts_of(pa.array(terms, pa.large_string())).tolist()
    known = iter([_of_term(*each) for each in zip(terms, sorts, strict=True)])
    return [next(known) if isinstance(each, str) else _of_number(each) for each in values]


def _of_number(value: float | None) -> Place:
    if value is None or math.isnan(value):
        return _NOTHING
    return (_PLACES.index(NUMBER) + 1, value)


def _of_term(term: str, sort: int) -> Place:
    place = _PLACES.index(sort) + 1
    if sort == TRUTH:
        return (place, truth_of(term))
    if sort == NUMBER:
        number = exact_of(term)
        # What is not even equal to itself would leave the others in any order.
        return (place, number) if number == number else _NOTHING
    if sort in (MOMENT, DAY):
        return (place, moment_of(term)[0])
    if sort in (STRING, TAGGED):
        return (place, unquoted([term])[0], term[term.rindex('"') + 1 :])
    # Brackets would come between an IRI and a longer one.
    return (place, term[1:-1] if sort == IRI else term)
