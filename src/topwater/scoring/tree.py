"""The tree of an expression: its nodes, and how tightly its operators bind."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

MAX_LENGTH = 10_000
"""Characters in the longest text that is read."""

MAX_DEPTH = 100
"""Levels of the deepest tree. A sum of n terms has n levels."""


@dataclass(frozen=True, slots=True)
class Number:
    """A finite constant. ``written`` has it in full where that is more than the double says."""

    value: float
    written: str = field(default="", compare=False, repr=False)

    @staticmethod
    def of(text: str) -> Number:
        """A number from its text.

        Examples
        --------
        >>> Number.of("0.10").written, Number.of("9007199254740993").written
        ('', '9007199254740993')
        """
        value = float(text)
        # A number with an exponent is a double, and that is all it says.
        long = len(text) > 15 and text.replace(".", "", 1).isdecimal()
        return Number(value, text if long and Decimal(text) != Decimal(repr(value)) else "")

    def __neg__(self) -> Number:
        sign = self.written.removeprefix("-") if self.written[:1] == "-" else f"-{self.written}"
        return Number(-self.value, sign if self.written else "")


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function with its arguments; ``neg`` is the unary minus."""

    op: str
    args: tuple[Node, ...]


Node: TypeAlias = Number | Name | Call
Leaf: TypeAlias = Number | Name

BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
NEGATIVE, POWER, ATOM = 3, 4, 5
"""How tightly each binds; what has no operator outside binds tightest."""

ARITY: dict[str, tuple[int, int]] = {
    "abs": (1, 1),
    "sqrt": (1, 1),
    "log": (1, 1),
    "log1p": (1, 1),
    "exp": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "round": (1, 1),
    "positive": (1, 1),
    "all": (1, MAX_LENGTH),
    "any": (1, MAX_LENGTH),
    "if": (3, 3),
    "min": (1, MAX_LENGTH),
    "max": (1, MAX_LENGTH),
    "clip": (3, 3),
    "norm": (3, 3),
}
"""The functions, and how many arguments each takes at least and at most."""
