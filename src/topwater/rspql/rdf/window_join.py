"""Several WINDOW blocks that share variables: what one window holds of each is joined as it closes.

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

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rdflib.term import URIRef

from topwater.model import Answer, BoolArray, IntArray, Millis, Row, Window
from topwater.monitor.columns import times_of
from topwater.monitor.event_time import EventTime, PaneTimes
from topwater.rspql.plan.compilation import windows_of
from topwater.rspql.plan.plan import TIME, EventPattern, Plan, windows_in
from topwater.rspql.rdf.event_format import Columns, Documents
from topwater.rspql.rdf.pattern_match import (
    Matcher,
    from_stream,
    joined,
    kept,
    solutions,
    term_texts,
)
from topwater.rspql.rdf.solutions import Bindings
from topwater.rspql.rdf.static_data import StaticData

_HOUR: Millis = 3_600_000


class WindowJoin:
    """Holds what the blocks found in the windows that are open, and joins it window by window.

    Parameters
    ----------
    plan
        One whose patterns have several parts.
    data
        What is in files that the patterns read.
    """

    def __init__(self, plan: Plan, data: StaticData | None = None) -> None:
        self._plan = plan
        self._data = data
        self._windows = windows_of(plan.windows[0])
        self._matcher = Matcher(Documents(), plan.patterns, plan.keys, plan.numbers, plan.texts)
        self._held: dict[tuple[int, int], list[pa.Table]] = {}
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
        column = events.column(reading.time).combine_chunks()
        time, good = times_of(column, reading.time)
        found = reading.triples(events)
        yield self._amiss(time[found.bad], "")
        for place, part in self._parts(stream):
            solved = solutions(found, part, self._data)
            rows = found.rows[solved.event]
            usable = good[rows]
            table = _table(solved.take(usable), time, rows[usable], (scope, first))
            yield from self._hold(place, table)
            yield self._amiss(None, "?", int((~usable).sum()))
        panes = self._windows.pane_of(time[good])
        self._clock.see(PaneTimes.of(panes, time[good]))

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

    def _parts(self, stream: URIRef) -> Iterator[tuple[tuple[int, int], EventPattern]]:
        """The blocks that read a stream."""
        names = windows_in(self._plan, stream)
        for alternative, pattern in enumerate(self._plan.patterns):
            for number, part in enumerate(pattern.blocks):
                if part.window in names:
                    yield (alternative, number), from_stream(part, stream)

    def _hold(self, place: tuple[int, int], table: pa.Table) -> Iterator[pa.Table]:
        time = table.column(TIME).to_numpy()
        late: BoolArray = time <= 0
        if self._next is not None:
            late |= self._windows.pane_of(time) < self._oldest()
        if late.any():
            yield self._amiss(time[late], "?")
        if not late.all():
            self._held.setdefault(place, []).append(table.filter(pa.array(~late)))

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
        for place, tables in list(self._held.items()):
            left = [each.filter(pc.greater(each.column(TIME), start)) for each in tables]
            self._held[place] = [each for each in left if each.num_rows]

    def _joined(self, number: int) -> Iterator[pa.Table]:
        """What the blocks of each alternative give in one window."""
        window = self._windows.window(number)
        begin = number * self._windows.width
        for alternative, pattern in enumerate(self._plan.patterns):
            parts = [self._of(window, (alternative, n)) for n in range(len(pattern.blocks))]
            if all(part is not None and part.num_rows for part in parts):
                known = [part for part in parts if part is not None]
                found, time = _pairs(known, pattern, self._data)
                order = np.argsort(time, kind="stable")
                shifted = pa.chunked_array([time[order] - window.start + begin])
                yield self._matcher.table(found.take(order), shifted)

    def _of(self, window: Window, place: tuple[int, int]) -> pa.Table | None:
        tables = self._held.get(place)
        if not tables:
            return None
        table = pa.concat_tables(tables)
        return table.filter(pc.less_equal(table.column(TIME), window.end))

    def _amiss(self, time: IntArray | None, key: str, count: int = 0) -> pa.Table:
        """Rows that will be counted and not used: too late, before the start, or unreadable."""
        if time is None:
            return self._keyless(pa.nulls(count, pa.int64()), key)
        windows = self._windows
        first = np.maximum(0, windows.first_windows(windows.pane_of(time)))
        return self._keyless(time - first * windows.step + first * windows.width, key)

    def _keyless(self, time: IntArray | pa.Array, key: str, *, silent: bool = False) -> pa.Table:
        return self._matcher.keyless(pa.chunked_array([time]), silent=silent, key=key or None)


def _table(found: Bindings, time: IntArray, rows: IntArray, begun: tuple[str, int]) -> pa.Table:
    """Solutions with their terms as text: what is held of a block."""
    columns = {TIME: pa.array(time[rows])}
    for name in sorted(found.codes):  # in which order they were found is not always the same
        columns[name] = term_texts(found, name, begun, rows)
    return pa.table(columns | {name: pa.array(each) for name, each in found.bound.items()})


def _pairs(
    parts: list[pa.Table], pattern: EventPattern, data: StaticData | None
) -> tuple[Bindings, IntArray]:
    """The solutions of several blocks that agree, and when the last part of each was."""
    waiting = _encoded(parts)
    found = waiting.pop(min(range(len(waiting)), key=lambda each: len(waiting[each])))
    while waiting:
        best = max(waiting, key=lambda each: (len(each.codes.keys() & found.codes), -len(each)))
        waiting = [each for each in waiting if each is not best]
        found = joined(found, best)
    places = [found.codes[f"row {number}"] for number in range(len(parts))]
    bound = {
        name: part.column(name).to_numpy()[place]
        for part, place in zip(parts, places, strict=True)
        for name in part.column_names
        if pa.types.is_floating(part.schema.field(name).type)
    }
    found = kept(replace(found, bound=bound), pattern, data)
    places = [found.codes[f"row {number}"] for number in range(len(parts))]
    times = [part.column(TIME).to_numpy()[place] for part, place in zip(parts, places, strict=True)]
    return found, np.max(times, axis=0)


def _encoded(parts: list[pa.Table]) -> list[Bindings]:
    """The parts over one set of terms; each row knows its place."""
    texts = [
        (number, name)
        for number, part in enumerate(parts)
        for name in part.column_names
        if pa.types.is_large_string(part.schema.field(name).type)
    ]
    columns = [parts[number].column(name).combine_chunks() for number, name in texts]
    encoded = pa.concat_arrays(columns).dictionary_encode()
    codes = np.split(
        encoded.indices.to_numpy().astype(np.int64), np.cumsum([len(each) for each in columns])
    )
    found = []
    for number, part in enumerate(parts):
        mine = {
            name: column for (of, name), column in zip(texts, codes, strict=False) if of == number
        }
        mine[f"row {number}"] = np.arange(part.num_rows)
        found.append(Bindings(np.zeros(part.num_rows, np.int64), mine, encoded.dictionary))
    return found


def with_true_times(plan: Plan, answers: Iterable[Answer]) -> Iterator[Answer]:
    """Answers with the windows of the query, where the monitor had them end to end."""
    windows = windows_of(plan.windows[0])
    for answer in answers:
        window = windows.window(answer.window.index)
        shift = window.start - answer.window.start
        rows = tuple(_shifted(row, shift, windows.step / windows.width) for row in answer.rows)
        yield replace(answer, window=window, rows=rows)


def _shifted(row: Row, shift: Millis, scale: float) -> Row:
    age = None if row.age is None else round(row.age * scale)
    return replace(row, time=row.time + shift, age=age)
