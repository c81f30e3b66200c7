"""What the blocks of a query found in some events: made where events are read, and sent on.

Where windows are made whole before they are ranked, that is what crosses to whoever holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from rdflib.term import URIRef

from topwater.model import IntArray
from topwater.monitor.columns import times_of
from topwater.monitor.event_time import PaneTimes
from topwater.rspql.plan.compilation import windows_of
from topwater.rspql.plan.joined_windows import windows_in
from topwater.rspql.plan.plan import TIME, EventPattern, Plan
from topwater.rspql.rdf.event_format import Columns, Documents
from topwater.rspql.rdf.pattern_match import from_stream, solutions, term_texts
from topwater.rspql.rdf.solutions import Bindings
from topwater.rspql.rdf.static_data import StaticData
from topwater.tables import pack, unpack

Block: TypeAlias = tuple[int, int]
"""Which alternative of a query, and which block of that."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What was found in some events.

    Attributes
    ----------
    found
        By block, its solutions: the column :data:`~topwater.rspql.plan.plan.TIME`, and a column for
        each variable, of terms as text or of numbers.
    times
        When the events were.
    unread
        When those were that could not be read, as far as that is known.
    undated
        How many solutions are of events without a usable time.
    """

    found: Mapping[Block, pa.Table]
    times: PaneTimes
    unread: IntArray
    undated: int = 0

    def pack(self) -> bytes:
        """As bytes."""
        parts = pa.array(
            [pack(each, {}, compressed=True) for each in self.found.values()], pa.binary()
        )
        meta = {
            "blocks": [*self.found],
            "panes": self.times.panes.tolist(),
            "events": self.times.events.tolist(),
            "newest": self.times.newest.tolist(),
            "unread": self.unread.tolist(),
            "undated": self.undated,
        }
        return pack(pa.table({"part": parts}), meta)

    @staticmethod
    def unpack(packed: bytes) -> Heard:
        """What :meth:`pack` wrote."""
        table, meta = unpack(packed)
        tables = [unpack(each)[0] for each in table.column("part").to_pylist()]
        blocks = [(int(one), int(other)) for one, other in meta["blocks"]]
        columns = (np.array(meta[name], np.int64) for name in ("panes", "events", "newest"))
        unread = np.array(meta["unread"], np.int64)
        found = dict(zip(blocks, tables, strict=True))
        return Heard(found, PaneTimes(*columns), unread, int(meta["undated"]))


def heard(
    plan: Plan,
    stream: URIRef,
    reading: Documents | Columns,
    events: pa.Table,
    data: StaticData | None = None,
    *,
    scope: str = "",
    first: int = 0,
) -> Heard:
    """What the blocks of a plan find in events of a stream.

    Parameters
    ----------
    plan, stream, reading
        What is looked for, in whose events, and how these are written.
    events
        A row for each.
    data
        What is in files that the patterns read.
    scope, first
        As for :meth:`~topwater.rspql.rdf.pattern_match.Matcher.match`.
    """
    column = events.column(reading.time).combine_chunks()
    time, good = times_of(column, reading.time)
    read = reading.triples(events)
    found, undated = {}, 0
    for block, part in _blocks(plan, stream):
        solved = solutions(read, part, data)
        rows = read.rows[solved.event]
        usable = good[rows]
        undated += int((~usable).sum())
        if usable.any():
            found[block] = _table(solved.take(usable), time, rows[usable], (scope, first))
    panes = windows_of(plan.windows[0]).pane_of(time[good])
    return Heard(found, PaneTimes.of(panes, time[good]), time[read.bad], undated)


def _blocks(plan: Plan, stream: URIRef) -> Iterator[tuple[Block, EventPattern]]:
    """The blocks that read a stream."""
    names = windows_in(plan, stream)
    for alternative, pattern in enumerate(plan.patterns):
        for number, part in enumerate(pattern.blocks):
            if part.window in names:
                yield (alternative, number), from_stream(part, stream)


def _table(found: Bindings, time: IntArray, rows: IntArray, begun: tuple[str, int]) -> pa.Table:
    """Solutions with their terms as text: what is held of a block."""
    columns = {TIME: pa.array(time[rows])}
    for name in sorted(found.codes):  # in which order they were found is not always the same
        columns[name] = term_texts(found, name, begun, rows)
    return pa.table(columns | {name: pa.array(each) for name, each in found.bound.items()})


def solutions_in(tables: Sequence[pa.Table]) -> list[Bindings]:
    """The solutions in tables of what blocks found, over one set of terms."""
    texts = [
        (number, each.name)
        for number, table in enumerate(tables)
        for each in table.schema
        if pa.types.is_large_string(each.type)
    ]
    columns = [tables[number].column(name).combine_chunks() for number, name in texts]
    encoded = pa.concat_arrays(columns).dictionary_encode()
    codes = np.split(
        encoded.indices.to_numpy().astype(np.int64), np.cumsum([len(each) for each in columns])
    )
    named = list(zip(texts, codes, strict=False))
    return [
        Bindings(
            np.zeros(table.num_rows, np.int64),
            {name: column for (of, name), column in named if of == number},
            encoded.dictionary,
            {
                each.name: table.column(each.name).to_numpy()
                for each in table.schema
                if pa.types.is_floating(each.type)
            },
        )
        for number, table in enumerate(tables)
    ]
