"""Sizes in bytes, as people write them."""

from __future__ import annotations

import re
from typing import Any

from topwater.errors import QueryError
from topwater.validation.names import shown
from topwater.validation.values import whole_of

_UNITS = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_FORM = re.compile(r"([0-9]{1,12})\s?([KMG]?B)", re.IGNORECASE)
_FIX = 'write a size as "64 MB", or a number of bytes'


def bytes_of(value: Any, field: str, least: int = 1) -> int:
    """A number of bytes, from a number or a text; a kilobyte has 1,024.

    Raises
    ------
    QueryError
        If it is neither, or too small.

    Examples
    --------
    >>> bytes_of("64 MB", "memory"), bytes_of(1_000, "memory")
    (67108864, 1000)
    """
    if isinstance(value, str):
        found = _FORM.fullmatch(value.strip())
        if found is None:
            raise QueryError(f"{shown(value)} is not a size", field=field, fix=_FIX)
        value = int(found[1]) * _UNITS[found[2].upper()]
    return whole_of(value, field, least, fix=_FIX)


def size_text(size: int) -> str:
    """A number of bytes in the largest unit in which it is a whole number.

    Examples
    --------
    >>> size_text(64 * 2**20), size_text(1_000)
    ('64 MB', '1,000 B')
    """
    for unit, scale in reversed(_UNITS.items()):
        if size >= scale and size % scale == 0:
            return f"{size // scale:,} {unit}"
    return f"{size:,} B"
