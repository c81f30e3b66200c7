"""Possible worlds of rows with several remote values: scores that they could truly have.

In each world every entry has values drawn from what is believed of them, the same for all rows that
share the entry. Empty places follow the last row that is ranked: so a world with fewer than k rows
is one like any other, and a row that fails its filter belongs behind them.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.joins.row_values import RowValues
from topwater.replica.possible_worlds import WORLDS, drawn_moves, fare, gain_of_knowing
from topwater.replica.utility import Aim

_EMPTY = -1e300
"""The score of an empty place: below every row that is ranked."""


class Entries(NamedTuple):
    """The entries of one join that some rows need.

    Attributes
    ----------
    slots
        Each once, in the order in which rows need them.
    of_row
        Which of them each row has; -1 for none.
    stale
        How likely some value of each differs by now.
    """

    slots: IntArray
    of_row: IntArray
    stale: FloatArray


class RowWorlds:
    """Scores that some rows could have.

    Parameters
    ----------
    values
        All rows of the window.
    rows
        Those that are looked at, the best first; what follows has no score by what is believed.
    scores
        Their scores by what is believed.
    k
        How many are shown.
    seed
        For what is drawn.
    """

    def __init__(
        self, values: RowValues, rows: IntArray, scores: FloatArray, k: int, seed: list[int]
    ) -> None:
        self._values = values
        self.rows = rows
        self._k = k
        self._seed = seed
        self._believed = np.where(np.isfinite(scores), scores, -np.inf)
        self._ranked = int(np.count_nonzero(np.isfinite(scores)))

    @cached_property
    def entries(self) -> list[Entries]:
        """The entries of each join."""
        now, found = self._values.view.end, []
        for store, slots in zip(self._values.stores, self._values.slots, strict=True):
            own, of_row = _distinct(slots[self.rows])
            fresh = np.ones(len(own))
            for each in store.stores.values():
                fresh *= 1.0 - each.drifts(own, now).stale
            found.append(Entries(own, of_row, 1.0 - fresh))
        return found

    @cached_property
    def _drawn(self) -> list[dict[str, FloatArray]]:
        """For each join, the values of rows in all worlds, by name: a row a world."""
        found = []
        for at, store in enumerate(self._values.stores):
            entries, now = self.entries[at], self._values.view.end
            columns = {}
            for which, (name, each) in enumerate(store.stores.items()):
                rng = np.random.default_rng([*self._seed, at, which])
                drifts = each.drifts(entries.slots, now)
                moves = drawn_moves(drifts.moved, drifts.stale, rng)
                worlds = moves.worlds(drifts.value, lambda _, value: value)
                columns[name] = self._by_row(worlds, entries.of_row, store.join.default_of(name))
            found.append(columns)
        return found

    def _by_row(self, worlds: FloatArray, of_row: IntArray, default: float | None) -> FloatArray:
        """The values of entries as those of rows."""
        if not worlds.shape[1]:
            without = np.nan if default is None else default
            return np.full((WORLDS, len(of_row)), without)
        found = worlds[:, of_row]
        if (of_row < 0).any():
            found[:, of_row < 0] = np.nan if default is None else default
        return found

    def _scores(self, joins: list[int]) -> FloatArray:
        """Scores where the values of these joins are those of the worlds: a row a world."""
        stream, believed = self._values.stream(self.rows), self._values.remote(self.rows)
        columns = {name: np.tile(each, WORLDS) for name, each in {**stream, **believed}.items()}
        for at in joins:
            columns |= {name: each.ravel() for name, each in self._drawn[at].items()}
        scores = self._values.judge.scores(columns).reshape(WORLDS, len(self.rows))
        return np.where(np.isfinite(scores), scores, -np.inf)

    @cached_property
    def _true(self) -> FloatArray:
        return self._scores([*range(len(self._values.stores))])

    def worth(self, aim: Aim) -> list[FloatArray]:
        """For each join, what knowing each of its entries brings to this answer, over all rows."""
        found = []
        for entries, gain in zip(self.entries, self.gains(aim), strict=True):
            there = entries.of_row >= 0
            worth = np.bincount(entries.of_row[there], gain[there], len(entries.slots))
            found.append(np.maximum(worth, 0.0))
        return found

    def gains(self, aim: Aim) -> list[FloatArray]:
        """For each join, what knowing its entry brings to each row, as if it served no other."""
        believed, true = self._with_places(self._believed), self._with_places(self._true)
        found = []
        for at in range(len(self.entries)):
            known = true
            if len(self.entries) > 1:
                known = self._with_places(self._scores([at]))
            gain = gain_of_knowing(believed, true, self._k, aim, known)
            found.append(np.concatenate([gain[: self._ranked], gain[self._ranked + self._k :]]))
        return found

    def fare(self, shown: int) -> tuple[float, float]:
        """Estimated precision@k and nDCG@k of showing the first rows."""
        if not len(self.rows):
            return 1.0, 1.0
        worlds = np.where(np.isfinite(self._true), self._true, np.nan)
        return fare(worlds, shown, self._k)

    def _with_places(self, scores: FloatArray) -> FloatArray:
        """Scores with k empty places behind the last row that is ranked by what is believed."""
        before, after = scores[..., : self._ranked], scores[..., self._ranked :]
        places = np.full((*scores.shape[:-1], self._k), _EMPTY)
        return np.ascontiguousarray(np.concatenate([before, places, after], axis=-1))


def _distinct(slots: IntArray) -> tuple[IntArray, IntArray]:
    """Each slot once in the order of its first row, and which of them each row has."""
    own, first, of_row = np.unique(slots, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(own), np.int64)
    rank[order] = np.arange(len(own))
    own, of_row = own[order], rank[of_row]
    lost = np.flatnonzero(own < 0)
    if not len(lost):
        return own, of_row
    gone = int(lost[0])
    of_row = np.where(of_row == gone, -1, of_row - (of_row > gone))
    return own[own >= 0], of_row
