"""TopKMonitor: the loop. No clock, no Spark and no network of its own.

::

    ingest ──► read ──► reduce per pane ──► candidates
    close_until ──► for each window: elect, fetch, rescore, answer, expire
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import reduce
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.candidates.runs import no_hint
from topwater.errors import BatchError, QueryError, StateError, TopwaterError
from topwater.model import Answer, Counts, Freshness, Items, Millis, Row, Shard
from topwater.monitor.candidate_keys import ListedContents
from topwater.monitor.columns import Batch
from topwater.monitor.event_time import Clock, Moments
from topwater.monitor.filled_windows import Stretches
from topwater.monitor.open_windows import Contents, Found, ItemContents, KeyContents
from topwater.monitor.reduction import Portion, portion
from topwater.protocols import Source
from topwater.query import TopKQuery
from topwater.remote.wrappers.deadline import guarded
from topwater.replica import Ranking, Refresher
from topwater.scoring.ranges import RunningRanges
from topwater.tables import column, pack, unpack

__all__ = ["TopKMonitor", "TopKQuery"]

_WHOLE = Shard()
_END_OF_TIME: Millis = 2**60
"""After every window that can hold an event, and far from where integers overflow."""


class TopKMonitor:
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
        source: Source | None = None,
        on_miss: Callable[[Answer], None] | None = None,
        shard: Shard = _WHOLE,
        *,
        keep_late: bool = False,
    ) -> None:
        self.query = query
        self._on_miss = on_miss
        self._late: list[pa.Table] | None = [] if keep_late else None
        self._refresher = _refresher(query, source, shard)
        self._current: int | None = None
        self._filled = Stretches(query.window)
        self._clock = Clock(query.jump)
        self._position = 0
        self._empty = 0
        self._keys: str | None = None
        self._counts = Counts()
        self._ranges = RunningRanges()
        self._hint = no_hint()
        self._contents = _contents(query, 0, self._refresher)

    @classmethod
    def build(
        cls,
        query: TopKQuery,
        state: bytes | None = None,
        *,
        source: Source | None = None,
        on_miss: Callable[[Answer], None] | None = None,
        shard: Shard = _WHOLE,
        keep_late: bool = False,
    ) -> TopKMonitor:
        """A new monitor, or the one that wrote ``state`` with :meth:`snapshot`.

        Parameters
        ----------
        query
            What is asked.
        state
            A snapshot to go on from.
        source
            Where remote values are fetched, if the query has a remote part.
        on_miss
            Called with every answer whose estimated precision misses the accuracy asked for.
        shard
            Which part of the keys it sees, and so of the budget it gets.
        keep_late
            Keep what came too late for :meth:`take_late`.

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
        monitor = cls(query, source, on_miss, shard, keep_late=keep_late)
        if state is not None:
            monitor._restore(state)
        return monitor

    @property
    def counts(self) -> Counts:
        """What happened since the last answer, and will be told in the next one."""
        return self._counts

    def take_counts(self) -> Counts:
        """The same, to be told elsewhere."""
        found, self._counts = self._counts, Counts()
        return found

    @property
    def watermark(self) -> Millis | None:
        """How far time is known to have come, by the events alone: none older is expected."""
        if self.query.window.by == "count":
            return self._position + 1
        newest = self._clock.newest
        return None if newest is None else newest - self.query.lateness

    def ingest(self, batch: Batch) -> None:
        """Take in a batch of events.

        Raises
        ------
        BatchError
            If a column is missing or has a type that can't be used; the batch then leaves no
            trace. Bad rows raise nothing: they are counted in the next answer.
        """
        contents = self._contents
        ranges = RunningRanges(dict(self._ranges.seen))
        self.admit(
            portion(
                self.query,
                batch,
                position=self._position,
                ranges=ranges,
                floors=contents.floors if isinstance(contents, ItemContents) else None,
                hint=self._hint,
            )
        )
        self._ranges = ranges

    def admit(self, *parts: Portion) -> None:
        """Take in one batch, whose parts were reduced elsewhere."""
        self._keys = reduce(self._kind_of_keys, parts, self._keys)
        for part in parts:
            self._count(part)
        self._take_in([part.table for part in parts if part.table.num_rows])
        moments = Moments.union([part.moments for part in parts])
        panes = moments.panes[moments.events > 0]
        self._filled.note(panes[panes >= self._oldest_usable()])
        self._clock.see(moments)

    def _count(self, part: Portion) -> None:
        panes, events = part.moments.panes, part.moments.events
        self._counts += part.counts
        if part.counted:
            late = panes < self._oldest_on_time()
            self._counts += Counts(late=int(events[late].sum()))
            self._position += int(events.sum())

    def _take_in(self, tables: list[pa.Table]) -> None:
        """All at once: a list that forgets must not forget by how a batch was divided."""
        if tables:
            table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
            self._contents.add(table, self._oldest_usable())
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
        self._contents.skip(window - 1)

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

    def close_until(self, watermark: Millis) -> list[Answer]:
        """Answer every window that closes before ``watermark``."""
        until = self.query.window.last_complete(min(index(watermark), _END_OF_TIME))
        current = self._next_window()
        if current is None or until < current:
            return []
        if self._current is None:
            self._contents.skip(current - 1)
        answers: list[Answer] = []
        for filled, first, last in self._filled.between(current, until):
            answers += (self._answer if filled else self._answer_empty)(first, last)
            self._current = last + 1
        self._filled.expire(until)
        return answers

    def flush(self) -> list[Answer]:
        """The stream has ended: answer every window that holds an event."""
        if not self._filled:
            return []
        return self.close_until(self.query.window.window(self._filled.last).end + 1)

    def snapshot(self) -> bytes:
        """All that later answers depend on. A monitor built from it goes on as this one would."""
        meta = {
            "query": self.query.to_dict(),
            "current": self._current,
            "filled": self._filled.snapshot(),
            "clock": self._clock.snapshot(),
            "position": self._position,
            "empty": self._empty,
            "keys": self._keys,
            "counts": asdict(self._counts),
            "ranges": self._ranges.to_dict(),
        }
        contents = self._contents.snapshot()
        if self._refresher is None:
            return pack(contents, meta)
        parts = [pack(contents, {}), pack(*self._refresher.snapshot())]
        return pack(pa.table({"part": pa.array(parts, pa.binary())}), meta)

    def _restore(self, state: bytes) -> None:
        table, meta = unpack(state)
        require_same_query(self.query, meta)
        self._current = meta["current"]
        self._filled = Stretches(self.query.window, meta["filled"])
        self._clock.restore(meta["clock"])
        self._position = meta["position"]
        self._empty = meta["empty"]
        self._keys = meta["keys"]
        self._counts = Counts(**meta["counts"])
        self._ranges = RunningRanges.from_dict(meta["ranges"])
        if self._refresher is not None:
            contents, replica = (part.as_py() for part in table.column("part"))
            self._refresher.restore(*unpack(replica))
            table, _ = unpack(contents)
        self._contents = _contents(self.query, self._current or 0, self._refresher)
        self._contents.restore(table)

    def _kind_of_keys(self, kind: str | None, part: Portion) -> str | None:
        """Whole numbers or strings: they can't be ranked with each other."""
        if not part.moments.events.sum() or "key" not in part.table.column_names:
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
        """The oldest pane none of whose windows was answered."""
        if self._current is None:
            return 0
        return self.query.window.panes_in(self._current - 1)[1] + 1

    def _oldest_usable(self) -> int:
        if self.query.late == "use" and self._current is not None:
            return self.query.window.panes_in(self._current)[0]
        return self._oldest_on_time()

    def _answer(self, current: int, last: int) -> list[Answer]:
        self._empty = 0
        if self._refresher is not None:
            self._refresher.begin()
        found = self._contents.answers(current, last)
        return [self._made(window, each) for window, each in enumerate(found, current)]

    def _answer_empty(self, current: int, last: int) -> list[Answer]:
        """Answer empty windows, until there were too many of them in a row."""
        shown = min(last - current + 1, max(0, self.query.empty_windows - self._empty))
        answers = [
            self._made(window, Found(Items.empty(), 0))
            for window in range(current, current + shown)
        ]
        skipped = last + 1 - current - shown
        self._empty += shown
        self._counts += Counts(skipped_windows=skipped)
        self._contents.skip(last)
        return answers

    def _made(self, window: int, found: Found) -> Answer:
        counts = self._counts + found.counts
        self._counts = Counts()
        answer = Answer(
            self.query.window.window(window),
            _rows(self.query, found),
            exact=found.ranking is None or found.ranking.exact,
            candidates=found.kept,
            counts=counts,
            freshness=None if self._refresher is None else _freshness(found.ranking),
            problems=() if found.ranking is None else found.ranking.problems,
            looked_up=() if found.ranking is None else found.ranking.looked_up,
        )
        if self._on_miss is not None and answer.freshness and answer.freshness.missed:
            self._on_miss(answer)
        return answer


