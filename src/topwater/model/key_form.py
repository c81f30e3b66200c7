r"""What keys of one or several columns are inside: whole numbers or text, in the same order.

Inside, a key is a whole number or a text. Keys of other types, and of several columns, become one
where events come in, and what they were where answers go out and where sources are asked.

- Truth values, days and moments are whole numbers: 0 and 1, days and microseconds since 1970.
- Decimals, and keys of several columns, are texts. Their parts stand one after the other with
  ``"\x01"`` between them. A whole number is one sign for its sign and its length, and then its
  digits; of a negative one, what each digit lacks to nine. In texts, the three lowest characters
  are two: so none is taken for the mark between parts, and none is a NUL.

Two keys are the same inside if they are the same outside, and the smaller is the smaller: for keys
of several columns by the first part in which they differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any, NamedTuple

import numpy as np

from topwater.model.array_types import KeyArray
from topwater.model.nouns import Key, KeyPart

BETWEEN = "\x01"
"""What stands between the parts of a key."""

RAISED = (("\x02", "\x02\x04"), ("\x01", "\x02\x03"), ("\x00", "\x02\x02"))
"""What stands for the lowest characters of a text; to be replaced in this order."""

POSITIVE = "".join(chr(ord("O") + digits) for digits in range(1, 39))
"""How a number of one digit begins, of two, of three, and so on."""

NEGATIVE = "".join(chr(ord("O") - digits) for digits in range(1, 39))

DAYS = (-719_162, 2_932_896)
"""The days of the years 1 to 9999, since 1970: those that Python knows."""

MICROS = (86_400_000_000 * DAYS[0], 86_400_000_000 * (DAYS[1] + 1) - 1)
"""The same in microseconds."""

UNKNOWN = "unknown"
_DIGITS = "0123456789"
_LACKING = str.maketrans(_DIGITS, _DIGITS[::-1])
_DECIMAL = re.compile(r"decimal\((\d+)\)")
_FIRST_DAY = date(1970, 1, 1)
_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_EXACT = Context(prec=80)
_WORDS = {
    "text": "strings",
    "whole": "integers",
    "boolean": "booleans",
    "date": "dates",
    "instant": "timestamps with a zone",
    "local": "timestamps without a zone",
    UNKNOWN: "nothing",
}


class KeyColumn(NamedTuple):
    """A column of a key, and what it holds.

    Attributes
    ----------
    name
        As it is called in the stream.
    kind
        ``"text"``, ``"whole"``, ``"boolean"``, ``"date"``, ``"instant"`` and ``"local"`` for
        timestamps with a zone and without, ``"decimal(2)"`` for those with two digits after the
        point; or ``"unknown"``, as long as only nulls came.
    """

    name: str
    kind: str

    @property
    def scale(self) -> int | None:
        """How many digits a decimal has after the point; None for what is not a decimal."""
        found = _DECIMAL.fullmatch(self.kind)
        return None if found is None else int(found[1])

    @property
    def in_words(self) -> str:
        """What it holds, in the plural."""
        return _WORDS.get(self.kind, f"decimals with {self.scale} digits after the point")

    def number(self, part: Any) -> int:
        """A value of a column that does not hold text, as a whole number."""
        if self.kind == "date":
            return int((part - _FIRST_DAY).days)
        if self.kind in ("instant", "local"):
            return int((part.replace(tzinfo=part.tzinfo or UTC) - _START) // _MICRO)
        return int(part) if self.scale is None else int(part.scaleb(self.scale, _EXACT))

    def value(self, number: int) -> KeyPart:
        """What :meth:`number` was given."""
        if self.kind == "date":
            return _FIRST_DAY + timedelta(days=number)
        if self.kind in ("instant", "local"):
            moment = _START + timedelta(microseconds=number)
            return moment if self.kind == "instant" else moment.replace(tzinfo=None)
        if self.scale is not None:
            return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -self.scale))
        return bool(number) if self.kind == "boolean" else number


@dataclass(frozen=True, slots=True)
class KeyForm:
    r"""How the keys of a stream look inside.

    Examples
    --------
    >>> form = KeyForm((KeyColumn("product", "text"), KeyColumn("year", "whole")))
    >>> form.inside(("tea", 2026)), form.inside(("tea", -7))
    ('tea\x01S2026', 'tea\x01N2')
    >>> form.key("tea\x01S2026")
    ('tea', 2026)
    >>> KeyForm((KeyColumn("day", "date"),)).inside(date(1970, 1, 8))
    7
    """

    columns: tuple[KeyColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called."""
        return tuple(column.name for column in self.columns)

    @property
    def composite(self) -> bool:
        """Whether keys are tuples."""
        return len(self.columns) > 1

    @property
    def plain(self) -> bool:
        """Whether keys are inside what they are outside."""
        return not self.composite and self.columns[0].kind in ("text", "whole", UNKNOWN)

    @property
    def counted(self) -> bool:
        """Whether keys are whole numbers inside."""
        (first, *others) = self.columns
        return not others and first.kind != "text" and first.scale is None

    @property
    def column(self) -> str:
        """What the column of the keys is called inside: it tells what they were.

        Examples
        --------
        >>> form = KeyForm((KeyColumn("day", "date"),))
        >>> form.column, KeyForm.of_column(form.column) == form
        ('[["day", "date"]]', True)
        """
        return json.dumps(self.columns, ensure_ascii=False)

    @staticmethod
    def of_column(name: str) -> KeyForm | None:
        """The form that a column tells by its name; None if it is one of the stream."""
        if not name.startswith('[["'):
            return None
        try:
            return KeyForm(tuple(KeyColumn(*each) for each in json.loads(name)))
        except (ValueError, TypeError):
            return None

    def with_kinds(self, kinds: Iterable[str]) -> KeyForm:
        """The same columns, holding something else."""
        pairs = zip(self.columns, kinds, strict=True)
        return KeyForm(tuple(column._replace(kind=kind) for column, kind in pairs))

    def inside(self, key: Any) -> int | str:
        """A key as it is inside."""
        if self.plain:
            return key  # type: ignore[no-any-return]
        if self.counted:
            return self.columns[0].number(key)
        parts = key if self.composite else (key,)
        return BETWEEN.join(map(_text, self.columns, parts))

    def key(self, inside: Any) -> Key:
        """What :meth:`inside` was given."""
        if self.plain:
            return inside  # type: ignore[no-any-return]
        if isinstance(inside, int):
            return self.columns[0].value(inside)
        found = tuple(map(_part, self.columns, inside.split(BETWEEN)))
        return found if self.composite else found[0]

    def keys(self, inside: KeyArray) -> KeyArray:
        """Many keys, as sources take them: an object for each."""
        if self.plain:
            return inside
        found = np.empty(len(inside), object)
        found[:] = [self.key(each) for each in inside.tolist()]
        return found


def raised(text: str) -> str:
    r"""A text without the lowest characters, in the same order.

    Examples
    --------
    >>> raised("a\x00b"), raised("plain")
    ('a\x02\x02b', 'plain')
    """
    for low, high in RAISED:
        text = text.replace(low, high)
    return text


def lowered(text: str) -> str:
    """What :func:`raised` was given."""
    for low, high in reversed(RAISED):
        text = text.replace(high, low)
    return text


def _text(column: KeyColumn, part: Any) -> str:
    if column.kind == "text":
        return raised(part)
    number = column.number(part)
    digits = str(abs(number))
    if number < 0:
        return NEGATIVE[len(digits) - 1] + digits.translate(_LACKING)
    return POSITIVE[len(digits) - 1] + digits


def _part(column: KeyColumn, text: str) -> KeyPart:
    if column.kind == "text":
        return lowered(text)
    if text[0] > "O":
        return column.value(int(text[1:]))
    return column.value(-int(text[1:].translate(_LACKING)))
