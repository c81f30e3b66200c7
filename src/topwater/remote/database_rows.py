"""The keys of a request to a database, and how its rows become their values.

A row answers the key whose text is the same: the integer 7 and the text ``7`` are one key,
``007`` is another. So a database that compares more loosely, by case or by number, gives no
value to a key that it was not asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias
from uuid import UUID

import numpy as np

from topwater.model import Fetched, KeyArray
from topwater.model.key_form import BETWEEN, raised
from topwater.problems import Problem
from topwater.remote.found_values import Found
from topwater.remote.wanted_values import Wanted

KeyKind: TypeAlias = Literal["given", "whole", "decimal", "text", "uuid", "other"]
"""What the key column holds, as far as keys must be turned into it; ``given`` binds them as is."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{0,99}[1-9])?")


@dataclass(frozen=True, slots=True)
class Asked:
    """The keys of one request: the rows of each, by the key's text, and what to bind."""

    rows: dict[str, list[int]]
    plain: dict[str, Any]
    size: int

    @staticmethod
    def of(keys: KeyArray) -> Asked:
        """From keys of any kind."""
        rows: dict[str, list[int]] = {}
        plain: dict[str, Any] = {}
        for row, key in enumerate(keys.tolist()):
            text = key_text(key)
            rows.setdefault(text, []).append(row)
            plain.setdefault(text, key if isinstance(key, tuple) else _plain(key))
        return Asked(rows, plain, len(keys))

    def bound(self, *kinds: KeyKind) -> list[Any]:
        """The keys in the types of the columns; those that these can't hold are in no row of it."""
        if len(kinds) == 1:
            return list(_bound(self.plain, kinds[0]))
        return [key for plain in self.plain.values() for key in _bound_parts(plain, kinds)]

    def answer(
        self, found: Iterable[tuple[Any, ...]], wanted: Sequence[Wanted] = (Wanted("", ""),)
    ) -> Fetched:
        """What the rows of keys and values say of each key.

        Examples
        --------
        >>> asked = Asked.of(np.array([1, 2, 3, 4]))
        >>> got = asked.answer([(1, 10), (2, 20), (2, 21), (3, "many"), (9, 0)])
        >>> got.values.tolist(), got.why.tolist()
        ([10.0, nan, nan, nan], ['', 'doubled', 'not_a_number', 'not_found'])
        """
        told = Found(wanted)
        for key, *values in found:
            text = self._asked(key_text(key))
            if text is not None:
                told.add(text, values)
        texts = [""] * self.size
        for text, rows in self.rows.items():
            for row in rows:
                texts[row] = text
        got = told.fetched(texts, 0.0)
        return replace(got, why=got.reasons())

    def failed(self, problem: Problem) -> Fetched:
        """No answer for any key, for one reason."""
        return Fetched(
            np.full(self.size, np.nan),
            np.zeros(self.size, bool),
            why=np.full(self.size, problem, object),
        )

    def _asked(self, text: str) -> str | None:
        """The key that a row speaks of. Columns of fixed width fill it up with blanks."""
        if text in self.rows:
            return text
        cut = text.rstrip(" ")
        return cut if cut in self.rows else None


def _plain(key: Any) -> Any:
    """A key as a driver takes it: a whole number, or its text."""
    return int(key) if isinstance(key, int | np.integer) else key_text(key)


def _bound_parts(key: tuple[Any, ...], kinds: Sequence[KeyKind]) -> Iterator[tuple[Any, ...]]:
    """A key of several columns, if each of these can hold its part.

    What is neither a number nor text in a database is bound as it is: a day to a day.
    """
    parts = [
        [part] if kind == "other" else [*_bound({key_text(part): _plain(part)}, kind)]
        for part, kind in zip(key, kinds, strict=True)
    ]
    if all(parts):
        yield tuple(part for (part,) in parts)


def _bound(plain: Mapping[str, Any], kind: KeyKind) -> Iterator[Any]:
    for text, key in plain.items():
        if kind == "whole":
            if _WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63:
                yield int(text)
        elif kind == "decimal":
            if _DECIMAL.fullmatch(text):
                yield Decimal(text)
        elif kind == "uuid":
            if _is_uuid(text):
                yield UUID(text)
        elif _is_text(text, nul=kind == "given"):
            yield key if kind == "given" else text


def _is_text(text: str, nul: bool) -> bool:
    """Whether it can be sent: a lone surrogate is in no database, a NUL not in all of them."""
    return (nul or "\0" not in text) and not any("\ud800" <= each <= "\udfff" for each in text)


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def key_text(key: Any) -> str:
    r"""The text by which a row's key is compared.

    Examples
    --------
    >>> [key_text(key) for key in (7, "7", Decimal("7.00"), 7.0, Decimal("7.50"), True)]
    ['7', '7', '7', '7', '7.5', '1']
    >>> key_text(("tea", 7))
    'tea\x017'
    """
    if isinstance(key, tuple):
        return BETWEEN.join(raised(key_text(part)) for part in key)
    if isinstance(key, bool):  # as those databases have it that have no such type
        return str(int(key))
    if isinstance(key, datetime):
        return str(key.astimezone(UTC) if key.tzinfo else key)
    if isinstance(key, Decimal) and key.is_finite():
        shortest = format(key, "f")
        return shortest.rstrip("0").rstrip(".") if "." in shortest else shortest
    if isinstance(key, float) and key.is_integer():
        return str(int(key))
    return str(key)
