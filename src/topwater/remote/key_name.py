"""What a key of several columns is called where a key is one text, as in Redis."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from topwater.errors import QueryError
from topwater.model.key_form import BETWEEN, lowered
from topwater.validation import columns_of, nearest, shown

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class KeyName:
    r"""A text with a place for each part of a key.

    Two keys never get one name: what stands behind a place must not begin within its part.

    Parameters
    ----------
    template
        As ``"ad:{campaign}:{country}"``.
    parts
        The columns, in the order in which keys have them.

    Examples
    --------
    >>> name = KeyName.of("ad:{campaign}:{country}", ["campaign", "country"])
    >>> name.filled("spring\x01DE"), name.fits("spring\x01DE")
    ('ad:spring:DE', True)
    >>> name.fits("a:b\x01DE"), name.fits("a\x01D:E")
    (False, True)
    """

    template: str
    parts: tuple[str, ...]

    @staticmethod
    def of(template: Any, parts: Any) -> KeyName:
        """A checked name."""
        columns = columns_of(parts, "parts")
        if isinstance(columns, str):
            raise QueryError("names one column", field="parts", fix="write {key}, and leave it out")
        wanted = "".join(f":{{{part}}}" for part in columns)
        fix = f'write the columns with text between them, as key="user{wanted}"'
        if not isinstance(template, str):
            raise QueryError(f"{shown(template)} is not a key", field="key", fix=fix)
        places = _PLACE.findall(template)
        for place in places:
            if place not in columns:
                near = nearest(place, columns)
                told = fix if near is None else f"did you mean {{{near}}}?"
                raise QueryError(f"{{{place}}} is not a part of the key", field="key", fix=told)
        if sorted(places) != sorted(columns):
            raise QueryError("must have one place for each part", field="key", fix=fix)
        if "}{" in template:
            raise QueryError("has nothing between two parts", field="key", fix=fix)
        return KeyName(template, columns)

    def filled(self, key: str) -> str:
        """What a key is called."""
        texts = self._texts(key)
        return _PLACE.sub(lambda found: texts[found[1]], self.template)

    def fits(self, key: str) -> bool:
        """Whether no other key is called the same."""
        texts = self._texts(key)
        _, *pieces = _PLACE.split(self.template)
        for place, behind in zip(pieces[:-2:2], pieces[1:-2:2], strict=True):
            if f"{texts[place]}{behind}".find(behind) < len(texts[place]):
                return False
        return True

    def _texts(self, key: str) -> dict[str, str]:
        return dict(zip(self.parts, map(lowered, key.split(BETWEEN)), strict=True))
