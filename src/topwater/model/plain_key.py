"""A key as JSON has it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def plain_key(key: Any) -> Any:
    """A key as JSON has it: days, moments and decimals as text, and several columns as a list.

    Examples
    --------
    >>> from datetime import date
    >>> plain_key(("tea", date(2026, 11, 18), True)), plain_key(Decimal("1.50"))
    (['tea', '2026-11-18', True], '1.50')
    """
    if isinstance(key, tuple):
        return [plain_key(part) for part in key]
    if key is None or isinstance(key, int | str):
        return key
    return str(key) if isinstance(key, Decimal) else key.isoformat()