def require_same_query(query: TopKQuery, meta: Mapping[str, Any]) -> None:
    """Raise unless a state with this ``meta`` was written for ``query``."""
    try:
        same = TopKQuery.from_dict(meta["query"]) == query
    except (KeyError, TopwaterError):
        same = False
    if not same:
        raise StateError(
            "the state belongs to another query",
            fix="start from an empty checkpoint, or use the query that wrote this one",
        )


def _rows(query: TopKQuery, found: Found) -> tuple[Row, ...]:
    items, ranking = found.items, found.ranking
    scores = -items.score if query.score.order == "smallest" else items.score
    values = np.array(list(found.values.values())).T.tolist() or [()] * len(items)
    rows = [
        Row(rank, *cells)
        for rank, cells in enumerate(
            zip(
                items.key.tolist(),
                scores.tolist(),
                items.time.tolist(),
                map(tuple, values),
                strict=True,
            ),
            1,
        )
    ]
    if ranking is None:
        return tuple(rows)
    columns = (ranking.remote, ranking.age, ranking.confidence)
    fresh = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(
        replace(row, remote=remote, age=None if age < 0 else age, confidence=confidence)
        for row, (remote, age, confidence) in zip(rows, fresh, strict=True)
    )


def _freshness(ranking: Ranking | None) -> Freshness:
    """Of a window's ranking; an empty window has none, and nothing in it can be wrong."""
    if ranking is None:
        return Freshness(fetched=0, failed=0, bad=0, precision=1.0, ndcg=1.0, missed=False)
    return Freshness(
        fetched=len(ranking.fetched),
        failed=ranking.failed,
        bad=ranking.bad,
        precision=ranking.precision,
        ndcg=ranking.ndcg,
        missed=ranking.missed,
    )


def _refresher(query: TopKQuery, source: Source | None, shard: Shard) -> Refresher | None:
    if (query.refresh is None) != (source is None):
        raise QueryError(
            "a remote value needs a source, and a source is for a remote value",
            field="source",
            fix="pass the source to build() or run(), and name the remote value in refresh",
        )
    if query.refresh is None or source is None:
        return None
    # Whatever a user's source does, the answer must be out by the deadline.
    safe = guarded(source)
    return Refresher(query.refresh, query.score, query.window, query.k, safe, shard=shard)


def _contents(query: TopKQuery, first: int, refresher: Refresher | None) -> Contents:
    aggregation = query.aggregation
    if aggregation is None:
        return ItemContents(query, first)
    if refresher is not None and query.forgets_keys:
        return ListedContents(query, aggregation, first, refresher)
    return KeyContents(query, aggregation, refresher)
