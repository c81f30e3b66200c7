"""One ranking per group: a monitor for each, and one event time for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa

from topwater.errors import QueryError
from topwater.model import Answer, Counts, Key, Millis, Shard
from topwater.monitor.columns import Batch
from topwater.monitor.event_time import EventTime, PaneTimes
from topwater.monitor.group_book import Entry, GroupBook
from topwater.monitor.group_look_ups import GroupLookUps
from topwater.monitor.group_wallet import GroupWallet
from topwater.monitor.loop import OnMiss, TopKMonitor
from topwater.monitor.notice_settings import NoticeSettings, require_notices
from topwater.monitor.protocol import Monitor
from topwater.monitor.ranking_log import RankingLog
from topwater.monitor.reduction import PartialBatch, reduce_for_shards
from topwater.monitor.remote_knowledge import NothingHeard
from topwater.monitor.remote_part import JoinedPart, RemotePart, remote_part
from topwater.monitor.source_table import Sources
from topwater.monitor.tuned_state import tuned_state
from topwater.protocols import Clock
from topwater.query import TopKQuery
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.tables import keys_from_arrow, known_form, pack, unpack

GROUP = "#group"
"""The column of late rows that names their group; no aggregate can have this name."""

LARGE = 8_192
"""From how many bytes on a group's snapshot is not written again for every change."""

_WHOLE = Shard()
_CHANGES = 128
"""How many changes of a group that is not used are kept beside its snapshot."""

_SILENT = 64
"""The minimum number of silent groups kept; as many as there are others, if that is more."""


