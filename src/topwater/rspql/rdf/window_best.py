"""The k best solutions of a pane or a window by all conditions of ``ORDER BY``.

What k others of its own pane beat is in no answer, as all of them are in the same windows. So that
is all that has to be held of single solutions, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray
from topwater.rspql.plan.plan import TIME, Plan
from topwater.rspql.plan.projection import Rows, in_order
from topwater.rspql.rdf.heard_events import solutions_in
from topwater.rspql.rdf.pattern_match import Matcher
from topwater.windows import Windows


class WindowBest:
    """Finds the k best among solutions.

    Parameters
    ----------
    plan
        One in which every solution is an item.
    matcher
        Makes its binding tables.
    """

    def __init__(self, plan: Plan, matcher: Matcher) -> None:
        self._plan = plan
        self._matcher = matcher
        self._score = plan.query().score

    def of_panes(self, table: pa.Table, windows: Windows) -> tuple[pa.Table, IntArray]:
        """What a block found, without what is in no answer; and when what has no score was."""
        if not table.num_rows:
            return table, np.empty(0, np.int64)
        time = table.column(TIME).to_numpy()
        bound = self._matcher.table(solutions_in([table])[0], table.column(TIME))
        score = self._scores(bound)
        lost = time[~np.isfinite(score)]
        rows = self._rows(bound, score, windows.pane_of(time))
        return table.take(np.sort(rows)), lost

    def of_window(self, tables: Sequence[pa.Table]) -> list[pa.Table]:
        """Of the binding tables of one window the k best rows; and those without a score."""
        table = pa.concat_tables(tables)
        score = self._scores(table)
        rows = self._rows(table, score, np.zeros(table.num_rows, np.int64))
        lost = np.flatnonzero(~np.isfinite(score))
        return [table.take(np.sort(np.concatenate([rows, lost])))]

    def _scores(self, table: pa.Table) -> FloatArray:
        """Larger ones rank higher; what has none is not finite."""
        values = {name: table.column(name).to_numpy() for name in self._score.columns}
        known = table.column(self._plan.key).is_valid().to_numpy()
        return np.where(known, self._score.rank_scores(values), np.nan)

    def _rows(self, table: pa.Table, score: FloatArray, group: IntArray) -> IntArray:
        """The rows of the k best of each group."""
        there = np.flatnonzero(np.isfinite(score))
        order = there[np.lexsort((-score[there], group[there]))]
        begins = np.flatnonzero(np.diff(group[order], prepend=-1, append=-1))
        found = [self._first(table, score, order[a:b]) for a, b in pairwise(begins.tolist())]
        return np.concatenate(found) if found else there

    def _first(self, table: pa.Table, score: FloatArray, rows: IntArray) -> IntArray:
        """Of rows in the order of their scores the k best."""
        k = self._plan.k
        if len(rows) <= k:
            return rows
        least = score[rows[k - 1]]
        better, level = rows[score[rows] > least], rows[score[rows] == least]
        wanted = k - len(better)
        if len(level) == wanted:
            return rows[:k]
        keys = table.column(self._plan.key).take(level).to_pylist()
        times = table.column(TIME).take(level).to_pylist()
        # As the monitor leaves them: the younger first, and then the smaller key.
        aged = sorted(range(len(level)), key=lambda at: (-times[at], keys[at]))
        some = Rows([keys[at] for at in aged], [0.0] * len(aged), {}, {})
        best = in_order(self._plan, aged, some)[:wanted]
        return np.concatenate([better, level[best]])
