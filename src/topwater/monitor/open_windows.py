"""What the open windows hold: single events in a candidate list, or aggregates per key.

Both take in the tables of :class:`~topwater.monitor.reduction.PartialBatch` values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from topwater.candidates import build, sweep
from topwater.candidates.runs import nothing
from topwater.model import Counts, FloatArray, IntArray, Items
from topwater.monitor.labels import LabelBook
from topwater.monitor.pane_columns import PaneColumns, WindowColumns
from topwater.monitor.reduction import FloorsAt
from topwater.protocols import Floors
from topwater.query import TopKQuery
from topwater.replica import Ranking, Refresher, WindowView
from topwater.replica.joins.joined_refresher import JoinedRefresher
from topwater.replica.key_slots import KeySlots
from topwater.replica.look_ups import LookingUp
from topwater.replica.nominations import Nominations
from topwater.replica.offers import Offer
from topwater.scoring.aggregates import LABEL, Aggregation
from topwater.tables import column, items_from_table, items_to_table


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
    offer
        Of a shard, in place of all that: what it offers to the ranking of all shards.
    """

    items: Items
    kept: int
    counts: Counts = field(default_factory=Counts)
    values: Mapping[str, FloatArray] = field(default_factory=dict)
    ranking: Ranking | None = None
    offer: Offer | None = None


class OpenWindows(Protocol):
    """What the open windows hold."""

    def add(self, table: pa.Table, oldest: int) -> None:
        """Take in a portion's table, without what lies in panes before ``oldest``."""

    def answers(self, current: int, until: int) -> LookingUp[list[WindowResult]]:
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

    def answers(self, current: int, until: int) -> LookingUp[list[WindowResult]]:
        """The best of each window."""
        yield from ()  # nothing is looked up
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
        self,
        query: TopKQuery,
        aggregation: Aggregation,
        refresher: Refresher | JoinedRefresher | Nominations | None = None,
    ) -> None:
        self._query = query
        self._refresher = refresher
        self._aggregation = aggregation
        self._index = KeySlots() if refresher is None else refresher.index
        panes = query.window.panes_per_window
        self._panes = PaneColumns(self._index, aggregation.merges, panes)
        self._labels: dict[str, LabelBook] = {}
        self._condition = query.condition

    def __len__(self) -> int:
        """How many keys the panes hold, each counted by itself."""
        return len(self._panes)

    def add(self, table: pa.Table, oldest: int) -> None:
        """Take in partial aggregates."""
        early = column(table, "pane") < oldest
        if early.any():
            table = table.filter(pa.array(~early))
        if table.num_rows:
            self._panes.add(self._with_codes(table) if self._aggregation.labels else table)

    def _with_codes(self, table: pa.Table) -> pa.Table:
        """Partial aggregates whose labels are remembered."""
        for name in self._aggregation.labels:
            if LABEL + name not in table.column_names:
                continue
            book = self._labels.setdefault(name, LabelBook())
            if book.crowded:
                book.keep(self._panes.numbers(name))
            codes = book.add(column(table, name), table.column(LABEL + name))
            table = table.set_column(table.column_names.index(name), name, pa.array(codes))
        return table

    def answers(self, current: int, until: int) -> LookingUp[list[WindowResult]]:
        """The best of each window."""
        found: list[WindowResult] = []
        for window in range(current, until + 1):
            result = yield from self._answer(window)
            found.append(result)
        return found

    def skip(self, window: int) -> None:
        """Forget windows."""
        self._panes.expire(self._query.window.panes_in(window + 1)[0])

    def snapshot(self) -> pa.Table:
        """The partial aggregates kept."""
        table = self._panes.table()
        for name, book in sorted(self._labels.items()):
            if table.num_rows:
                table = table.append_column(LABEL + name, book.column(column(table, name)))
        return table

    def restore(self, table: pa.Table) -> None:
        """Take in the partial aggregates again."""
        self.add(table, oldest=0)

    def _answer(self, window: int) -> LookingUp[WindowResult]:
        columns = self._panes.move_to(*self._query.window.panes_in(window))
        kept = len(self._panes)
        if not len(columns.slots):
            # The window's keys may all belong to other shards.
            result = WindowResult(Items.empty(), kept)
        elif self._refresher is None:
            result = self._by_stream(self._view(window, columns), kept)
        else:
            result = yield from self._by_both(self._view(window, columns), kept)
        self.skip(window)
        return result

    def _view(self, window: int, columns: WindowColumns) -> WindowView:
        """What the columns of a window say; by key, if the policy goes by rows."""
        view = WindowView(
            index=window,
            end=self._query.window.window(window).end,
            names=self._index,
            values=self._aggregation.finished(columns.numbers),
            last_event=columns.time,
            slots=columns.slots,
            labels=self._labels,
        )
        return view.by_key() if self._refresher and self._refresher.by_rows else view

    def _by_stream(self, view: WindowView, kept: int) -> WindowResult:
        """The best by what the stream says alone."""
        scores = self._query.score.rank_scores(view.values)
        unscored = int(np.count_nonzero(~np.isfinite(scores)))
        if self._condition is not None:
            held = self._condition.holds(view.values)
            unscored = int(np.count_nonzero(~np.isfinite(scores) & held))
            scores = np.where(held, scores, np.nan)
        best = view.best_first(scores, self._query.k)
        return window_result(view, best, scores[best], kept, Counts(bad_score=unscored))

    def _by_both(self, view: WindowView, kept: int) -> LookingUp[WindowResult]:
        """The best by the stream and the replica, which is refreshed first."""
        assert self._refresher is not None  # noqa: S101  for the type checker
        if isinstance(self._refresher, Nominations):
            return WindowResult(Items.empty(), kept, offer=self._refresher.offer(view))
        ranking = yield from self._refresher.refreshing(view)
        counts = Counts(bad_score=ranking.unscored, forgotten=ranking.forgotten)
        return window_result(view, ranking.rows, ranking.scores, kept, counts, ranking)


def window_result(
    view: WindowView,
    rows: IntArray,
    scores: FloatArray,
    kept: int,
    counts: Counts,
    ranking: Ranking | None = None,
) -> WindowResult:
    """What a window comes to, if these of its rows are the best."""
    items = Items(scores, view.last_event[rows], view.keys_at(rows))
    values = {
        name: view.labels[name].shown(column[rows]) if name in view.labels else column[rows]
        for name, column in view.values.items()
    }
    return WindowResult(items, kept, counts, values, ranking)
