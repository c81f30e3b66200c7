"""The keys of a request to a database, and how its rows become their values.

A row answers the key whose text is the same: the integer 7 and the text ``7`` are one key,
``007`` is another. So a database that compares more loosely, by case or by number, gives no
value to a key that it was not asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias
from uuid import UUID

import numpy as np

from topwater.model import Fetched, KeyArray
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
    plain: dict[str, int | str]
    size: int

    @staticmethod
    def of(keys: KeyArray) -> Asked:
        """From keys of any kind."""
        rows: dict[str, list[int]] = {}
        plain: dict[str, int | str] = {}
        for row, key in enumerate(keys.tolist()):
            whole = isinstance(key, int | np.integer) and not isinstance(key, bool)
            text = str(key)
            rows.setdefault(text, []).append(row)
            plain.setdefault(text, int(key) if whole else text)
        return Asked(rows, plain, len(keys))

    def bound(self, kind: KeyKind) -> list[Any]:
        """The keys in the type of the column; those that it can't hold are in no row of it."""
        return list(_bound(self.plain, kind))

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


def _bound(plain: dict[str, int | str], kind: KeyKind) -> Iterator[Any]:
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
    """The text by which a row's key is compared.

    Examples
    --------
    >>> [key_text(key) for key in (7, "7", Decimal("7.00"), 7.0, Decimal("7.50"))]
    ['7', '7', '7', '7', '7.5']
    """
    if isinstance(key, Decimal) and key.is_finite():
        shortest = format(key, "f")
        return shortest.rstrip("0").rstrip(".") if "." in shortest else shortest
    if isinstance(key, float) and key.is_integer():
        return str(int(key))
    return str(key)
