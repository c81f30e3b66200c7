"""Stage 3, where shards rank together: the ranking of all shards inside Spark's state store."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812

from topwater.monitor.joint_ranking import JointRanking
from topwater.monitor.journal import Head
from topwater.monitor.stored_journal import StoredJournal, stored_size
from topwater.query import TopKQuery
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.spark.answer_metrics import window_figures
from topwater.spark.notice_stream import notices_of, settings_of
from topwater.spark.packed_rows import (
    ANSWER,
    NOTICES,
    answer_of_packed,
    packed,
    packed_figures,
)
from topwater.spark.processor import MonitorProcessor
from topwater.spark.shard_placement import PLACE
from topwater.spark.shipping import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.group import GroupedData
    from pyspark.sql.streaming.stateful_processor import TimerValues

    from topwater.model import Answer
    from topwater.monitor.protocol import Recorded


class JointProcessor(MonitorProcessor):
    """Makes answers of what all shards offer in a micro-batch, and keeps a journal as they do.

    All shards end a window in the same micro-batch, so one micro-batch holds all of it. Its state
    is told from theirs by the number of its shard, which is one more than the last.
    """

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002  one for all
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Answer the windows that a micro-batch ends; what else the shards say goes through."""
        query = TopKQuery.from_json(self._query)
        windows: dict[int, list[tuple[bytes, Answer]]] = {}
        found, notices = [], []
        for row in rows:
            told = row.asDict(recursive=True)
            if told["kind"] == ANSWER:
                # Their order must not depend on which shard was ready first.
                part = (bytes(told["offer"] or b""), answer_of_packed(told, query))
                windows.setdefault(told["window_end"], []).append(part)
            elif told["kind"] == NOTICES:
                notices.append(bytes(told["offer"]))
            else:
                del told[PLACE]
                found.append(told)
        if not windows and not notices:
            found += self._held()
        else:
            in_order = (sorted(windows[end], key=_by_offer) for end in sorted(windows))
            told_by_shards = [[answer for _, answer in each] for each in in_order]
            found += self._answered(told_by_shards, notices)
        return (Row(**row) for row in found)

    def _held(self) -> list[dict[str, Any]]:
        """How large the state is, where it stays as it is."""
        stored = self._state.get() if self._run else None
        if stored is None:
            return []
        value = bytes(stored[0])
        head = Head.unpack(StoredJournal.unpack(value, self._chunks).head)
        return [packed_figures({"held": stored_size(value, head.size)})]

    def _answered(self, windows: list[list[Answer]], notices: list[bytes]) -> list[dict[str, Any]]:
        own = self._journal(self._shards)
        for portion in notices:
            own.journal.monitor.learn_notices(*notices_of(portion))
        began = perf_counter()
        monitor = own.journal.monitor
        answers = monitor.answers(windows)
        found = [packed(answer, monitor.query) for answer in answers]
        closing = round(1_000 * (perf_counter() - began))
        if not self._bounded:
            figures = self._record(own, self._shards)
            if self._run:
                figures |= {own.how: 1, "closing_ms": closing, **window_figures(answers)}
                found.append(packed_figures(figures))
        return found

    def _monitor(self, shard: int) -> Recorded:  # noqa: ARG002  there is but one
        source = None if self._source is None else opened(self._source)
        query = TopKQuery.from_json(self._query)
        changes = settings_of(self._changes)
        return JointRanking.build(query, source=source, clock=SYSTEM_CLOCK, changes=changes)


def _by_offer(part: tuple[bytes, Answer]) -> bytes:
    return part[0]


def all_in_one(rows: DataFrame) -> GroupedData:
    """What all shards say, in one place."""
    # Not a literal: Spark would take it out of the grouping.
    return rows.withColumn(PLACE, F.col("kind").isNull().cast("int")).groupBy(PLACE)
