"""What is wanted of each key: one value or several, by name; and which of several counts.

One setting for all sources: ``value`` is where the value stands, or a mapping of names to places;
``text`` the same for texts, which are shown and not reckoned with. A place may stand inside
``max(…)``, ``min(…)``, ``mean(…)``, ``sum(…)``, ``count(…)`` or ``sample(…)`` for a key that has
several values there; without one, two different values are none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from topwater.errors import QueryError
from topwater.validation import shown, suggestion

Merge: TypeAlias = Literal["max", "min", "mean", "sum", "count", "sample"]
"""What becomes of several values of a key."""

Places: TypeAlias = str | Sequence[str] | Mapping[str, str]
"""Where one value stands, or several by their names; a list names places that are names."""

MERGES: tuple[str, ...] = get_args(Merge)
OF_TEXTS = ("max", "min", "sample")

_CALL = re.compile(r"\s*([A-Za-z]\w*)\s*\((.*)\)\s*", re.DOTALL)
_FIX = 'write value="price", or value={"price": "price", "stock": "stock"} for several'


@dataclass(frozen=True, slots=True)
class Wanted:
    """One value of each key.

    Attributes
    ----------
    name
        What it is called; nothing if it is the only one.
    place
        Where it stands: a path, a column, a variable.
    text
        Whether it is a text, and not a number.
    merge
        What becomes of several values of a key; None if there is to be but one.
    absent
        What a key has of which there are no rows: a count is 0, all else is missing.

    Examples
    --------
    >>> Wanted.of("", "max(offers[*].price)", "value")
    Wanted(name='', place='offers[*].price', text=False, merge='max')
    """

    name: str
    place: str
    text: bool = False
    merge: Merge | None = None
    absent: float = field(default=math.nan, repr=False, compare=False)

    @staticmethod
    def of(name: str, given: Any, setting: str, *, text: bool = False) -> Wanted:
        """From a setting."""
        if type(given) is not str or not given.strip():
            raise QueryError(f"{shown(given)} is not a place", field=setting, fix=_FIX)
        found = _CALL.fullmatch(given)
        if found is None:
            return Wanted(name, given, text)
        merge = found[1].lower()
        known = OF_TEXTS if text else MERGES
        if merge not in known:
            what = f"{found[1]}() of {'texts' if text else 'values'} is unknown"
            raise QueryError(what, field=setting, fix=suggestion(merge, known))
        if merge != "count" and not found[2].strip():
            fix = f"name what it is of, as {merge}(price)"
            raise QueryError(f"{merge}() of nothing", field=setting, fix=fix)
        absent = 0.0 if merge == "count" else math.nan
        return Wanted(name, found[2].strip(), text, merge, absent)  # type: ignore[arg-type]

    @property
    def setting(self) -> str:
        """The setting that says so."""
        whole = "text" if self.text else "value"
        return f"{whole}.{self.name}" if self.name else whole

    @property
    def merged(self) -> Wanted:
        """The same where the source itself has merged the values."""
        return replace(self, merge=None)


def wanted_values(value: Any, text: Any = None) -> tuple[Wanted, ...]:
    """All that is wanted of a key, numbers first.

    Examples
    --------
    >>> [each.name for each in wanted_values({"price": "$.price"}, {"title": "$.title"})]
    ['price', 'title']
    >>> wanted_values(["price"], ["price"])
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: text: 'price' is a name twice
      fix: give each value a name of its own
    """
    if isinstance(value, str) and text is None:
        return (Wanted.of("", value, "value"),)
    numbers = tuple(_named(value, "value"))
    texts = () if text is None else tuple(_named(text, "text"))
    names = {each.name for each in numbers}
    if twice := [each.name for each in texts if each.name in names]:
        raise QueryError(
            f"{shown(twice[0])} is a name twice",
            field="text",
            fix="give each value a name of its own",
        )
    return (*numbers, *texts)


def _named(given: Any, field: str) -> Iterator[Wanted]:
    if isinstance(given, str):
        fix = f'with several values, write {field}={{"name": {shown(given)}}}'
        raise QueryError("has no name", field=field, fix=fix)
    if isinstance(given, list | tuple):
        if len({*map(str, given)}) < len(given):
            raise QueryError("has a name twice", field=field, fix="name each value once")
        given = dict(zip(given, given, strict=True)) if _are_names(given) else None
    if not isinstance(given, Mapping) or not given or not _are_names(given):
        raise QueryError(f"{shown(given)} can't be read", field=field, fix=_FIX)
    for name, place in given.items():
        yield Wanted.of(name, place, f"{field}.{name}", text=field == "text")


def _are_names(given: Any) -> bool:
    return all(isinstance(name, str) and name.strip() for name in given)


def names_of(wanted: Sequence[Wanted]) -> tuple[str, ...]:
    """What several values are called; nothing where there is one without a name."""
    return tuple(each.name for each in wanted if each.name)


def text_names_of(wanted: Sequence[Wanted]) -> tuple[str, ...]:
    """The names of texts."""
    return tuple(each.name for each in wanted if each.text)
