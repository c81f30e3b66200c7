"""What the open windows hold: single events in a candidate list, or aggregates per key.

Both take in the tables of :class:`~topwater.monitor.reduction.PartialBatch` values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.candidates import build, sweep
from topwater.candidates.runs import nothing
from topwater.model import Counts, FloatArray, IntArray, Items
from topwater.monitor.reduction import FloorsAt
from topwater.protocols import Floors
from topwater.query import TopKQuery
from topwater.replica import Ranking, Refresher, WindowView
from topwater.scoring.aggregates import Aggregation
from topwater.tables import (
    column,
    items_from_table,
    items_to_table,
    keys_from_arrow,
)


@dataclass(frozen=True, slots=True)
class WindowResult:
    """What a window's answer is made of.

    Attributes
    ----------
    items
        The best, in order.
    kept
        How many candidates the window had.
    counts
        Keys that could not be scored.
    values
        What the stream contributed to each item, by name.
    ranking
        How fresh the remote values are, if there are any.
    """

    items: Items
    kept: int
    counts: Counts = field(default_factory=Counts)
    values: Mapping[str, FloatArray] = field(default_factory=dict)
    ranking: Ranking | None = None


class OpenWindows(Protocol):
    """What the open windows hold."""

    def add(self, table: pa.Table, oldest: int) -> None:
        """Take in a portion's table, without what lies in panes before ``oldest``."""

    def answers(self, current: int, until: int) -> list[WindowResult]:
        """Answer and forget the windows up to ``until``."""

    def skip(self, window: int) -> None:
        """Forget the windows up to ``window`` without answering."""

    def snapshot(self) -> pa.Table:
        """All that a restart needs."""

    def restore(self, table: pa.Table) -> None:
        """Become, when new, the contents that wrote ``table``."""


class WindowItems:
    """Every event is an item of its own; a candidate list keeps those that can still win."""

    def __init__(self, query: TopKQuery, first: int) -> None:
        self._windows = query.window
        self._list = build(query.list or "panes", query.window, query.k, first=first)

    @property
    def floors(self) -> FloorsAt | None:
        """What the list knows to be useless, if it can say."""
        return self._list.floors if isinstance(self._list, Floors) else None

    def add(self, table: pa.Table, oldest: int) -> None:
        """Take in items."""
        items = items_from_table(table)
        items = items.take(self._windows.pane_of(items.time) >= oldest)
        if len(items):
            self._list.add(self._windows.group(items))

    def answers(self, current: int, until: int) -> list[WindowResult]:
        """The best of each window."""
        items, sizes, kept = sweep(self._list, nothing(), current, until)
        ends = np.cumsum(sizes)
        return [
            WindowResult(items.take(slice(end - size, end)), int(count))
            for size, end, count in zip(sizes, ends, kept, strict=True)
        ]

    def skip(self, window: int) -> None:
        """Forget windows."""
        self._list.expire(window)

    def snapshot(self) -> pa.Table:
        """The items kept."""
        return items_to_table(self._list.snapshot())

    def restore(self, table: pa.Table) -> None:
        """Take in the items again."""
        self.add(table, oldest=0)


class WindowKeys:
    """One item per key, scored from its aggregates over the window."""

    def __init__(
        self, query: TopKQuery, aggregation: Aggregation, refresher: Refresher | None = None
    ) -> None:
        self._query = query
        self._refresher = refresher
        self._aggregation = aggregation
        self._parts: list[pa.Table] = []
        self._pane = np.empty(0, np.int64)

    def add(self, table: pa.Table, oldest: int) -> None:
        """Take in partial aggregates."""
        table = table.filter(pc.field("pane") >= oldest)
        if table.num_rows:
            self._parts.append(table)

    def answers(self, current: int, until: int) -> list[WindowResult]:
        """The best of each window."""
        return [self._answer(window) for window in range(current, until + 1)]

    def skip(self, window: int) -> None:
        """Forget windows."""
        table = self._merge()
        gone = np.searchsorted(self._pane, self._query.window.panes_in(window + 1)[0])
        self._pane = self._pane[gone:]
        self._parts = [table.slice(gone)] if len(self._pane) else []

    def snapshot(self) -> pa.Table:
        """The partial aggregates kept."""
        return self._merge()

    def restore(self, table: pa.Table) -> None:
        """Take in the partial aggregates again."""
        self.add(table, oldest=0)

    def _answer(self, window: int) -> WindowResult:
        first, last = self._query.window.panes_in(window)
        table = self._merge()
        start, end = np.searchsorted(self._pane, (first, last + 1))
        if start == end:
            # The window's keys may all belong to other shards.
            self.skip(window)
            return WindowResult(Items.empty(), table.num_rows)
        values = self._aggregation.values(table.slice(start, end - start))
        if self._refresher is not None:
            # What a policy elects must not depend on how the stream was cut into batches.
            values = values.sort_by("key")
        view = WindowView(
            index=window,
            end=self._query.window.window(window).end,
            names=keys_from_arrow(values.column("key")),
            values={name: column(values, name) for name in self._aggregation.aggregates},
            last_event=column(values, "time"),
        )
        rank = self._by_stream if self._refresher is None else self._by_both
        self.skip(window)
        return rank(view, table.num_rows)

    def _by_stream(self, view: WindowView, kept: int) -> WindowResult:
        """The best by what the stream says alone."""
        scores = self._query.score.rank_scores(view.values)
        best = view.best_first(scores, self._query.k)
        unscored = int(np.count_nonzero(~np.isfinite(scores)))
        return self._result(view, best, scores[best], kept, Counts(bad_score=unscored))

    def _by_both(self, view: WindowView, kept: int) -> WindowResult:
        """The best by the stream and the replica, which is refreshed first."""
        assert self._refresher is not None  # noqa: S101  for the type checker
        ranking = self._refresher.refresh(view)
        counts = Counts(bad_score=ranking.unscored, forgotten=ranking.forgotten)
        return self._result(view, ranking.rows, ranking.scores, kept, counts, ranking)

    @staticmethod
    def _result(
        view: WindowView,
        rows: IntArray,
        scores: FloatArray,
        kept: int,
        counts: Counts,
        ranking: Ranking | None = None,
    ) -> WindowResult:
        items = Items(scores, view.last_event[rows], view.keys_at(rows))
        values = {name: column[rows] for name, column in view.values.items()}
        return WindowResult(items, kept, counts, values, ranking)

    def _merge(self) -> pa.Table:
        """One row per pane and key, the panes ascending."""
        if not self._parts:
            return pa.table({"pane": pa.array([], pa.int64())})
        if len(self._parts) > 1 or len(self._pane) == 0:
            merged = self._aggregation.merge(pa.concat_tables(self._parts)).sort_by("pane")
            self._parts, self._pane = [merged], column(merged, "pane")
        return self._parts[0]
