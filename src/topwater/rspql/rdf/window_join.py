"""Windows that are made whole before they are ranked.

Several WINDOW blocks that share variables: what one window holds of each is joined as it closes. A
block may read a narrower one, which closes at the same time.
And single solutions that more than a score ranks: of each window those go on that are the best.

A pair of solutions is in the windows that both are in. The monitor knows one time of an item, so
it does not see the windows of the query: it sees windows of the same width that lie end to end,
one for each, and what is joined in window *n* comes at the place in window *n* of the other row
where its later part was.

::

    the query's   (────────]          width 9, step 3
    windows          (────────]
                        (────────]

    the monitor's (────────](────────](────────]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rdflib.term import URIRef

from topwater.model import Answer, BoolArray, Frozen, IntArray, Millis, Row
from topwater.monitor.event_time import EventTime
from topwater.rspql.plan.compilation import windows_of
from topwater.rspql.plan.plan import TIME, EventPattern, Plan
from topwater.rspql.rdf.event_format import Columns, Documents
from topwater.rspql.rdf.heard_events import Block, Heard, heard, solutions_in
from topwater.rspql.rdf.pattern_match import Matcher, joined, kept
from topwater.rspql.rdf.solutions import Bindings
from topwater.rspql.rdf.static_data import StaticData
from topwater.rspql.rdf.window_best import WindowBest

_HOUR: Millis = 3_600_000
_PARTS = 16
"""So many tables are held before what is in no answer is taken out of all of them together."""


class WindowJoin:
    """Holds what the blocks found in the windows that are open, and joins it window by window.

    Parameters
    ----------
    plan
        One whose windows are made whole: :attr:`~topwater.rspql.plan.plan.Plan.by_window`.
    data
        What is in files that the patterns read.
    """

    def __init__(self, plan: Plan, data: StaticData | None = None) -> None:
        self._plan = plan
        self._data = data
        self._windows = windows_of(plan.windows[0])
        self._widths = {each.name: each.width for each in plan.windows}
        self._matcher = Matcher(Documents(), plan.patterns, plan.keys, plan.numbers, plan.texts)
        self._best = WindowBest(plan, self._matcher) if plan.then and plan.take == "each" else None
        # What is joined may be wanted, however many others are better.
        self._prunes = self._best is not None and not plan.joins_windows
        self._held: dict[Block, list[pa.Table]] = {}
        self._clock = EventTime(max(_HOUR, self._windows.width))
        self._next: int | None = None

    def add(
        self,
        stream: URIRef,
        reading: Documents | Columns,
        events: pa.Table,
        scope: str = "",
        first: int = 0,
    ) -> Iterator[pa.Table]:
        """Take in events of a stream; rows for what is amiss with them.

        Parameters
        ----------
        stream, reading
            Whose events they are, and how they are written.
        events
            A row for each.
        scope, first
            As for :meth:`~topwater.rspql.rdf.pattern_match.Matcher.match`.
        """
        told = heard(self._plan, stream, reading, events, self._data, scope=scope, first=first)
        yield from self.take(told)

    def take(self, told: Heard) -> Iterator[pa.Table]:
        """Take in what was found in events; rows for what is amiss with them."""
        if len(told.unread):
            yield self._amiss(told.unread, "")
        if told.undated:
            yield self._amiss(None, "?", told.undated)
        for block, table in told.found.items():
            yield from self._hold(block, table)
        self._clock.see(told.times)

    @property
    def held(self) -> dict[Block, pa.Table]:
        """What the blocks found in the windows that are open."""
        found = {block: pa.concat_tables(each) for block, each in self._held.items() if each}
        return {b: self._pruned(each)[0] if self._prunes else each for b, each in found.items()}

    def hold(self, found: Mapping[Block, pa.Table]) -> None:
        """Take in what was :attr:`held` before."""
        for block, table in found.items():
            self._held.setdefault(block, []).insert(0, table)

    def facts(self) -> dict[str, Any]:
        """What else a restart needs, for JSON."""
        return {"next": self._next, "clock": self._clock.snapshot()}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Become what gave these facts, without what it held."""
        self._next = facts["next"]
        self._clock.restore(facts["clock"])

    @property
    def due(self) -> bool:
        """Whether a window may be over."""
        if self._clock.newest is None:
            return False
        return self._next is None or self._windows.last_complete(self._clock.newest) >= self._next

    @property
    def begins(self) -> Millis | None:
        """Up to when nothing is needed any more."""
        return None if self._next is None else self._windows.window(self._next).start

    def close(self) -> Iterator[pa.Table]:
        """Join the windows that are over, by what has been heard of all streams."""
        if self._clock.newest is not None:
            yield from self._close(self._windows.last_complete(self._clock.newest))

    def finish(self) -> Iterator[pa.Table]:
        """The stream has ended: join what is left."""
        ends = [int(pc.max(each.column(TIME)).as_py()) for each in self._tables()]
        if ends:
            pane = int(self._windows.pane_of(np.array([max(ends)]))[0])
            yield from self._close(self._windows.span_of(pane)[1])

    def _hold(self, block: Block, table: pa.Table) -> Iterator[pa.Table]:
        time = table.column(TIME).to_numpy()
        late: BoolArray = time <= 0
        if self._next is not None:
            late |= self._windows.pane_of(time) < self._oldest()
        if late.any():
            yield self._amiss(time[late], "?")
            table = table.filter(pa.array(~late))
        if self._prunes:
            table, lost = self._pruned(table)
            if len(lost):
                yield self._amiss(lost, "?")
        if table.num_rows:
            parts = self._held.setdefault(block, [])
            parts.append(table)
            if self._prunes and len(parts) > _PARTS:
                parts[:] = [self._pruned(pa.concat_tables(parts))[0]]

    def _pruned(self, table: pa.Table) -> tuple[pa.Table, IntArray]:
        assert self._best is not None  # noqa: S101
        return self._best.of_panes(table, self._windows)

    def _oldest(self) -> int:
        """The oldest pane of which no window has been joined."""
        assert self._next is not None  # noqa: S101
        return self._windows.panes_in(self._next - 1)[1] + 1 if self._next else 0

    def _tables(self) -> Iterator[pa.Table]:
        return (each for tables in self._held.values() for each in tables)

    def _first(self) -> int | None:
        """The first window that holds something."""
        begins = [int(pc.min(each.column(TIME)).as_py()) for each in self._tables()]
        if not begins:
            return None
        pane = self._windows.pane_of(np.array([min(begins)]))
        return max(int(self._windows.first_windows(pane)[0]), self._next or 0)

    def _close(self, until: int) -> Iterator[pa.Table]:
        """Join the windows up to one."""
        while (window := self._first()) is not None and window <= until:
            yield from self._joined(window)
            self._next = window + 1
            self._forget(self._windows.window(self._next).start)
        if self._next is not None and until >= 0:
            self._next = max(self._next, until + 1)
            end = np.array([self._next * self._windows.width + 1])
            yield self._keyless(end, "", silent=True)

    def _forget(self, start: Millis) -> None:
        for block, tables in list(self._held.items()):
            left = [each.filter(pc.greater(each.column(TIME), start)) for each in tables]
            self._held[block] = [each for each in left if each.num_rows]

    def _joined(self, number: int) -> Iterator[pa.Table]:
        """What the blocks of each alternative give in one window."""
        window = self._windows.window(number)
        begin = number * self._windows.width
        made = []
        for alternative, pattern in enumerate(self._plan.patterns):
            parts = [
                self._of(window.end, self._widths[block.window], (alternative, number))
                for number, block in enumerate(pattern.blocks)
            ]
            if all(part is not None and part.num_rows for part in parts):
                known = [part for part in parts if part is not None]
                found, time = _pairs(known, pattern, self._data)
                order = np.argsort(time, kind="stable")
                shifted = pa.chunked_array([time[order] - window.start + begin])
                made.append(self._matcher.table(found.take(order), shifted))
        yield from made if self._best is None or not made else self._best.of_window(made)

    def _of(self, end: Millis, width: Millis, block: Block) -> pa.Table | None:
        """What a block found in its own window that closes then."""
        tables = self._held.get(block)
        if not tables:
            return None
        table = pa.concat_tables(tables)
        time = table.column(TIME)
        return table.filter(pc.and_(pc.greater(time, end - width), pc.less_equal(time, end)))

    def _amiss(self, time: IntArray | None, key: str, count: int = 0) -> pa.Table:
        """Rows that will be counted and not used: too late, before the start, or unreadable."""
        if time is None:
            return self._keyless(pa.nulls(count, pa.int64()), key)
        windows = self._windows
        first = np.maximum(0, windows.first_windows(windows.pane_of(time)))
        return self._keyless(time - first * windows.step + first * windows.width, key)

    def _keyless(self, time: IntArray | pa.Array, key: str, *, silent: bool = False) -> pa.Table:
        return self._matcher.keyless(pa.chunked_array([time]), silent=silent, key=key or None)


