"""The monitors of all shards of a query: what each is built as, and all of them in one process."""

from __future__ import annotations

from collections.abc import Mapping

from topwater.errors import QueryError
from topwater.model import Answer, Millis, Shard
from topwater.monitor.columns import Batch
from topwater.monitor.grouped import build_monitor
from topwater.monitor.joint_ranking import JointRanking, has_joint_ranking
from topwater.monitor.loop import TopKMonitor
from topwater.monitor.notice_settings import NoticeSettings
from topwater.monitor.protocol import Monitor
from topwater.monitor.reduction import reduce_for_shards
from topwater.monitor.remote_part import RemoteElsewhere
from topwater.monitor.shards import divided_among, merge_for, require_buckets
from topwater.monitor.source_table import Sources
from topwater.protocols import Clock
from topwater.query import TopKQuery
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.validation import whole_of


def shard_monitor(
    query: TopKQuery,
    state: bytes | None = None,
    *,
    shard: Shard,
    source: Sources | None = None,
    keep_late: bool = False,
    clock: Clock = SYSTEM_CLOCK,
    changes: NoticeSettings | None = None,
) -> Monitor:
    """The monitor of one shard, which looks nothing up itself where shards rank together."""
    if has_joint_ranking(query, shard.of):
        return TopKMonitor(query, RemoteElsewhere(shard), state, keep_late=keep_late)
    return build_monitor(
        query,
        state,
        source=source,
        shard=shard,
        keep_late=keep_late,
        clock=clock,
        changes=changes,
    )


class ShardedMonitor:
    """All shards of a query in this process: the answers that Spark gives with as many.

    For tests and experiments: in one process, one shard is faster. Windows are of time, and there
    are no running ranges, as on Spark.

    Parameters
    ----------
    query, shards
        What is asked, and how many shards share the keys, where these are divided.
    states
        What :meth:`snapshots` gave.
    source
        Where remote values are fetched, if the query has a remote part.
    clock
        By which deadlines count.
    joint
        Whether shards may rank together; if not, each gets its part of the budget.

    Examples
    --------
    >>> from topwater import tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), take={"n": "count"},
    ...                   score="n", k=2)
    >>> monitor = ShardedMonitor(query, 4)
    >>> monitor.ingest({"who": [5, 7, 5, 9], "at": [1, 2, 3, 14]})
    >>> [(answer.window.end, answer.keys) for answer in monitor.flush()]
    [(10, [5, 7]), (20, [9])]
    """

    def __init__(
        self,
        query: TopKQuery,
        shards: int,
        states: Mapping[int, bytes] | None = None,
        *,
        source: Sources | None = None,
        clock: Clock = SYSTEM_CLOCK,
        joint: bool = True,
    ) -> None:
        require_buckets(whole_of(shards, "shards", 1, fix="leave it out, or use one or more"))
        if query.group_by is not None:
            raise QueryError(
                "a group is in one shard, and has its own ranking",
                field="group_by",
                fix="use topwater.run()",
            )
        self.query, self.shards = query, (shards := divided_among(query, shards))
        before: Mapping[int, bytes] = states or {}
        self._ranking: JointRanking | None = None
        if joint and has_joint_ranking(query, shards):
            self._ranking = JointRanking.build(
                query, before.get(shards), source=source, clock=clock
            )
        build = build_monitor if self._ranking is None else shard_monitor
        self._monitors = [
            build(query, before.get(each), source=source, shard=Shard(each, shards), clock=clock)
            for each in range(shards)
        ]

    @property
    def watermark(self) -> Millis | None:
        """How far time is known to have come: the same in all shards."""
        return self._monitors[0].watermark

    def ingest(self, batch: Batch) -> None:
        """Take in a batch of events."""
        parts = reduce_for_shards(self.query, batch, self.shards)
        for monitor, (_, part) in zip(self._monitors, parts, strict=True):
            monitor.admit(part)

    def close_until(self, watermark: Millis) -> list[Answer]:
        """Answer every window that closes before ``watermark``."""
        return self._merged([each.close_until(watermark) for each in self._monitors])

    def flush(self) -> list[Answer]:
        """The stream has ended: answer every window that holds an event."""
        return self._merged([each.flush() for each in self._monitors])

    def snapshots(self) -> dict[int, bytes]:
        """By shard, all that later answers depend on; after the last, the ranking of all."""
        found = {at: monitor.snapshot() for at, monitor in enumerate(self._monitors)}
        if self._ranking is not None:
            found[self.shards] = self._ranking.snapshot()
        return found

    def _merged(self, closed: list[list[Answer]]) -> list[Answer]:
        windows = list(zip(*closed, strict=True))
        if self._ranking is not None:
            return self._ranking.answers(windows)
        return [merge_for(self.query, each) for each in windows]
