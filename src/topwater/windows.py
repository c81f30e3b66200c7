"""Time or count → panes → windows.

Windows are open on the left and closed on the right, ``(o, c]`` with ``o = start + i·step``.
A pane is the greatest common divisor of width and step: all events of one pane are in exactly
the same windows, so a pane is the smallest unit that ever enters or leaves.

::

    width 5, step 2, pane 1, start 0

    time    0    1    2    3    4    5    6    7
    pane       0    1    2    3    4    5    6
    W0      (────────────────────────]
    W1                (────────────────────────]
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast

import numpy as np

from topwater.errors import QueryError
from topwater.model import Arrivals, BoolArray, IntArray, Items, Millis, Window

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
    if isinstance(span, str):
        total = _parse(span)
        if total is not None:
            return total
    raise QueryError(
        f"{span!r} is not a duration",
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
    """The unit of a name, also in the plural; but ``ms`` is no plural of ``m``."""
    return _UNITS.get(name) or (_UNITS.get(name.removesuffix("s")) if len(name) > 3 else None)


def _rounded(span: float) -> Millis | None:
    return round(span) if span < FARTHEST else None


@dataclass(frozen=True, slots=True)
class Windows:
    """An endless sequence of windows: what the query slides over the stream.

    Use :func:`sliding`, :func:`tumbling` or :func:`counting` to make one.

    Parameters
    ----------
    width, step
        In milliseconds, or in events when ``by`` is ``"count"``. The width may be no multiple
        of the step (100 s sliding by 60 s is fine), but not shorter than it.
    start
        The left end of window 0, exclusive. Events at or before it are in no window.
    by
        ``"time"``: an event is placed by its time. ``"count"``: by its position, from 1 on.

    Examples
    --------
    >>> nine = Windows(width=9, step=3, start=1)
    >>> nine.window(1)
    Window(index=1, start=4, end=13)
    >>> nine.pane_of(np.array([4, 10, 11])).tolist()
    [0, 2, 3]
    >>> [nine.span_of(pane) for pane in (0, 2, 3)]
    [(0, 0), (0, 2), (1, 3)]
    """

    width: Millis
    step: Millis
    start: Millis = 0
    by: Literal["time", "count"] = "time"

    def __post_init__(self) -> None:
        for name in ("width", "step", "start"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise QueryError(
                    f"must be a whole number, not {value!r}",
                    field=f"window.{name}",
                    fix="use sliding(), tumbling() or counting(), which also read durations",
                )
            if abs(value) >= FARTHEST:
                raise QueryError(
                    f"{value} is too far from 0",
                    field=f"window.{name}",
                    fix=f"stay below {FARTHEST}: it counts milliseconds, or events",
                )
        for name in ("width", "step"):
            if getattr(self, name) <= 0:
                raise QueryError(
                    f"must be positive, not {getattr(self, name)}",
                    field=f"window.{name}",
                    fix="give how much each window covers (width) and how far it moves (step)",
                )
        if self.width < self.step:
            shown = span if self.by == "time" else str
            raise QueryError(
                f"{shown(self.width)} is shorter than the step {shown(self.step)}: events between "
                "two windows would be in none",
                field="window.width",
                fix="make width at least as long as step; width = step gives tumbling windows",
            )
        if self.by not in ("time", "count"):
            raise QueryError(
                f"{self.by!r} is unknown", field="window.by", fix='use "time" or "count"'
            )
        if self.by == "count" and self.start != 0:
            raise QueryError(
                "count windows start at the first event",
                field="window.start",
                fix="leave start out, or use time windows",
            )

    @property
    def in_words(self) -> str:
        """How far each reaches back, and how often there is one.

        Examples
        --------
        >>> Windows(540_000, 180_000).in_words, Windows(1_000, 100, by="count").in_words
        ('the last 9 min, every 3 min', 'the last 1,000 events, every 100')
        """
        if self.by == "count":
            return f"the last {self.width:,} events, every {self.step:,}"
        return f"the last {span(self.width)}, every {span(self.step)}"

    @property
    def pane(self) -> Millis:
        """The length of a pane."""
        return math.gcd(self.width, self.step)

    @property
    def panes_per_window(self) -> int:
        """How many panes make a window."""
        return self.width // self.pane

    @property
    def panes_per_step(self) -> int:
        """By how many panes two neighbouring windows differ."""
        return self.step // self.pane

    @property
    def overlap(self) -> int:
        """In how many windows an event is at most."""
        return -(-self.width // self.step)

    def window(self, index: int) -> Window:
        """Window number ``index``."""
        start = self.start + index * self.step
        return Window(index, start, start + self.width)

    def pane_of(self, times: IntArray) -> IntArray:
        """The pane of each time (or position); negative before the start."""
        return (times - (self.start + 1)) // self.pane

    def panes_in(self, index: int) -> tuple[int, int]:
        """The first and the last pane of a window."""
        first = index * self.panes_per_step
        return first, first + self.panes_per_window - 1

    def span_of(self, pane: int) -> tuple[int, int]:
        """The first and the last window that a pane is in."""
        first = -((self.panes_per_window - 1 - pane) // self.panes_per_step)
        return max(0, first), pane // self.panes_per_step

    def leaves_gap(self, panes: IntArray) -> BoolArray:
        """For each two neighbours of ascending panes: is there a window between, with neither?"""
        last = panes[:-1] // self.panes_per_step
        return self.first_windows(panes[1:]) > last + 1

    def first_windows(self, panes: IntArray) -> IntArray:
        """The first window that each pane is in."""
        first = -((self.panes_per_window - 1 - panes) // self.panes_per_step)
        return np.maximum(0, first)

    def last_complete(self, watermark: Millis) -> int:
        """The newest window that closes before ``watermark``; negative if none does.

        A watermark says that no event older than it will come. One *at* it still may, and
        belongs to the window that closes there.
        """
        return (watermark - 1 - self.start - self.width) // self.step

    def group(self, items: Items) -> Arrivals:
        """Items grouped by pane. Cheap when times ascend, one stable sort otherwise."""
        times = items.time
        if len(times) > 1 and not bool(np.all(times[1:] >= times[:-1])):
            panes = self.pane_of(times)
            order = np.argsort(panes, kind="stable")
            panes = panes[order]
            starts = np.flatnonzero(np.concatenate(([True], panes[1:] != panes[:-1])))
            return Arrivals(
                panes[starts], np.append(starts, len(panes)).astype(np.int64), items.take(order)
            )
        return self._group_sorted(items)

    def _group_sorted(self, items: Items) -> Arrivals:
        """Ascending times: find each pane's end by bisection, without touching every event."""
        if not len(items):
            return Arrivals(np.empty(0, np.int64), np.zeros(1, np.int64), items)
        first, last = (int(p) for p in self.pane_of(items.time[[0, -1]]))
        if last - first > len(items):
            panes, starts = np.unique(self.pane_of(items.time), return_index=True)
            return Arrivals(panes, np.append(starts, len(items)).astype(np.int64), items)
        panes = np.arange(first, last + 1, dtype=np.int64)
        ends = np.searchsorted(items.time, self.start + (panes + 1) * self.pane, side="right")
        sizes = np.diff(ends, prepend=0)
        full = sizes > 0
        return Arrivals(panes[full], np.append(0, ends[full]).astype(np.int64), items)


def sliding(
    width: int | str | timedelta, step: int | str | timedelta, *, start: Millis = 0
) -> Windows:
    """Time windows that overlap.

    Examples
    --------
    >>> sliding("9 min", "3 min").overlap
    3
    """
    return Windows(
        millis(width, field="window.width"), millis(step, field="window.step"), _whole(start)
    )


def tumbling(width: int | str | timedelta, *, start: Millis = 0) -> Windows:
    """Time windows end to end, none overlapping."""
    return sliding(width, width, start=start)


def counting(width: int, step: int | None = None) -> Windows:
    """Windows over the last ``width`` events, moving by ``step`` events (default: tumbling)."""
    return Windows(_whole(width), _whole(width if step is None else step), by="count")


def _whole(value: Any) -> int:
    """NumPy integers pass; the rest is left to the validation."""
    if isinstance(value, np.integer):
        return int(value)
    return cast("int", value)
