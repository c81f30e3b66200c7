"""Stage 1 in Java, for aggregates: of every pane, one row per key crosses to Python.

The copy from Java to Python costs more than all else that is done with a row. ``Partials.java``
counts and adds up where the rows are, task by task, and packs what it has as columns. Sums are
added up in the order of the rows, as Arrow does it in Python; so both make the same portions, to
the last bit, and no later stage needs to know which of them did.

What a row must have to be counted is decided by the rules of :mod:`topwater.monitor.columns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from topwater.model import Counts
from topwater.monitor.event_time import PaneTimes
from topwater.monitor.reduction import PartialBatch
from topwater.monitor.shards import BUCKETS
from topwater.spark import java_columns
from topwater.spark.java_classes import mapped, within_reach
from topwater.windows import FARTHEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pyspark.sql import DataFrame

    from topwater.model import IntArray, Key
    from topwater.query import TopKQuery
    from topwater.scoring.aggregates import Aggregate, Aggregation

MARK = b"topparts"
"""How the bytes begin that Java has packed."""

_SIGNS = {"sum": "+", "mean": "+", "min": "-", "max": "^", "last": "="}
_COUNTED, _TEXT, _TEXT_GROUPS = 1, 2, 4
_COUNTS = ("events", "before_start", "bad_key", "bad_time", "bad_score")


def aggregated(events: DataFrame, query: TopKQuery, schema: str, shards: int) -> DataFrame | None:
    """The portions of a stream of events, as rows of ``schema``; None where Java can't make them.

    That is: without aggregates, and where a column's type needs Python, or it is looked up by.
    """
    aggregation, fields = query.aggregation, events.schema
    if aggregation is None or query.lookup_names or not within_reach(events):
        return None
    ticks = java_columns.ticks(fields, str(query.time))
    key, by = java_columns.key(fields, query.key_column), query.group_column
    group = None if by is None else java_columns.key(fields, by)
    beats = java_columns.beats(fields, query.heartbeat)
    values = [java_columns.number(fields, name) for name in aggregation.columns]
    numbers = [value for value in values if value is not None]
    fits = (query.group_by is None) == (group is None) and len(numbers) == len(values)
    if ticks is None or key is None or beats is None or not fits:
        return None
    per, time = ticks
    text, keys = key
    columns = [time, keys, *beats, *([] if group is None else [group[1]]), *numbers]
    windows = query.window
    settings = (windows.start, windows.pane, per > 1, FARTHEST * per, text, bool(beats))
    asked = (group is not None, len(numbers), " ".join(_totals(aggregation)), shards, BUCKETS)
    return mapped(events, columns, schema, "Partials", *settings, *asked)


def read_partials(packed: bytes, query: TopKQuery) -> Iterator[PartialBatch]:
    """What Java has packed: one part, or with groups the time of all and then one part for each."""
    assert query.aggregation is not None  # noqa: S101  for the type checker
    portion = _Portion.of(packed, query)
    table = portion.table(query, query.aggregation)
    names: list[Key | None] = [*[None] * portion.nameless, *portion.names()]
    places, rows = 0, 0
    for at, (name, (*counts, size)) in enumerate(zip(names, portion.groups.tolist(), strict=True)):
        mine = portion.places[places : places + size]
        length = int(mine[:, 3].sum())
        clock = query.group_by is not None and at == 0
        yield PartialBatch(
            table.slice(rows, length),
            PaneTimes(*np.ascontiguousarray(mine[:, :3].T)),
            Counts(**dict(zip(_COUNTS, counts, strict=True))),
            counted=bool(portion.flags & _COUNTED) and not clock,
            group=name,
        )
        places, rows = places + size, rows + length


def _totals(aggregation: Aggregation) -> list[str]:
    """What is asked of the values, as Java wants it written, each once."""
    told = (_total_of(aggregation, each) for each in aggregation.aggregates.values())
    return [each for each in dict.fromkeys(told) if each is not None]


def _total_of(aggregation: Aggregation, each: Aggregate) -> str | None:
    """A sign for the function, and the number of the column; None for a count."""
    if each.column is None:
        return None
    return f"{_SIGNS[each.function]}{aggregation.columns.index(each.column)}"


@dataclass(frozen=True, slots=True)
class _Portion:
    """The columns of a portion, where they are: see ``PartialBytes.java``.

    Attributes
    ----------
    packed, flags, nameless
        All bytes, and two of the numbers at their head.
    groups
        For each its counts, and how many places.
    places
        For each its pane, events, newest time, and how many rows.
    totals
        For each row what was asked of its values, total by total.
    key_numbers, group_numbers
        Keys and names of groups where these are numbers.
    times, counts
        Of each row, since its pane opened.
    key_ends, group_ends, text
        Where keys and names of groups end in the text that begins at ``text``.
    """

    packed: bytes
    flags: int
    nameless: int
    groups: IntArray
    places: IntArray
    totals: np.ndarray[Any, np.dtype[np.float64]]
    key_numbers: IntArray
    group_numbers: IntArray
    times: np.ndarray[Any, np.dtype[Any]]
    counts: np.ndarray[Any, np.dtype[np.int32]]
    key_ends: np.ndarray[Any, np.dtype[np.int32]]
    group_ends: np.ndarray[Any, np.dtype[np.int32]]
    text: int

    @staticmethod
    def of(packed: bytes, query: TopKQuery) -> _Portion:
        """Find the columns."""
        assert query.aggregation is not None  # noqa: S101  for the type checker
        _, groups, nameless, places, rows, flags = np.frombuffer(packed, "<i8", 6).tolist()
        totals = len(_totals(query.aggregation))
        long = query.window.pane >= 2**31
        read = _Reader(packed, 48)
        return _Portion(
            packed,
            flags,
            nameless,
            read("<i8", 6 * groups).reshape(-1, 6),
            read("<i8", 4 * places).reshape(-1, 4),
            read("<f8", totals * rows).reshape(totals, rows),
            read("<i8", 0 if flags & _TEXT else rows),
            read("<i8", 0 if flags & _TEXT_GROUPS else groups - nameless),
            read("<i8" if long else "<i4", rows),
            read("<i4", rows),
            read("<i4", rows + 1 if flags & _TEXT else 0),
            read("<i4", groups - nameless if flags & _TEXT_GROUPS else 0),
            read.at,
        )

    def table(self, query: TopKQuery, aggregation: Aggregation) -> pa.Table:
        """All rows, as :meth:`Aggregation.partials` has them."""
        pane = np.repeat(self.places[:, 0], self.places[:, 3])
        time = query.window.start + 1 + pane * query.window.pane + self.times
        columns: dict[str, Any] = {"pane": pane, "key": self._keys(), "time": time}
        counts = self.counts.astype(np.float64)
        totals = dict(zip(_totals(aggregation), self.totals, strict=True))
        for name, each in aggregation.aggregates.items():
            told = _total_of(aggregation, each)
            columns[name] = counts if told is None else totals[told]
            if each.function == "mean":
                columns[f"{name}#"] = counts
        return pa.table(columns)

    def names(self) -> list[Key]:
        """The names of the groups that have one."""
        if not len(self.group_ends):
            numbers: list[Key] = self.group_numbers.tolist()
            return numbers
        start = self.text + (int(self.key_ends[-1]) if len(self.key_ends) else 0)
        ends = (start + self.group_ends.astype(np.int64)).tolist()
        spans = zip([start, *ends[:-1]], ends, strict=True)
        return [self.packed[begin:end].decode() for begin, end in spans]

    def _keys(self) -> pa.Array | IntArray:
        if not self.flags & _TEXT:
            return self.key_numbers
        ends = pa.py_buffer(self.key_ends.astype(np.int64))
        text = pa.py_buffer(self.packed)[self.text :]
        return pa.Array.from_buffers(pa.large_string(), len(self.counts), [None, ends, text])


class _Reader:
    """Arrays, one after the other."""

    def __init__(self, packed: bytes, at: int) -> None:
        self._packed = packed
        self.at = at

    def __call__(self, kind: str, size: int) -> np.ndarray[Any, np.dtype[Any]]:
        found = np.frombuffer(self._packed, kind, size, self.at)
        self.at += found.nbytes
        return found
