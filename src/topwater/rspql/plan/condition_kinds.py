"""The kinds of conditions on solutions, or on items: frozen values that the hosts carry out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from rdflib.term import Identifier


@dataclass(frozen=True, slots=True)
class Compare:
    """Two numbers compared. ``left`` and ``right`` are formulas over the names of variables.

    What is not a number is an error: then neither the comparison nor its negation holds.
    """

    left: str
    op: Literal["=", "!=", "<", "<=", ">", ">="]
    right: str


@dataclass(frozen=True, slots=True)
class Among:
    """A variable is one of some terms (``=`` and ``IN``). Numbers are equal by value."""

    variable: str
    terms: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class SameTerm:
    """A variable is bound to one of some terms, letter by letter (``VALUES``)."""

    variable: str
    terms: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """Two variables are equal (``=``): numbers by value, moments by the instant."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Text:
    """A test of a variable's text: of its literal alone, or of what a function makes of the term.

    ``of`` is ``"str"`` for ``STR(?x)``, ``"lang"`` for ``LANG(?x)`` and ``"datatype"`` for
    ``DATATYPE(?x)``. ``"range"`` is the test of ``LANGMATCHES``.
    """

    test: Literal["contains", "starts", "ends", "regex", "equals", "range"]
    variable: str
    text: str
    ignore_case: bool = False
    of: Literal["str", "literal", "lang", "datatype"] = "literal"


@dataclass(frozen=True, slots=True)
class Kind:
    """What sort of term a variable is bound to."""

    variable: str
    kind: Literal["iri", "blank", "literal", "numeric"]


@dataclass(frozen=True, slots=True)
class AllOf:
    """All conditions hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of the conditions holds, or more."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The condition does not hold. An error stays an error."""

    part: Condition


Condition: TypeAlias = Compare | Among | SameTerm | Alike | Text | Kind | AllOf | AnyOf | Not
