"""TopKMonitor: the loop. No clock, no Spark and no network of its own.

::

    ingest ──► read ──► reduce per pane ──► candidates
    close_until ──► for each window: elect, fetch, rescore, answer, expire
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import reduce
from operator import index
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from topwater.candidates.runs import no_hint
from topwater.errors import BatchError, QueryError
from topwater.model import Answer, Counts, Items, Millis, Shard
from topwater.monitor.candidate_keys import open_windows
from topwater.monitor.columns import Batch
from topwater.monitor.event_time import EventTime, PaneTimes
from topwater.monitor.filled_windows import FilledWindows
from topwater.monitor.notice_settings import NoticeSettings
from topwater.monitor.open_windows import WindowItems, WindowKeys, WindowResult
from topwater.monitor.ranking_state import RankingState
from topwater.monitor.reduction import PartialBatch, reduce_batch
from topwater.monitor.remote_knowledge import RemoteKnowledge
from topwater.monitor.remote_part import JoinedPart, RemoteElsewhere, RemotePart, remote_part
from topwater.monitor.settings_notes import SettingsNotes
from topwater.monitor.source_table import Sources
from topwater.monitor.tuned_state import tuned_state
from topwater.monitor.window_answer import make_answer
from topwater.protocols import Clock
from topwater.query import TopKQuery
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.replica.look_ups import LookingUp, alone
from topwater.scoring.ranges import RunningRanges
from topwater.tables import column, known_form
from topwater.validation import checked_call

__all__ = ["TopKMonitor", "TopKQuery"]

OnMiss = Callable[[Answer], None]
_WHOLE = Shard()
_END_OF_TIME: Millis = 2**60
"""After every window that can hold an event, and far from where integers overflow."""


class TopKMonitor(RemoteKnowledge):
    """Answers one query, window by window, from batches of events.

    The first window answered is the first one that holds an event; from there on every window
    is answered, also the empty ones. Time moves only by :meth:`close_until`.

    Examples
    --------
    >>> from topwater.windows import sliding
    >>> query = TopKQuery(key="who", time="at", window=sliding(4, 2), score="value", k=1)
    >>> monitor = TopKMonitor.build(query)
    >>> monitor.ingest({"who": ["a", "b", "c"], "at": [1, 4, 5], "value": [7.0, 5.0, 1.0]})
    >>> [(answer.window.end, answer.keys) for answer in monitor.close_until(7)]
    [(4, ['a']), (6, ['b'])]
    """

    def __init__(
        self,
        query: TopKQuery,
        remote: RemotePart | JoinedPart | RemoteElsewhere | None = None,
        state: bytes | None = None,
        *,
        on_miss: OnMiss | None = None,
        keep_late: bool = False,
        changes: NoticeSettings | None = None,
    ) -> None:
        super().__init__(query, remote, changes)
        _ = query.key_column
        self._on_miss = on_miss
        self._late: list[pa.Table] | None = [] if keep_late else None
        self._current: int | None = None
        self._filled = FilledWindows(query.window)
        self._event_time = EventTime(query.jump)
        self._position = 0
        self._empty = 0
        self._keys: str | None = None
        self._notes = SettingsNotes(query.window)
        self._counts = Counts()
        self._ranges = RunningRanges()
        self._hint = no_hint()
        self._open = open_windows(query, 0, self._refresher)
        self._admitted: list[pa.Table] | None = None
        if state is not None:
            self._restore(state)

    @classmethod
    @checked_call()
    def build(
        cls,
        query: TopKQuery,
        state: bytes | None = None,
        *,
        source: Sources | None = None,
        on_miss: OnMiss | None = None,
        shard: Shard = _WHOLE,
        keep_late: bool = False,
        clock: Clock = SYSTEM_CLOCK,
        changes: NoticeSettings | None = None,
    ) -> TopKMonitor:
        """A new monitor, or the one that wrote ``state`` with :meth:`snapshot`.

        Parameters
        ----------
        query
            What is asked.
        state
            A snapshot to go on from; see :mod:`topwater.query.identity` for what may have changed.
        source
            Where remote values are fetched, if the query has a remote part; several by name.
        on_miss
            Called with every answer whose estimated precision misses the accuracy asked for.
        shard
            Which part of the keys it sees, and so of the budget it gets.
        keep_late
            Keep what came too late for :meth:`take_late`.
        clock
            By which deadlines count.
        changes
            How notices of changes are written, if there will be some; see :meth:`learn`.

        Raises
        ------
        StateError
            If the state is damaged, of another version, or of another query.
        """
        if query.group_by is not None:
            raise QueryError(
                "one monitor has one ranking",
                field="group_by",
                fix="use topwater.monitor.grouped.GroupedMonitor, or run()",
            )
        remote = remote_part(query, source, clock, shard)
        return cls(query, remote, state, on_miss=on_miss, keep_late=keep_late, changes=changes)

    @property
    def counts(self) -> Counts:
        """What happened since the last answer, and will be in the next one."""
        return self._counts

    def take_counts(self) -> Counts:
        """The same, to be reported elsewhere."""
        counts, self._counts = self._counts, Counts()
        return counts

    @property
    def watermark(self) -> Millis | None:
        """How far time is known to have come, by the events alone: none older is expected."""
        if self.query.window.by == "count":
            return self._position + 1
        newest = self._event_time.newest
        return None if newest is None else newest - self.query.lateness

    def ingest(self, batch: Batch) -> None:
        """Take in a batch of events.

        Raises
        ------
        BatchError
            If a column is missing or has a type that can't be used; the batch then leaves no
            trace. Bad rows raise nothing: they are counted in the next answer.
        """
        windows = self._open
        ranges = RunningRanges(dict(self._ranges.seen))
        self.admit(
            reduce_batch(
                self.query,
                batch,
                position=self._position,
                ranges=ranges,
                floors=windows.floors if isinstance(windows, WindowItems) else None,
                hint=self._hint,
            )
        )
        self._ranges = ranges

    def admit(self, *parts: PartialBatch) -> None:
        """Take in one batch, whose parts were reduced elsewhere."""
        self._keys = reduce(self._kind_of_keys, parts, self._keys)
        for part in parts:
            self._count(part)
        self._take_in([part.table for part in parts if part.table.num_rows])
        times = PaneTimes.union([part.times for part in parts])
        panes = times.panes[times.events > 0]
        self._filled.note(panes[panes >= self._oldest_usable()])
        self._event_time.see(times)

    def _count(self, part: PartialBatch) -> None:
        panes, events = part.times.panes, part.times.events
        self._counts += part.counts
        if part.counted:
            late = panes < self._oldest_on_time()
            self._counts += Counts(late=int(events[late].sum()))
            self._position += int(events.sum())

    def _take_in(self, tables: list[pa.Table]) -> None:
        """All at once: a list that forgets must not forget by how a batch was divided."""
        if tables:
            # Tasks may differ in what they took for text: one may have seen no value at all.
            several = len(tables) > 1
            table = pa.concat_tables(tables, promote_options="default") if several else tables[0]
            oldest = self._oldest_usable()
            self._open.add(table, oldest)
            if self._admitted is not None:
                self._admitted.append(table.filter(pc.field("pane") >= oldest))
            self._set_late_aside(table)

    def take_late(self) -> pa.Table | None:
        """What came too late since the last call, reduced; None if nothing did."""
        if not self._late:
            return None
        found = pa.concat_tables(self._late)
        self._late = []
        return found

    def _set_late_aside(self, table: pa.Table) -> None:
        if self._late is None:
            return
        pane = self.query.window.pane_of(column(table, "time"))
        late = table.filter(pa.array(pane < self._oldest_on_time()))
        if late.num_rows:
            self._late.append(late)

    def skip_to(self, window: int) -> None:
        """Begin with this window: all before it were answered elsewhere."""
        self._current = window
        self._open.skip(window - 1)

    @property
    def current(self) -> int | None:
        """The window to be answered next; None before the first answer."""
        return self._current

    @property
    def idle(self) -> bool:
        """Whether no window that is still to be answered holds anything."""
        return not self._filled

    def next_close(self) -> Millis | None:
        """The watermark at which the next window can be answered; None before the first event.

        One more than the window's end: an event at the end itself still belongs to it.
        """
        current = self._next_window()
        return None if current is None else self.query.window.window(current).end + 1

    def next_filled(self) -> int | None:
        """The number of the next window that holds something."""
        return self._filled.first_from(self._current)

    def close_until(self, watermark: Millis) -> list[Answer]:
        """Answer every window that closes before ``watermark``."""
        return alone(self.closing(watermark))

    def closing(self, watermark: Millis, most: int | None = None) -> LookingUp[list[Answer]]:
        """The same, for a caller that looks up what several rankings want.

        ``most`` is for rankings that share a deadline: so many keys could be looked up by then.
        """
        until = self.query.window.last_complete(min(index(watermark), _END_OF_TIME))
        current = self._next_window()
        if current is None or until < current:
            return []
        if self._current is None:
            self._open.skip(current - 1)
        answers: list[Answer] = []
        for filled, first, last in self._filled.between(current, until):
            if filled:
                answers += yield from self._answer_filled(first, last, most)
            else:
                answers += self._answer_empty(first, last)
            self._current = last + 1
        self._filled.expire(until)
        return answers

    def flush(self) -> list[Answer]:
        """The stream has ended: answer every window that holds an event."""
        last = self._filled.last if self._filled else None
        return [] if last is None else self.close_until(self.query.window.window(last).end + 1)

    def snapshot(self) -> bytes:
        """All that later answers depend on. A monitor built from it goes on as this one would."""
        replica = None if self._refresher is None else self._refresher.snapshot()[0]
        facts = self.with_waiting(self.facts())
        return RankingState(facts, self._open.snapshot(), replica).pack(self.query)

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        found = {
            "current": self._current,
            "filled": self._filled.snapshot(),
            "clock": self._event_time.snapshot(),
            "position": self._position,
            "empty": self._empty,
            "keys": self._keys,
            **self._notes.facts(),
            "counts": asdict(self._counts),
            "ranges": self._ranges.to_dict(),
        }
        if self._refresher is not None:
            found["remote"] = self._refresher.facts()
        return found

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self._current = facts["current"]
        self._filled = FilledWindows(self.query.window, facts["filled"])
        self._event_time.restore(facts["clock"])
        self._position = facts["position"]
        self._empty = facts["empty"]
        self._keys = facts["keys"]
        self._notes.restore_facts(facts)
        self._counts = Counts(**facts["counts"])
        self._ranges = RunningRanges.from_dict(facts["ranges"])
        if self._refresher is not None:
            self._refresher.restore_facts(facts["remote"])

    @property
    def pane_rows(self) -> int | None:
        """How many partial aggregates the open windows hold; None if they hold something else."""
        return len(self._open) if isinstance(self._open, WindowKeys) else None

    def keep_admitted(self) -> None:
        """From now on keep what is admitted for :meth:`take_admitted`."""
        self._admitted = []

    def take_admitted(self) -> pa.Table | None:
        """The partial aggregates admitted since the last call; None if there are none."""
        found = [table for table in self._admitted or [] if table.num_rows]
        self._admitted = []
        return pa.concat_tables(found) if found else None

    def held(self) -> pa.Table:
        """What the open windows hold."""
        return self._open.snapshot()

    def hold(self, table: pa.Table, oldest: int) -> None:
        """Take in again what was admitted before, without panes before ``oldest``."""
        self._open.add(table, oldest)

    def hold_afresh(self, table: pa.Table | None = None) -> None:
        """Let the open windows hold what :meth:`held` gave, if anything, and nothing else."""
        self._open = open_windows(self.query, self._current or 0, self._refresher)
        if table is not None:
            self._open.restore(table)

    def _restore(self, state: bytes) -> None:
        with known_form("the snapshot"):
            kept = RankingState.unpack(tuned_state(state, self.query))
            if self._refresher is not None and kept.replica is not None:
                self._refresher.restore(kept.replica, kept.facts["remote"])
            self.restore_facts(kept.facts)
            self.hold_afresh(kept.held)

    def _kind_of_keys(self, kind: str | None, part: PartialBatch) -> str | None:
        """Whole numbers or strings: they can't be ranked with each other."""
        if not part.times.events.sum() or "key" not in part.table.column_names:
            return kind
        found = "integers" if pa.types.is_integer(part.table.field("key").type) else "strings"
        if kind not in (None, found):
            raise BatchError(
                f"the key column {self.query.key!r} holds {found}, and held {kind} before",
                fix="cast it to one type for the whole stream",
            )
        return found

    def _next_window(self) -> int | None:
        if self._current is not None or not self._filled:
            return self._current
        return self._filled.first

    def _oldest_on_time(self) -> int:
        """The oldest pane of which no window has been answered."""
        if self._current is None:
            return 0
        return self.query.window.panes_in(self._current - 1)[1] + 1

    def _oldest_usable(self) -> int:
        if self.query.late == "use" and self._current is not None:
            return self.query.window.panes_in(self._current)[0]
        return self._oldest_on_time()

    def _answer_filled(self, current: int, last: int, most: int | None) -> LookingUp[list[Answer]]:
        self._empty = 0
        if self._refresher is not None:
            self._refresher.begin(most)
        results = yield from self._open.answers(current, last)
        return [self._answer_with(window, each) for window, each in enumerate(results, current)]

    def _answer_empty(self, current: int, last: int) -> list[Answer]:
        """Answer empty windows, until there were too many of them in a row."""
        shown = min(last - current + 1, max(0, self.query.empty_windows - self._empty))
        answers = [
            self._answer_with(window, WindowResult(Items.empty(), 0))
            for window in range(current, current + shown)
        ]
        skipped = last + 1 - current - shown
        self._empty += shown
        self._counts += Counts(skipped_windows=skipped)
        self._open.skip(last)
        return answers

    def _answer_with(self, window: int, result: WindowResult) -> Answer:
        answer = self._notes.added_to(make_answer(self.query, window, result, self.take_counts()))
        if self._remote is not None:
            self._remote.hear(answer)
        if self._on_miss is not None and answer.freshness and answer.freshness.missed:
            self._on_miss(answer)
        return answer
