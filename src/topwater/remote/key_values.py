"""Values that came back, matched to the keys that were asked for.

One rule for all sources: numbers are numbers, also if they are written as text; true and false
are 1 and 0; whatever else a value is, the key was answered, and has none. Only an answer that
can't be read at all makes its keys fail.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from topwater.errors import QueryError
from topwater.model import Fetched, KeyArray
from topwater.model.key_form import BETWEEN, raised
from topwater.problems import Lack, Problem

_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_LONGEST = 1_000
"""Characters in the longest text that is read as a number: a double says no more in 767 digits."""


def number(value: Any) -> float:
    """The number that a remote value is, even if it is written as text; NaN if it is not one.

    Examples
    --------
    >>> [number(each) for each in (7, "7.5", " 1e3", True, Decimal("2.50"))]
    [7.0, 7.5, 1000.0, 1.0, 2.5]
    >>> [number(each) for each in (None, "seven", "1_000", float("inf"), [7], 10**400)]
    [nan, nan, nan, nan, nan, nan]
    """
    if not isinstance(value, bool | int | float | Decimal) and not (
        isinstance(value, str) and len(value) <= _LONGEST and _NUMBER.fullmatch(value)
    ):
        return math.nan
    try:
        found = float(value)
    except (OverflowError, ValueError):  # too large, or a decimal that is none
        return math.nan
    return found if math.isfinite(found) else math.nan


def text(value: Any) -> str | None:
    """The text that a remote value is, to be shown; None if it is a list, an object, or nothing.

    Examples
    --------
    >>> [text(each) for each in ("tea", 7, 7.0, 2.5, True, Decimal("2.50"), None, [7])]
    ['tea', '7', '7', '2.5', 'true', '2.50', None, None]
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float | Decimal | UUID | date):
        return key_text(value)
    return None


def key_text(key: Any) -> str:
    r"""How a key is written: services may or may not distinguish 7 and "7".

    Examples
    --------
    >>> key_text(7.0), key_text(True), key_text(Decimal("1.50")), key_text(("tea", 7))
    ('7', 'true', '1.50', 'tea\x017')
    """
    if isinstance(key, tuple):
        return BETWEEN.join(raised(key_text(part)) for part in key)
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, datetime):
        return key.isoformat()
    if isinstance(key, float) and key.is_integer():
        return str(int(key))
    return str(key)


def require_one_column(columns: Sequence[str]) -> None:
    """Raise if keys have several columns, for a source that is asked by one text."""
    if len(columns) > 1:
        raise QueryError(
            f"asks by one text, and keys of the query have {', '.join(columns)}",
            field="source.key",
            fix="make one column of them before the query, or use another kind of source",
        )


@dataclass(slots=True)
class Matches:
    """Values by the text of their keys. Two different values for one key are not one.

    Examples
    --------
    >>> found = Matches()
    >>> for key, value in (("a", 1), ("a", "1.0"), ("b", 1), ("b", 2), ("c", "many"), ("d", None)):
    ...     found.add(key, value)
    >>> found.values, found.doubled
    ({'a': 1.0, 'b': nan, 'c': nan, 'd': nan}, {'b'})
    >>> found.fetched(["a", "b", "c", "d", "e"], 0.0).why.tolist()
    ['', 'doubled', 'not_a_number', 'null', 'not_found']
    """

    values: dict[str, Any] = field(default_factory=dict)
    doubled: set[str] = field(default_factory=set)
    lacks: dict[str, Lack] = field(default_factory=dict)

    def add(self, key: str, value: Any) -> None:
        """Take note of one value."""
        if value is DOUBLED:
            self.doubled.add(key)
        found = number(value)
        before = self.values.setdefault(key, found)
        if before != found and not (math.isnan(before) and math.isnan(found)):
            self.doubled.add(key)
        if key in self.doubled:
            self.values[key] = math.nan
        elif math.isnan(found):
            self.lacks[key] = _lack(value)

    def reason(self, key: str) -> str:
        """Why a key has no value; nothing if it has one."""
        if key in self.doubled:
            return "doubled"
        return self.lacks.get(key, "" if key in self.values else "not_found")

    def fetched(self, keys: Sequence[str], seconds: float) -> Fetched:
        """The answer for ``keys``. A key that did not come has no value on the remote side."""
        values = np.array([self.values.get(key, math.nan) for key in keys], np.float64)
        ok = np.array([key not in self.doubled for key in keys], bool)
        if np.isfinite(values).all():
            return Fetched(values, ok, seconds)
        why = np.array([self.reason(key) for key in keys], object)
        return Fetched(values, ok, seconds, why)

    def column(self, keys: Sequence[str], lost: Collection[str]) -> KeyArray:
        """The values of ``keys``; none of those that are lost for another reason."""
        found = [math.nan if key in lost else self.values.get(key, math.nan) for key in keys]
        return np.array(found, np.float64)


@dataclass(slots=True)
class Texts(Matches):
    """Texts by the text of their keys. Two different texts for one key are none.

    Examples
    --------
    >>> found = Texts()
    >>> for key, value in (("a", "tea"), ("b", 7), ("c", None), ("d", "x"), ("d", "y")):
    ...     found.add(key, value)
    >>> found.column(["a", "b", "c", "d", "e"], ()).tolist()
    ['tea', '7', None, None, None]
    """

    def add(self, key: str, value: Any) -> None:
        """Take note of one text."""
        found = text(value)
        before = self.values.setdefault(key, found)
        if value is DOUBLED or before != found:
            self.doubled.add(key)
        if key in self.doubled:
            self.values[key] = None
        elif found is None:
            self.lacks[key] = "null" if value is None else "no_value"

    def column(self, keys: Sequence[str], lost: Collection[str]) -> KeyArray:
        """The texts of ``keys``; none of those that are lost for another reason."""
        return np.array([None if key in lost else self.values.get(key) for key in keys], object)


DOUBLED = object()
"""Stands where a JSON object has one name twice, with different values."""

NOTHING = object()
"""Stands where a path leads nowhere."""

OTHER_TYPE = object()
"""Stands where types count, and a literal is not of a type of numbers."""


def _lack(value: Any) -> Lack:
    """Why a value that is not a number can't be used."""
    if value is NOTHING:
        return "no_value"
    if value is OTHER_TYPE:
        return "other_type"
    return "null" if value is None else "not_a_number"


def failed(
    keys: Sequence[str],
    asked: set[str],
    problem: Problem,
    seconds: float,
    wait: float | None = None,
) -> Fetched:
    """The answer when a request came to nothing. Keys that were not asked for are unaffected."""
    ok = np.array([key not in asked for key in keys], bool)
    why: KeyArray = np.where(ok, "not_found", np.array(problem, object))
    return Fetched(np.full(len(keys), np.nan), ok, seconds, why, wait)