def _pairs(
    parts: list[pa.Table], pattern: EventPattern, data: StaticData | None
) -> tuple[Bindings, IntArray]:
    """The solutions of several blocks that agree, and when the last part of each was."""
    waiting = solutions_in(parts)
    if not pattern.parts:
        # Nothing is joined, and what holds was checked where it was found.
        return waiting[0], parts[0].column(TIME).to_numpy()
    waiting = [
        replace(each, codes={**each.codes, f"row {number}": np.arange(len(each))})
        for number, each in enumerate(waiting)
    ]
    numbers = [each.bound for each in waiting]
    found = waiting.pop(min(range(len(waiting)), key=lambda each: len(waiting[each])))
    while waiting:
        best = max(waiting, key=lambda each: (len(each.codes.keys() & found.codes), -len(each)))
        waiting = [each for each in waiting if each is not best]
        found = joined(found, best)
    places = [found.codes[f"row {number}"] for number in range(len(parts))]
    bound = {
        name: column[place]
        for columns, place in zip(numbers, places, strict=True)
        for name, column in columns.items()
    }
    found = kept(replace(found, bound=bound), pattern, data)
    places = [found.codes[f"row {number}"] for number in range(len(parts))]
    times = [part.column(TIME).to_numpy()[place] for part, place in zip(parts, places, strict=True)]
    return found, np.max(times, axis=0)


def with_true_times(plan: Plan, answers: Iterable[Answer]) -> Iterator[Answer]:
    """Answers with the windows of the query, where the monitor had them end to end."""
    windows = windows_of(plan.windows[0])
    for answer in answers:
        window = windows.window(answer.window.index)
        shift = window.start - answer.window.start
        rows = tuple(_shifted(row, shift, windows.step / windows.width) for row in answer.rows)
        yield replace(answer, window=window, rows=rows)


def _shifted(row: Row, shift: Millis, scale: float) -> Row:
    remotes = {n: replace(each, age=_scaled(each.age, scale)) for n, each in row.remotes.items()}
    return replace(row, time=row.time + shift, age=_scaled(row.age, scale), remotes=Frozen(remotes))


def _scaled(age: Millis | None, scale: float) -> Millis | None:
    return None if age is None else round(age * scale)
