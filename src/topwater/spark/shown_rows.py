"""What a running query shows: the newest windows of each micro-batch, observed where it is written.

::

    answers ─► observed ─► the sink        the rows never pass through the driver,
                  └─ the newest rows ─► progress ─► listener ─► terminal, page
                                           but for these, with the figures of the micro-batch

They are told when the micro-batch is done, so what is shown was written.
"""

from __future__ import annotations

import contextlib
import queue
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.listener import StreamingQueryListener

from topwater.spark.metrics import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )

SHOWN = "topwater_shown"
"""The name of what Spark is to observe."""
MOST_ROWS = 1_000
"""Rows of a micro-batch that are shown at most."""
_PATIENCE = 10.0  # seconds, for the last events of a query that ended


class Told(NamedTuple):
    """What a micro-batch did, and windows that it closed; the newest, if ``cut``."""

    rows: list[dict[str, Any]]
    progress: Progress | None = None
    cut: bool = False


def observed(answers: DataFrame, groups: Sequence[str] = ()) -> DataFrame:
    """Answers of which Spark is to tell the newest rows.

    Parameters
    ----------
    answers
        Rows with ``window_end``.
    groups
        The columns of the groups, if there are any.
    """
    names = [name for name in ("window_end", *groups) if name in answers.columns]
    place: list[Column] = [F.col(f"`{name}`") for name in names]
    if "rank" in answers.columns:
        place.append(-F.coalesce("rank", F.lit(0)))
    where = F.struct(*place)
    if "kind" in answers.columns:
        where = F.when(F.col("kind") != "late", where)
    row = F.struct(*(F.col(f"`{name}`") for name in answers.columns))
    return answers.observe(SHOWN, F.max_by(row, where, MOST_ROWS).alias("rows"))


class AnswerFeed(StreamingQueryListener):
    """Follows one query of a session; a context manager.

    Parameters
    ----------
    spark
        The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.run = ""
        self._spark = spark
        self._told: queue.SimpleQueue[tuple[str, Told | None]] = queue.SimpleQueue()

    def __enter__(self) -> AnswerFeed:
        self._spark.streams.addListener(self)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # Java may be gone
            self._spark.streams.removeListener(self)

    def show(self, rows: list[dict[str, Any]]) -> None:
        """Tell of windows whose rows came another way."""
        self._told.put(("", Told(rows)))

    @property
    def waiting(self) -> int:
        """About how much was not fetched yet."""
        return self._told.qsize()

    def next(self, patience: float) -> Told | None:
        """What is told next; None if there is nothing for some seconds, or only of its end."""
        try:
            run, told = self._told.get(timeout=patience)
        except queue.Empty:
            return None
        return told if run in ("", self.run) else None

    def rest(self) -> Iterator[Told]:
        """All that is left of a query that ended."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                run, told = self._told.get(timeout=0.1)
            except queue.Empty:
                continue
            if run in ("", self.run):
                if told is None:
                    return
                yield told

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802, D102
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Take in what a micro-batch did."""
        run = str(event.progress.runId)
        if self.run in ("", run) and (told := told_of(event.progress)) is not None:
            self._told.put((run, told))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802, D102
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Take in that it ended."""
        self._told.put((str(event.runId), None))


def told_of(progress: StreamingQueryProgress) -> Told | None:
    """What Spark reports of a micro-batch; None if it did nothing, or is not ours."""
    found = Progress.of(progress)
    if found is None:
        return None
    seen = progress.observedMetrics.get(SHOWN)
    rows = [] if seen is None else [each.asDict(recursive=True) for each in seen["rows"] or ()]
    cut = len(rows) == MOST_ROWS
    return Told(_whole(rows) if cut else rows, found, cut)


def _whole(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the last window, of which some rows may be missing; unless it is the only one."""
    last = rows[-1]["window_end"]
    return [row for row in rows if row["window_end"] != last] or rows
