"""Possible worlds of rows with several remote values: scores that they could truly have.

In each world every entry has values drawn from what is believed of them, the same for all rows that
share the entry. Empty places follow the last row that is ranked: so a world with fewer than k rows
is one like any other, and a row that fails its filter belongs behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.joins.row_values import RowValues
from topwater.replica.possible_worlds import WORLDS, drawn_moves, fare
from topwater.replica.utility import Aim, gains, weights

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

    def rows(self) -> tuple[IntArray, IntArray]:
        """The rows of each entry, one after the other, and where those of each begin."""
        order = np.argsort(self.of_row, kind="stable")
        order = order[self.of_row[order] >= 0]
        return order, np.searchsorted(self.of_row[order], np.arange(len(self.slots) + 1))


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
    def _drawn(self) -> dict[str, FloatArray]:
        """The values of each join's entries in all worlds, by name: a row a world."""
        found: dict[str, FloatArray] = {}
        now = self._values.view.end
        for at, store in enumerate(self._values.stores):
            slots = self.entries[at].slots
            for which, (name, each) in enumerate(store.stores.items()):
                rng = np.random.default_rng([*self._seed, at, which])
                drifts = each.drifts(slots, now)
                moves = drawn_moves(drifts.moved, drifts.stale, rng)
                found[name] = moves.worlds(drifts.value, lambda _, value: value)
        return found

    def _scores(self, joins: Sequence[int]) -> FloatArray:
        """Scores where the values of these joins are those of the worlds: a row a world."""
        stream, believed = self._values.stream(self.rows), self._values.remote(self.rows)
        columns = {
            name: np.tile(each, (WORLDS, 1)) for name, each in {**stream, **believed}.items()
        }
        for at in joins:
            of_row = self.entries[at].of_row
            here = np.flatnonzero(of_row >= 0)
            for name in self._values.stores[at].stores:
                columns[name][:, here] = self._drawn[name][:, of_row[here]]
        flat = {name: each.ravel() for name, each in columns.items()}
        scores = self._values.judge.scores(flat).reshape(WORLDS, len(self.rows))
        return self._with_places(np.where(np.isfinite(scores), scores, -np.inf))

    @cached_property
    def _true(self) -> FloatArray:
        return self._scores(range(len(self.entries)))

    def worth(self, aim: Aim) -> list[FloatArray]:
        """For each join, what knowing each of its entries brings to this answer."""
        return [
            np.maximum(0.0, self._gain(at, aim, *entries.rows()))
            for at, entries in enumerate(self.entries)
        ]

    def gains(self, aim: Aim) -> list[FloatArray]:
        """For each join, what knowing its entry brings to each row, as if it served no other."""
        each = np.arange(len(self.rows)), np.arange(len(self.rows) + 1)
        return [self._gain(at, aim, *each) for at in range(len(self.entries))]

    def _gain(self, join: int, aim: Aim, rows: IntArray, starts: IntArray) -> FloatArray:
        # Imported late: the compiler takes half a second to load.
        from topwater.replica.joins.entry_kernels import gains_of_entries

        known = self._true if len(self.entries) == 1 else self._scores([join])
        found = gains_of_entries(
            self._with_places(self._believed),
            known,
            self._true,
            rows + self._k * (rows >= self._ranked),
            starts,
            *self._utility(aim, known.shape[1]),
        )
        return np.asarray(found / WORLDS)

    def _utility(self, aim: Aim, places: int) -> tuple[FloatArray, FloatArray]:
        """What precision and nDCG count of each true place, and the discount of each shown."""
        (ndcg, precision), gain = weights(aim), gains(places)
        discount = 1.0 / np.log2(np.arange(2, self._k + 2))
        right = (np.arange(places) < self._k) / self._k
        return np.column_stack(
            [precision * right, ndcg * gain / (gain[: self._k] @ discount)]
        ), discount

    def fare(self, shown: int) -> tuple[float, float]:
        """Estimated precision@k and nDCG@k of showing the first rows."""
        if not len(self.rows):
            return 1.0, 1.0
        ranked = self._ranked
        true = np.delete(self._true, np.s_[ranked : ranked + self._k], axis=1)
        return fare(np.where(np.isfinite(true), true, np.nan), shown, self._k)

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
