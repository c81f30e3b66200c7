"""Spans of time, as people write them."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np

from topwater.errors import QueryError
from topwater.model import Millis
from topwater.validation.names import shown

FARTHEST: Millis = 2**53
"""Times and spans are nearer to zero than this, so no sum of them overflows."""

_UNITS = {
    "ms": 1,
    "s": 1_000,
    "sec": 1_000,
    "second": 1_000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
}
_LONGEST = 100
"""Characters in the longest text that is read as a duration."""
_SHORT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)
_ISO = re.compile(
    r"\s*P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?\s*", re.IGNORECASE
)


def millis(span: int | str | timedelta, *, field: str = "duration") -> Millis:
    """A span of time as whole milliseconds.

    Parameters
    ----------
    span
        Milliseconds as an integer, a ``timedelta``, a short form (``"90s"``, ``"9 min"``,
        ``"1h"``) or an ISO 8601 duration (``"PT9M"``).
    field
        The setting to name when the span can't be read.

    Examples
    --------
    >>> millis("9 min"), millis("PT1M30S"), millis(250)
    (540000, 90000, 250)
    """
    if isinstance(span, timedelta):
        return round(span / timedelta(milliseconds=1))
    if isinstance(span, int | np.integer) and not isinstance(span, bool):
        return int(span)
    if isinstance(span, str) and len(span) <= _LONGEST:
        total = _parse(span)
        if total is not None:
            return total
    raise QueryError(
        f"{shown(span)} is not a duration",
        field=field,
        fix='write milliseconds (60000), a short form ("90s", "9min") or ISO 8601 ("PT9M")',
    )


def span(length: Millis) -> str:
    """A span of time in the largest unit that gives a whole number.

    Examples
    --------
    >>> span(540_000), span(1_500), span(86_400_000)
    ('9 min', '1500 ms', '1 d')
    """
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if length % size == 0:
            return f"{length // size} {unit}"
    return f"{length} ms"


def _parse(text: str) -> Millis | None:
    if (short := _SHORT.fullmatch(text)) and (unit := _unit(short[2].lower())):
        return _rounded(float(short[1]) * unit)
    iso = _ISO.fullmatch(text)
    if iso is None or not any(iso.groups()):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in iso.groups())
    return _rounded(days * 86_400_000 + hours * 3_600_000 + minutes * 60_000 + seconds * 1_000)


def _unit(name: str) -> Millis | None:
    """The unit of a name, also in the plural; but ``ms`` is not a plural of ``m``."""
    return _UNITS.get(name) or (_UNITS.get(name.removesuffix("s")) if len(name) > 3 else None)


def _rounded(span: float) -> Millis | None:
    return round(span) if span < FARTHEST else None
