"""What a journal writes of notices that wait for their windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import BoolArray
from topwater.monitor.journal_logs import Content, Log
from topwater.monitor.strand import BUCKETS, Strand
from topwater.replica.notices import COUNTS, SEQUENCE, NoticeDesk
from topwater.tables import column, pack, unpack
from topwater.windows import Windows


class NoticeLog:
    """Notices as they came; pieces go with the windows that they counted for.

    A notice is in the bucket of its number, by which all are in order again.

    Parameters
    ----------
    desk
        Where they wait.
    windows
        Of the query.
    """

    name = "notices"
    whole = False

    def __init__(self, desk: NoticeDesk, windows: Windows) -> None:
        self._desk = desk
        self._windows = windows
        desk.keep_news()

    def news(self) -> Content | None:
        """What came since the last call, and still waits."""
        return self._packed(self._desk.news())

    def oldest(self) -> int | None:
        """The first pane after the last window that closed."""
        closed = self._desk.closed
        return int(self._windows.pane_of(np.array([max(closed, self._windows.start) + 1]))[0])

    def image_size(self, strand: Strand) -> int | None:
        """The number of pieces from which naming them costs more than an image."""
        return strand.logged + strand.imaged if strand.crowded else None

    def image(self, low: int, high: int) -> Content | None:
        """What waits, of these buckets."""
        whole = self._desk.waiting()
        if whole is None:
            return None
        bucket = column(whole, SEQUENCE) % BUCKETS
        return self._packed(whole.filter(pa.array((bucket >= low) & (bucket < high))))

    def begin(self, *, afresh: bool) -> None:
        """A new one begins with nothing; another one forgets what counted meanwhile."""
        if afresh:
            self._desk.forget_waiting()
        else:
            self._desk.drop_counted()

    def take(self, packed: bytes, buckets: BoolArray | None, *, image: bool) -> None:  # noqa: ARG002
        """Let what still waits wait again."""
        table, _ = unpack(packed)
        table = table.filter(pc.greater(table.column(COUNTS), self._desk.closed))
        if buckets is not None:
            table = table.filter(pa.array(buckets[column(table, SEQUENCE) % BUCKETS]))
        self._desk.hold(table)

    def end(self) -> None:
        """All of it waits; what came in between is in the journal."""
        self._desk.sort()

    def _packed(self, notices: pa.Table | None) -> Content | None:
        if notices is None or not notices.num_rows:
            return None
        newest = np.array([int(column(notices, COUNTS).max())])
        until = int(self._windows.pane_of(np.maximum(newest, self._windows.start + 1))[0])
        return Content(pack(notices, {}, compressed=True), until)


def notice_logs(refresher: Any, windows: Windows) -> list[Log]:
    """Of a refresher that hears of changes."""
    desk = getattr(refresher, "notices", None)
    return [] if desk is None else [NoticeLog(desk, windows)]
