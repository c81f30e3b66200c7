"""What the stream says of a key: partial aggregates per key and pane, merged per window.

A key's aggregate falls when the window slides, so no single score per key can predict later
windows. What is kept is one small row per key and pane: the least that a counting query needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.errors import QueryError
from topwater.model import FloatArray, IntArray
from topwater.scoring.hash_crowds import crowd
from topwater.validation import shown, suggestion

FUNCTIONS = ("count", "sum", "mean", "min", "max", "last")
_MERGED_BY = {"count": "sum", "sum": "sum", "mean": "sum", "min": "min", "max": "max"}
RESERVED = ("pane", "key", "time")
SOURCE = "from "
"""Put before the name of a column of the stream, which may itself be called key or time."""
LABEL = "label "
"""Put before a name that stands for texts, or for keys to look something up by."""

_FORM = re.compile(r"\s*([a-z]+)\s*+(?:\(\s*+(?:`([^`]+)`|([^\s()`]+))?\s*+\))?\s*+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One function over one column; ``count`` needs no column.

    Examples
    --------
    >>> Aggregate.parse("sum(amount)", field="take.spent")
    Aggregate(function='sum', column='amount')
    """

    function: str
    column: str | None = None

    @staticmethod
    def parse(text: object, *, field: str) -> Aggregate:
        """Read ``"count"`` or ``"function(column)"``."""
        form = _FORM.fullmatch(str(text)) if isinstance(text, str | Aggregate) else None
        function = form[1].lower() if form else ""
        column = (form[2] or form[3]) if form else None
        if function not in FUNCTIONS:
            fix = suggestion(function, FUNCTIONS)
            raise QueryError(f"{shown(text)} is not an aggregate", field=field, fix=fix)
        if (column is None) != (function == "count"):
            raise QueryError(
                f"{shown(text)}: count takes no column, and every other function takes one",
                field=field,
                fix='write "count", or for instance "sum(amount)"',
            )
        return Aggregate(function, column)

    def __str__(self) -> str:
        return self.function if self.column is None else f"{self.function}(`{self.column}`)"


