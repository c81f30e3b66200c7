"""How far event time has come, by the events themselves.

One event with a wrong date must not end all windows at once. So time moves from event to event
in steps of a bounded length: an event that lies further ahead of all others waits until the
others get near, or until nothing else comes any more.

::

    time    ────●──●─●●──●──────────────────────────────●───►
            newest so far ┘└─ jump ─┘                   └ waits: it does not move the time
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import IntArray, Millis


@dataclass(frozen=True, slots=True)
class PaneTimes:
    """When the events of a batch happened: per pane, how many, and the time of its newest.

    Panes are distinct and ascending, and so are the times. A pane without events has a time too,
    if something else told it.
    """

    panes: IntArray
    events: IntArray
    newest: IntArray

    def __len__(self) -> int:
        return len(self.panes)

    @staticmethod
    def of(panes: IntArray, times: IntArray) -> PaneTimes:
        """From the pane and the time of each event."""
        rows = pa.table({"pane": panes, "time": times})
        grouped = rows.group_by("pane", use_threads=False).aggregate(
            [("time", "count"), ("time", "max")]
        )
        order = grouped.sort_by("pane")
        return PaneTimes(*(np.asarray(column) for column in order.columns))

    @staticmethod
    def union(parts: list[PaneTimes]) -> PaneTimes:
        """Those of several batches together."""
        full = [part for part in parts if len(part)]
        if len(full) == 1:
            return full[0]
        if not full:
            return PaneTimes.of(np.empty(0, np.int64), np.empty(0, np.int64))
        panes, where = np.unique(np.concatenate([p.panes for p in full]), return_inverse=True)
        newest = np.full(len(panes), np.iinfo(np.int64).min)
        np.maximum.at(newest, where, np.concatenate([p.newest for p in full]))
        events = np.zeros(len(panes), np.int64)
        np.add.at(events, where, np.concatenate([p.events for p in full]))
        return PaneTimes(panes, events, newest)


@dataclass(slots=True)
class EventTime:
    """The newest time that is trusted.

    Parameters
    ----------
    jump
        How far ahead of the trusted time an event may lie to move it. Panes count as one event
        each, so nothing closer than a pane's length is told apart.

    Examples
    --------
    >>> reached = EventTime(jump=10)
    >>> reached.see(PaneTimes.of(np.array([0, 1, 90]), np.array([3, 8, 900])))
    >>> reached.newest
    8
    """

    jump: Millis
    newest: Millis | None = None
    waiting: bool = False
    confirmed: bool = False

    def see(self, times: PaneTimes) -> None:
        """Take note of a batch: time moves as far as its events reach without a gap.

        A batch whose events are all too far ahead is taken for an accident; but after a second
        one in a row, time follows: the stream itself has jumped. The first batch has nothing to
        be compared with: if the second lies before it by more than a jump, the second is right.
        """
        if not len(times):
            return
        if self.newest is None:
            self.newest = _typical(times)
        elif not self.confirmed and times.newest[-1] < self.newest - self.jump:
            self.newest, self.confirmed = _typical(times), True
        elif times.newest[0] > self.newest + self.jump:
            if not self.waiting:
                self.waiting = True
                return
            self.newest, self.confirmed = int(times.newest[0]), True
        else:
            self.confirmed = True
        self.waiting = False
        self.newest = _reached(self.newest, times.newest, self.jump)

    def snapshot(self) -> dict[str, Any]:
        """For JSON."""
        return {"newest": self.newest, "waiting": self.waiting, "confirmed": self.confirmed}

    def restore(self, state: Mapping[str, Any]) -> None:
        """What :meth:`snapshot` gave."""
        self.newest, self.waiting = state["newest"], state["waiting"]
        self.confirmed = state["confirmed"]


def _typical(times: PaneTimes) -> Millis:
    """The newest of the pane that holds the middle event: wrong dates are on either side."""
    total = np.cumsum(times.events)
    return int(times.newest[np.searchsorted(total, (total[-1] + 1) // 2)])


def _reached(start: Millis, times: IntArray, jump: Millis) -> Millis:
    """The last of the ascending ``times`` that is reached from ``start`` in steps of ``jump``."""
    ahead = times[times > start]
    gaps = np.flatnonzero(np.diff(ahead, prepend=start) > jump)
    reached = ahead[: gaps[0]] if len(gaps) else ahead
    return int(reached[-1]) if len(reached) else start
