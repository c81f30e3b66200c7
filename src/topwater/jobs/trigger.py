"""When a micro-batch begins: the setting ``trigger`` of a sink."""

from __future__ import annotations

import re
from typing import Any

from topwater.errors import QueryError
from topwater.validation import millis

AVAILABLE_NOW = "available_now"
_FIX = f'write "5 seconds", or "{AVAILABLE_NOW}" to end when all that is there was read'


def trigger_of(given: Any, field: str = "trigger") -> dict[str, Any] | None:
    """What Spark's ``trigger`` takes; None if one micro-batch follows the other.

    Raises
    ------
    QueryError
        If it is neither a duration nor a word that is known.

    Examples
    --------
    >>> trigger_of("5 s"), trigger_of("available_now"), trigger_of("")
    ({'processingTime': '5000 milliseconds'}, {'availableNow': True}, None)
    """
    if given == "":
        return None
    if not isinstance(given, str):
        raise QueryError("must be text", field=field, fix=_FIX)
    if re.fullmatch(r"available[ _-]?now", given.strip(), re.IGNORECASE):
        return {"availableNow": True}
    try:
        span = millis(given)
    except QueryError:
        span = 0
    if span <= 0:
        raise QueryError(f"{given!r} is not a duration", field=field, fix=_FIX)
    return {"processingTime": f"{span} milliseconds"}
