"""One of several remote values, as a row of an answer has it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remote:
    """One of several remote values of an answer's row.

    Attributes
    ----------
    value
        A number, or a text that is only shown; None if nothing is known.
    age, confidence, assumed
        As those of a :class:`Row` with one remote value.
    """

    value: float | str | None
    age: int | None = None
    confidence: float | None = None
    assumed: str | None = None


def taken_together(cells: Iterable[Remote]) -> Remote:
    """What is said of a row that has several: of no value, and of all.

    The age of the oldest, None if one was never fetched; the probability that all are right; and
    why the first of those that are assumed is.

    Examples
    --------
    >>> taken_together([Remote(2.0, 30, 0.5), Remote(4.0, 10, 0.5, "failed")])
    Remote(value=None, age=30, confidence=0.25, assumed='failed')
    """
    known = [*cells]
    ages = [each.age for each in known if each.age is not None]
    return Remote(
        None,
        max(ages) if ages and len(ages) == len(known) else None,
        math.prod((each.confidence for each in known if each.confidence is not None), start=1.0),
        next((each.assumed for each in known if each.assumed is not None), None),
    )
