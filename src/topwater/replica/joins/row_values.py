"""The rows of one window, with the entries that their scores are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.joins.entry_store import EntryStore
from topwater.replica.window_view import WindowView
from topwater.scoring import Score
from topwater.scoring.condition import Condition


@dataclass(frozen=True, slots=True)
class Judge:
    """What makes a row's score, and whether it is ranked at all."""

    score: Score
    condition: Condition | None

    @property
    def columns(self) -> tuple[str, ...]:
        """All names that count."""
        more = () if self.condition is None else self.condition.columns
        return tuple(dict.fromkeys([*self.score.columns, *more]))

    def scores(self, columns: Mapping[str, FloatArray]) -> FloatArray:
        """A score a row, larger ones better; NaN for one that is not ranked."""
        scores = self.score.rank_scores(columns)
        if self.condition is None:
            return scores
        return np.where(self.condition.holds(columns), scores, np.nan)

    def bounds(
        self,
        columns: Mapping[str, FloatArray],
        unknown: Mapping[str, tuple[FloatArray, FloatArray]],
    ) -> tuple[FloatArray, BoolArray]:
        """The greatest score that each row could have, and whether it could be ranked."""
        _, high = self.score.rank_bounds(columns, unknown)
        if self.condition is None:
            return high, np.ones(len(high), bool)
        return high, self.condition.may_hold(columns, unknown)


class RowValues:
    """A window's rows, and where the entries of each join are that they need.

    Parameters
    ----------
    view
        What the stream says.
    stores
        What is remembered of each join.
    judge
        What makes scores.
    """

    def __init__(self, view: WindowView, stores: Sequence[EntryStore], judge: Judge) -> None:
        self.view = view
        self.stores = stores
        self.judge = judge
        self.slots = [store.slots_of(view) for store in stores]
        self._stream = {name: view.values[name] for name in judge.columns if name in view.values}
        if not self._stream:
            self._stream = {"": np.zeros(len(view))}

    def stream(self, rows: IntArray | None = None) -> dict[str, FloatArray]:
        """What the stream says of some rows, or of all."""
        if rows is None:
            return self._stream
        return {name: column[rows] for name, column in self._stream.items()}

    def remote(self, rows: IntArray | None = None) -> dict[str, FloatArray]:
        """What is taken for the remote values of some rows, or of all."""
        found: dict[str, FloatArray] = {}
        for store, slots in zip(self.stores, self.slots, strict=True):
            found |= store.columns(slots if rows is None else slots[rows])
        return found

    def scores(self, rows: IntArray | None = None) -> FloatArray:
        """The score of each row by what is believed; NaN for one that is not ranked."""
        return self.judge.scores({**self.stream(rows), **self.remote(rows)})

    def could_pass(self) -> BoolArray:
        """Which rows may be ranked, by what the stream alone says of them."""
        anything = (np.full(len(self.view), -np.inf), np.full(len(self.view), np.inf))
        unknown = {name: anything for store in self.stores for name in store.stores}
        condition = self.judge.condition
        if condition is None:
            return np.ones(len(self.view), bool)
        return condition.may_hold(self._stream, unknown)

    def read(self) -> list[BoolArray]:
        """For each join, which rows have an entry that was read for this window, or need none."""
        now = self.view.end
        return [
            store.read_at(slots, now) for store, slots in zip(self.stores, self.slots, strict=True)
        ]

    def all_settled(self, scores: FloatArray, k: int) -> bool:
        """Whether the best k by these scores are certainly the best: no look-up could change that.

        A row whose entries were all read is certain. Any other may have any score that the values
        not read allow, and has to be below the k-th of those.
        """
        read = self.read()
        certain = np.logical_and.reduce(read)
        open_rows = np.flatnonzero(~certain)
        if not len(open_rows):
            return True
        sure = np.sort(scores[certain & np.isfinite(scores)])[::-1]
        least = sure[k - 1] if len(sure) >= k else -np.inf
        columns, unknown = self.stream(open_rows), {}
        lost = np.zeros(len(open_rows), bool)
        remote = self.remote(open_rows)
        for store, known in zip(self.stores, read, strict=True):
            here = known[open_rows]
            for name in store.stores:
                value = remote[name]
                unknown[name] = np.where(here, value, -np.inf), np.where(here, value, np.inf)
                lost |= here & np.isnan(value) & (name in self.judge.score.columns)
        # Where a value that was read is missing, nothing is known of what it is compared with.
        unknown = {
            name: (np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))
            for name, (low, high) in unknown.items()
        }
        high, may = self.judge.bounds(columns, unknown)
        return not bool(np.any(may & ~lost & (high >= least)))
