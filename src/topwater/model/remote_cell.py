"""One of several remote values, as a row of an answer has it."""

from __future__ import annotations

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
