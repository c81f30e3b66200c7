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
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import numpy as np

from topwater.errors import QueryError
from topwater.model import Arrivals, BoolArray, IntArray, Items, Millis, Window
from topwater.validation import checked_call, choice_of, whole_of
from topwater.validation.durations import FARTHEST as FARTHEST
from topwater.validation.durations import millis as millis
from topwater.validation.durations import span as span


@checked_call("window")
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
            fix = "use sliding(), tumbling() or counting(), which also read durations"
            value = whole_of(getattr(self, name), f"window.{name}", fix=fix)
            object.__setattr__(self, name, value)
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
        choice_of(self.by, ("time", "count"), "window.by")
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


@checked_call("window")
def sliding(
    width: int | str | timedelta, step: int | str | timedelta, *, start: Millis = 0
) -> Windows:
    """Time windows that overlap.

    Examples
    --------
    >>> sliding("9 min", "3 min").overlap
    3
    """
    return Windows(millis(width, field="window.width"), millis(step, field="window.step"), start)


@checked_call("window")
def tumbling(width: int | str | timedelta, *, start: Millis = 0) -> Windows:
    """Time windows end to end, none overlapping."""
    return sliding(width, width, start=start)


@checked_call("window")
def counting(width: int, step: int | None = None) -> Windows:
    """Windows over the last ``width`` events, moving by ``step`` events (default: tumbling)."""
    return Windows(width, width if step is None else step, by="count")
