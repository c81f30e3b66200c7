"""Times that are written as text, in ISO 8601."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

MOMENT = pa.timestamp("us", "UTC")


def moments(texts: pa.Array) -> pa.Array:
    """Texts as moments; null where a text is not a time. One without a zone is in UTC.

    Examples
    --------
    >>> found = moments(pa.array(["2026-01-01T20:00:00Z", "2026-01-01 21:00:00+01:00", "soon"]))
    >>> [None if each is None else f"{each:%H:%M}" for each in found.to_pylist()]
    ['20:00', '20:00', None]
    """
    # Arrow reads a column of one kind at once, and none that mixes them or has anything else.
    for kind in (MOMENT, pa.timestamp("us")):
        with contextlib.suppress(pa.ArrowInvalid):
            found = texts.cast(kind)
            return found if kind == MOMENT else pc.assume_timezone(found, "UTC")
    return pa.array([_moment(text) for text in texts.to_pylist()], MOMENT)


def _moment(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