class GroupedMonitor(NothingHeard):
    """Answers a query for each group of the stream, as :class:`TopKMonitor` does for one.

    A group is answered for every window in which it has items, and for no other. All groups see
    the same time, so one that falls silent is answered no later than the rest. Of silent groups
    the replicas are kept, the latest 64 or as many as there are other groups; what is older is
    forgotten. What the groups of a window look up goes out together, under one deadline.

    Examples
    --------
    >>> from topwater.windows import tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), score="value", k=1,
    ...                   group_by="team")
    >>> monitor = GroupedMonitor.build(query)
    >>> monitor.ingest({"who": ["a", "b", "c"], "at": [1, 2, 12], "value": [3.0, 5.0, 4.0],
    ...                 "team": ["red", "blue", "red"]})
    >>> [(answer.window.end, answer.group, answer.keys) for answer in monitor.flush()]
    [(10, 'blue', ['b']), (10, 'red', ['a']), (20, 'red', ['c'])]
    """

    def __init__(
        self,
        query: TopKQuery,
        remote: RemotePart | JoinedPart | None = None,
        state: bytes | None = None,
        *,
        on_miss: OnMiss | None = None,
        keep_late: bool = False,
    ) -> None:
        self.query = query
        # One group's silence means nothing: only the groups in a window are answered.
        self._each = replace(query, group_by=None, empty_windows=0)
        # One for all groups: they share the source's guard, and so its thread.
        _ = query.key_column, query.group_column
        self._remote = remote
        self._look_ups: GroupLookUps | GroupWallet | None = None
        if isinstance(remote, RemotePart) and query.single is not None:
            self._look_ups = GroupLookUps(remote, query.single.budget)
        if isinstance(remote, JoinedPart) and query.joins is not None:
            self._look_ups = GroupWallet(remote, query.joins, query.window.step)
        self._on_miss = on_miss
        self._keep_late = keep_late
        self._late: list[pa.Table] = []
        self._event_time = EventTime(query.jump)
        self._current: int | None = None
        self._counts = Counts()
        self._book = GroupBook()
        self._monitors: dict[Key, TopKMonitor] = {}
        self._records: dict[Key, list[bytes]] = {}
        self._logs: dict[Key, RankingLog] = {}
        self._followed = False
        self._admitted: set[Key] = set()
        self._touched: set[Key] = set()
        if state is not None:
            self._restore(state)

    @classmethod
    def build(
        cls,
        query: TopKQuery,
        state: bytes | None = None,
        *,
        source: Sources | None = None,
        on_miss: OnMiss | None = None,
        keep_late: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> GroupedMonitor:
        """A new monitor, or the one that wrote ``state``; see :meth:`TopKMonitor.build`."""
        if query.group_by is None:
            raise QueryError("names no column", field="group_by", fix="use TopKMonitor")
        remote = remote_part(query, source, clock)
        return cls(query, remote, state, on_miss=on_miss, keep_late=keep_late)

    @property
    def watermark(self) -> Millis | None:
        """How far time is known to have come, by the events alone: none older is expected."""
        newest = self._event_time.newest
        return None if newest is None else newest - self.query.lateness

    def start(self) -> None:
        """Look whether the remote side can be reached; see :meth:`Guarded.start`."""
        if self._remote is not None:
            self._remote.start()

    def close(self) -> None:
        """Give back what the source holds."""
        if self._remote is not None:
            self._remote.close()

    def ingest(self, batch: Batch) -> None:
        """Take in a batch of events; see :meth:`TopKMonitor.ingest`."""
        self.admit(*(part for _, part in reduce_for_shards(self.query, batch)))

    def admit(self, *parts: PartialBatch) -> None:
        """Take in one batch, whose parts were reduced elsewhere."""
        by_group: dict[Key, list[PartialBatch]] = {}
        for part in parts:
            if part.group is None:
                self._counts += part.counts
            else:
                by_group.setdefault(part.group, []).append(part)
        # Known groups first: if the keys have changed their type, they say so at once.
        for group in sorted(by_group, key=lambda group: group not in self._book):
            monitor = self._monitor(group)
            monitor.admit(*by_group[group])
            self._note(group)
            self._admitted.add(group)
            if (late := monitor.take_late()) is not None:
                groups = pa.array([group] * late.num_rows)
                self._late.append(late.append_column(GROUP, groups))
        self._event_time.see(PaneTimes.union([part.times for part in parts if part.group is None]))

    def take_late(self) -> pa.Table | None:
        """What came too late since the last call, with its group; None if nothing did."""
        late, self._late = self._late, []
        return pa.concat_tables(late) if late else None

    def next_close(self) -> Millis | None:
        """The watermark at which the next window can be answered; None if there is none."""
        window = self._book.next_window
        return None if window is None else self.query.window.window(window).end + 1

    def close_until(self, watermark: Millis) -> list[Answer]:
        """Answer every window that closes before ``watermark``, for every group in it."""
        until = self.query.window.last_complete(watermark)
        if until >= 0:  # before the end of the first window, nothing can be late
            self._current = max(until + 1, self._current or 0)
        return self._answers_until(watermark)

    def flush(self) -> list[Answer]:
        """The stream has ended: answer every window that holds an event."""
        return self._answers_until(None)

    def snapshot(self) -> bytes:
        """All that later answers depend on."""
        groups = self._book.groups
        kind = pa.int64() if groups and isinstance(groups[0], int) else pa.string()
        states = [self.packed_group(group) for group in groups]
        table = pa.table({"group": pa.array(groups, kind), "state": pa.array(states, pa.binary())})
        return pack(table, {"query": self.query.to_dict(), "facts": self.facts()})

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        return {
            "clock": self._event_time.snapshot(),
            "current": self._current,
            "counts": asdict(self._counts),
            "look_ups": None if self._look_ups is None else self._look_ups.facts(),
        }

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self._event_time.restore(facts["clock"])
        self._current = facts["current"]
        self._counts = Counts(**facts["counts"])
        told = facts["look_ups"]
        if self._look_ups is not None:
            self._look_ups.restore_facts(told)

    def _restore(self, state: bytes) -> None:
        table, meta = unpack(tuned_state(state, self.query))
        with known_form("the snapshot"):
            self.restore_facts(meta["facts"])
            groups = keys_from_arrow(table.column("group")).tolist()
            states = table.column("state").to_pylist()
        for group, packed in zip(groups, states, strict=True):
            self._monitors[group] = self._build_ranking(packed)
            self._note(group)

    @property
    def book(self) -> GroupBook:
        """What is known of each group."""
        return self._book

    def take_touched(self) -> list[Key]:
        """The groups that may have changed since the last call, in order; some may be gone."""
        touched, self._touched = sorted(self._touched), set()
        return touched

    def follow(self) -> None:
        """From now on follow what changes in large groups, for :meth:`news_of`."""
        self._followed = True

    def news_of(self, group: Key) -> tuple[bytes | None, bytes | None]:
        """A group's snapshot, or what changed since the last call if that was followed."""
        log = self._logs.get(group)
        if log is not None:
            return None, log.news()
        packed = self.packed_group(group)
        self._follow(group, len(packed))
        return packed, None

    def packed_group(self, group: Key) -> bytes:
        """The snapshot of one group's monitor."""
        monitor = self._monitors.get(group)
        if monitor is not None:
            return monitor.snapshot()
        if len(self._records[group]) > 1:
            self._records[group] = [self._rebuilt(group)[0].snapshot()]
        return self._records[group][0]

    def put_group(self, group: Key, packed: bytes, entry: Entry) -> None:
        """Remember a group as it was written; a monitor is built from that when it is needed."""
        self.drop_group(group)
        self._records[group] = [packed]
        self._book.note(group, entry)

    def change_group(self, group: Key, change: bytes, entry: Entry) -> None:
        """Let a group that is remembered change as was written."""
        monitor = self._monitors.get(group)
        if monitor is None:
            self._records[group].append(change)
            if len(self._records[group]) > _CHANGES:
                self.packed_group(group)
        else:
            self._log_of(group, monitor).take(change)
        self._book.note(group, entry)

    def drop_group(self, group: Key) -> None:
        """Remember nothing of a group."""
        for kept in (self._monitors, self._records, self._logs):
            kept.pop(group, None)
        self._book.drop(group)

    def put_away(self, most: int) -> None:
        """Keep no more monitors than that: of those not used for longest, the snapshots."""
        for group in [*self._monitors][: max(0, len(self._monitors) - most)]:
            self._records[group] = [self._monitors.pop(group).snapshot()]
            self._logs.pop(group, None)

    def _log_of(self, group: Key, monitor: TopKMonitor) -> RankingLog:
        if group not in self._logs:
            self._logs[group] = RankingLog(monitor)
        return self._logs[group]

    def _follow(self, group: Key, size: int) -> None:
        """Follow a group's changes from now on, if it is large enough for this to pay."""
        if self._followed and size >= LARGE:
            self._log_of(group, self._monitors[group])

    def _rebuilt(self, group: Key) -> tuple[TopKMonitor, RankingLog | None]:
        """A monitor from what was written of a group, and the log that its changes needed."""
        snapshot, *changes = self._records[group]
        monitor = self._build_ranking(snapshot)
        log = RankingLog(monitor) if changes else None
        for change in changes:
            assert log is not None  # noqa: S101  for the type checker
            log.take(change)
        return monitor, log

    def _woken(self, group: Key) -> TopKMonitor:
        """The monitor of a group that has none: from what was written of it, or new."""
        if group not in self._records:
            return self._build_ranking()
        monitor, log = self._rebuilt(group)
        if log is not None:
            self._logs[group] = log
        self._monitors[group] = monitor
        self._follow(group, sum(map(len, self._records.pop(group))))
        return monitor

    def _monitor(self, group: Key) -> TopKMonitor:
        """That of a group, to be used; those used last stand last."""
        monitor = self._monitors.pop(group, None)
        if monitor is None:
            monitor = self._woken(group)
        self._monitors[group] = monitor
        self._touched.add(group)
        if self._current is not None and monitor.idle:
            # Nothing was answered while it was silent, so nobody has told it how late it is.
            monitor.skip_to(max(self._current, monitor.current or 0))
        return monitor

    def _note(self, group: Key) -> None:
        monitor = self._monitors[group]
        entry = Entry(monitor.next_filled(), monitor.watermark or 0, monitor.replica_size)
        self._book.note(group, entry)

    def _build_ranking(self, state: bytes | None = None) -> TopKMonitor:
        return TopKMonitor(
            self._each, self._remote, state, on_miss=self._on_miss, keep_late=self._keep_late
        )

    def _answers_until(self, watermark: Millis | None) -> list[Answer]:
        """Of all groups that are due, by their windows' ends; None for the end of the stream."""
        until = None if watermark is None else self.query.window.last_complete(watermark)
        answers = self._answers_together(until)
        due = {group for _, group in self._book.due(until)}
        for group in sorted(due | self._admitted):
            monitor = self._monitor(group)
            closed = monitor.flush() if watermark is None else monitor.close_until(watermark)
            answers += [_of_group(answer, group) for answer in closed]
            if monitor.idle:
                self._counts += replace(monitor.take_counts(), skipped_windows=0)
            self._note(group)
        self._admitted.clear()
        self._forget()
        self._forget_surplus()
        answers.sort(key=lambda answer: (answer.window.end, answer.group))
        if answers:
            answers[0] = replace(answers[0], counts=answers[0].counts + self._counts)
            self._counts = Counts()
        return answers

    def _answers_together(self, until: int | None) -> list[Answer]:
        """Where something is looked up: window by window, for all groups of a window at once."""
        answers: list[Answer] = []
        if self._look_ups is None:
            return answers
        while (window := self._book.next_window) is not None and (until is None or window <= until):
            groups = [group for _, group in self._book.due(window)]
            close, most = self.query.window.window(window).end + 1, self._look_ups.begin()
            closing = [self._monitor(group).closing(close, most) for group in groups]
            for group, closed in zip(groups, self._look_ups.run(window, closing), strict=True):
                answers += [_of_group(answer, group) for answer in closed]
                self._admitted.add(group)
                self._note(group)
        return answers

    def _forget(self) -> None:
        """Groups without an open window: their replicas are worth keeping, but not all for ever."""
        kept = 0
        if self.query.refresh is not None:
            kept = max(_SILENT, len(self._book) - self._book.silent)
        for group in self._book.longest_silent(max(0, self._book.silent - kept)):
            if self.query.refresh is not None:
                self._counts += Counts(forgotten=self._monitor(group).forget_beyond(0))
            self.drop_group(group)
            self._touched.add(group)

    def _forget_surplus(self) -> None:
        """All replicas together have the memory of one: the largest have to give way."""
        memory = None if self.query.refresh is None else self.query.refresh.memory
        if memory is None or self._book.size <= memory:
            return
        sizes = self._book.sizes()
        most = fair_limit([*sizes.values()], memory)
        for group in sorted(group for group, size in sizes.items() if size > most):
            self._counts += Counts(forgotten=self._monitor(group).forget_beyond(most))
            self._note(group)


def fair_limit(sizes: list[int], total: int) -> int:
    """The limit for each under which all of them together keep to ``total``.

    Examples
    --------
    >>> fair_limit([10, 50, 90], 100)
    45
    """
    ascending, left = sorted(sizes), total
    for done, size in enumerate(ascending):
        share = left // (len(ascending) - done)
        if size > share:
            return share
        left -= size
    return max(ascending, default=0)


def _of_group(answer: Answer, group: Key) -> Answer:
    return replace(answer, group=group, counts=replace(answer.counts, skipped_windows=0))


def build_monitor(
    query: TopKQuery,
    state: bytes | None = None,
    *,
    source: Sources | None = None,
    on_miss: OnMiss | None = None,
    shard: Shard = _WHOLE,
    keep_late: bool = False,
    clock: Clock = SYSTEM_CLOCK,
    changes: NoticeSettings | None = None,
) -> Monitor:
    """The monitor that a query needs: of one ranking, or of one per group.

    A group has one shard to itself, and with it the whole budget.
    """
    # A source's quota is for all shards together, whatever groups they have.
    whole = query.group_by is not None and query.joins is None
    remote = remote_part(query, source, clock, _WHOLE if whole else shard)
    return ranking_monitor(
        query, remote, state, on_miss=on_miss, keep_late=keep_late, changes=changes
    )


def ranking_monitor(
    query: TopKQuery,
    remote: RemotePart | JoinedPart | None,
    state: bytes | None = None,
    *,
    on_miss: OnMiss | None = None,
    keep_late: bool = False,
    changes: NoticeSettings | None = None,
) -> TopKMonitor | GroupedMonitor:
    """The same for those who have the remote part already."""
    if changes is not None:
        require_notices(query, changes)
    if query.group_by is not None:
        return GroupedMonitor(query, remote, state, on_miss=on_miss, keep_late=keep_late)
    return TopKMonitor(query, remote, state, on_miss=on_miss, keep_late=keep_late, changes=changes)
