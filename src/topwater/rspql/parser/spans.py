"""Spans of time and numbers of events, as windows and budgets are written."""

from __future__ import annotations

import re
from decimal import Decimal

from topwater.model import Millis
from topwater.windows import FARTHEST

_SECOND = 1_000
_UNITS: dict[str, int] = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), _SECOND),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60 * _SECOND),
    **dict.fromkeys(("h", "hour", "hours"), 3_600 * _SECOND),
    **dict.fromkeys(("d", "day", "days"), 86_400 * _SECOND),
    **dict.fromkeys(("week", "weeks"), 7 * 86_400 * _SECOND),
}
_PLAIN = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_SHORT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", re.ASCII)
_ISO = re.compile(
    r"P(?:(?P<W>\d+)W|(?:(?P<Y>\d+)Y)?(?:(?P<M>\d+)M)?(?:(?P<D>\d+)D)?"
    r"(?P<T>T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?)",
    re.IGNORECASE | re.ASCII,
)
_ISO_UNITS = {"W": 7 * 86_400, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
FORMS = "write PT9M, P1DT12H, 90s, 9min, 1h or 250ms; a plain number counts milliseconds"


def duration(text: str) -> Millis | str:
    """A span of time in milliseconds; or, as text, why there is none.

    Plain numbers count milliseconds, because times do so everywhere else in Topwater.

    Examples
    --------
    >>> duration("PT9M"), duration("P1DT0.5S"), duration("30min"), duration("10")
    (540000, 86400500, 1800000, 10)
    >>> duration("P1M")
    'a month has no fixed length'
    """
    span = _span(text)
    if isinstance(span, str):
        return span
    if span != span.to_integral_value():
        return f"{text[:40]} is not a whole number of milliseconds"
    return int(span) if span < FARTHEST else f"{text[:40]} is too long"


def _span(text: str) -> Decimal | str:
    if len(text) > 100:
        return "a duration is not that long"
    if short := _SHORT.fullmatch(text):
        unit = _UNITS.get(short[2].lower())
        return f"the unit {short[2]!r} is unknown" if unit is None else Decimal(short[1]) * unit
    if iso := _ISO.fullmatch(text):
        return _iso_span(iso)
    return Decimal(text) if _PLAIN.fullmatch(text) else f"{text[:40]!r} is not a duration"


def _iso_span(iso: re.Match[str]) -> Decimal | str:
    for part, name in (("Y", "year"), ("M", "month")):
        if iso[part] is not None:
            return f"a {name} has no fixed length"
    given = {part: iso[part] for part in _ISO_UNITS if iso[part] is not None}
    if not given or (iso["T"] or "").upper() == "T":
        return f"{iso[0]!r} has no length"
    seconds = sum(Decimal(number) * _ISO_UNITS[part] for part, number in given.items())
    return Decimal(seconds * _SECOND)