class Aggregation:
    """A set of named aggregates: rows → partials per key and pane → values per key.

    Partials of the same key and pane may be merged in any order and any number of times: the
    result is the same, but for the rounding of floating-point sums.

    Parameters
    ----------
    aggregates
        By name.
    labels
        The names that may be text: see :mod:`topwater.monitor.labels`.

    Examples
    --------
    >>> spent = Aggregation({"n": Aggregate("count"), "total": Aggregate("sum", "amount")})
    >>> rows = pa.table({"pane": [0, 0, 1], "key": ["a", "a", "a"], "time": [1, 2, 3],
    ...                  "from amount": [5.0, 6.0, 7.0]})
    >>> spent.values(spent.partials(rows)).to_pylist()
    [{'key': 'a', 'time': 3, 'n': 3.0, 'total': 18.0}]
    """

    def __init__(self, aggregates: Mapping[str, Aggregate], labels: Iterable[str] = ()) -> None:
        self.aggregates = dict(aggregates)
        self.labels = frozenset(labels)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys(a.column for a in self.aggregates.values() if a.column))

    @property
    def merges(self) -> dict[str, str]:
        """The columns of partials beside pane, key and time: each with how two are merged.

        Examples
        --------
        >>> Aggregation({"n": Aggregate("count"), "usual": Aggregate("mean", "amount")}).merges
        {'n': 'sum', 'usual': 'sum', 'usual#': 'sum'}
        """
        how: dict[str, str] = {}
        for name, aggregate in self.aggregates.items():
            how[name] = _MERGED_BY.get(aggregate.function, aggregate.function)
            if aggregate.function == "mean":
                how[f"{name}#"] = "sum"
        return how

    def finished(self, merged: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The columns of a window's merged partials → one column a name."""
        return {
            name: merged[name] / merged[f"{name}#"] if each.function == "mean" else merged[name]
            for name, each in self.aggregates.items()
        }

    def partials(self, rows: pa.Table) -> pa.Table:
        """Rows with pane, key, time and the columns → one row per pane and key."""
        parts = {name: rows.column(name) for name in RESERVED}
        ones = pa.array(np.ones(rows.num_rows))
        for name, aggregate in self.aggregates.items():
            source = aggregate.column
            coded = name in self.labels and LABEL + name in rows.column_names
            place = LABEL + name if coded else f"{SOURCE}{source}"
            parts[name] = ones if source is None else rows.column(place)
            if aggregate.function == "mean":
                parts[f"{name}#"] = ones
        return self.merge(pa.table(parts))

    def merge(self, parts: pa.Table) -> pa.Table:
        """Several partials of a pane and key → one."""
        return self._group(parts, ["pane", "key"])

    def values(self, parts: pa.Table) -> pa.Table:
        """All partials of a window → key, time of its last event, and one column a name.

        From scratch; :class:`~topwater.monitor.pane_columns.PaneColumns` does the same for a
        window that moves.
        """
        grouped = self._group(parts, ["key"])
        columns = {"key": grouped.column("key"), "time": grouped.column("time")}
        for name, aggregate in self.aggregates.items():
            value = grouped.column(name)
            if aggregate.function == "mean":
                value = pc.divide(value, grouped.column(f"{name}#"))
            columns[name] = value
        return pa.table(columns)

    def _group(self, parts: pa.Table, by: list[str]) -> pa.Table:
        # Partials hold one value per key and pane, so one pass reduces rows and partials alike.
        how = [("time", "max")]
        lasts = [name for name, each in self.aggregates.items() if each.function == "last"]
        for name, aggregate in self.aggregates.items():
            if name not in lasts:
                how.append((name, _MERGED_BY[aggregate.function]))
            if aggregate.function == "mean":
                how.append((f"{name}#", "sum"))
        if not lasts:
            return _grouped(parts, by, how)
        # Arrow gives groups in no order that two calls share: the first row of each sets one.
        parts = parts.append_column("#row", pa.array(np.arange(parts.num_rows)))
        grouped = _grouped(parts, by, [*how, ("#row", "min")]).sort_by("#row")
        for name in lasts:
            grouped = grouped.append_column(name, _last(parts, by, name))
        return grouped.drop_columns("#row")


def _grouped(parts: pa.Table, by: list[str], how: list[tuple[str, str]]) -> pa.Table:
    keys = parts.column("key")
    if pa.types.is_int64(keys.type) and crowd(whole := keys.to_numpy()):
        return _grouped_by_codes(parts, whole, by, how)
    return _grouped_by_keys(parts, by, how)


def _grouped_by_codes(
    parts: pa.Table, keys: IntArray, by: list[str], how: list[tuple[str, str]]
) -> pa.Table:
    """The same by sorting the keys, which takes longer, but no longer for some than for others."""
    names, codes = np.unique(keys, return_inverse=True)
    at = parts.column_names.index("key")
    grouped = _grouped_by_keys(parts.set_column(at, "key", pa.array(codes)), by, how)
    found = names[grouped.column("key").to_numpy()]
    return grouped.set_column(grouped.column_names.index("key"), "key", pa.array(found))


def _grouped_by_keys(parts: pa.Table, by: list[str], how: list[tuple[str, str]]) -> pa.Table:
    grouped = parts.group_by(by, use_threads=False).aggregate(how)
    return grouped.rename_columns(by + [name for name, _ in how])


def _last(parts: pa.Table, by: list[str], name: str) -> pa.ChunkedArray:
    """The value at the latest time; of several there, the greatest. By the groups' first rows."""
    ordered = parts.sort_by([("time", "ascending"), (name, "ascending")])
    return _grouped(ordered, by, [(name, "last"), ("#row", "min")]).sort_by("#row").column(name)
