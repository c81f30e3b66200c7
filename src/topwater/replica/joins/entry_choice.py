"""Which entries are worth reading for a window, and what reading each is worth."""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.joins.entry_store import EntryStore
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.joins.row_values import RowValues
from topwater.replica.joins.row_worlds import RowWorlds
from topwater.replica.joins.uses import uses
from topwater.replica.joins.wish import Wanted
from topwater.replica.population import FEWEST
from topwater.windows import Windows

JUDGED = 256
"""How many rows beside those shown are weighed one by one, and how many that might rise to them."""

_TRIFLE = 1e-9
_EXPLORED = 0.03
_FIRST = 1e6
_USUAL_COST = 100.0
_HIGH, _LOW = 0.9, 0.1
_SHIFT = 0.75


class EntryChoice:
    """Weighs the entries of a window.

    Parameters
    ----------
    settings
        What may be spent, and what counts.
    windows, k
        Of the query.

    Attributes
    ----------
    worlds
        By which possible worlds entries are weighed.
    """

    worlds: type[RowWorlds] = RowWorlds

    def __init__(self, settings: JoinSettings, windows: Windows, k: int) -> None:
        self._settings = settings
        self._windows = windows
        self._k = k

    def all_of(self, values: RowValues, scores: FloatArray) -> list[Wanted]:
        """Every entry that can matter: of all rows that may be ranked, the best first."""
        rows = np.flatnonzero(values.could_pass())
        first = values.view.best_first(np.where(np.isfinite(scores), scores, -1e300), None, rows)
        return [
            _wanted(store, _entries(slots[first]), None)
            for store, slots in zip(values.stores, values.slots, strict=True)
        ]

    def weighed(self, values: RowValues, scores: FloatArray) -> list[Wanted]:
        """The entries that are worth something, with what they are worth."""
        rows = self.judged(values, scores)
        seed = [self._settings.seed, values.view.index]
        worlds = self.worlds(values, rows, scores[rows], self._k, seed)
        worth = worlds.worth(self._settings.aim)
        found = []
        for at, (store, entries) in enumerate(zip(values.stores, worlds.entries, strict=True)):
            place = np.full(len(entries.slots), len(rows))
            there = np.flatnonzero(entries.of_row >= 0)[::-1]
            place[entries.of_row[there]] = there
            trifle = _TRIFLE * entries.stale / (1.0 + place)
            known = self._uses(store, entries.slots, values) * worth[at] + trifle
            total = known * 0.5 ** store.first.vain[entries.slots]
            slots, total = _joined(entries.slots, total, *self._unknown(values, at))
            order = np.argsort(-total, kind="stable")
            order = order[total[order] > 0]
            found.append(_wanted(store, slots[order], total[order]))
        return found

    def judged(self, values: RowValues, scores: FloatArray) -> IntArray:
        """Rows that are weighed: the best by what is believed, and those that might be."""
        view, k = values.view, self._k
        best = view.best_first(scores, k + JUDGED)
        rest = np.ones(len(view), bool)
        rest[best] = False
        might = np.where(rest, self._at_best(values, scores), np.nan)
        others = view.best_first(might, JUDGED)
        rows = np.concatenate([best, others])
        finite = np.isfinite(scores[rows])
        order = view.best_first(scores, None, rows[finite])
        return np.concatenate([order, rows[~finite]])

    def _at_best(self, values: RowValues, scores: FloatArray) -> FloatArray:
        """The best score that each row has if all its values are high, or low, or as believed."""
        best = np.where(np.isfinite(scores), scores, -np.inf)
        stream, judge = values.stream(), values.judge
        for share in (_HIGH, _LOW):
            columns = dict(stream)
            for store, slots in zip(values.stores, values.slots, strict=True):
                columns |= _at_share(store, slots, share)
            here = judge.score.rank_scores(columns)
            passes = (
                np.isfinite(here)
                if judge.condition is None
                else (judge.condition.holds(columns) & np.isfinite(here))
            )
            best = np.maximum(best, np.where(passes, here, -np.inf))
        return np.where(np.isfinite(best), best, np.nan)

    def _uses(self, store: EntryStore, slots: IntArray, values: RowValues) -> FloatArray:
        """In how many answers, this one included, what is read now is of use."""
        presence = store.first.presence_at(slots, values.view.index)
        parts = [
            uses(
                each.learners.beliefs.rates,
                each.aged(slots, values.view.end),
                presence,
                self._windows,
            )
            for each in store.stores.values()
        ]
        return np.asarray(np.mean(parts, axis=0))

    def _unknown(self, values: RowValues, join: int) -> tuple[IntArray, float]:
        """Entries that are read to learn what values are like, and what the first is worth.

        As long as too few are known, the first ones; then a small share that is drawn from those
        never read, of all rows alike.
        """
        store, slots = values.stores[join], values.slots[join]
        new = np.flatnonzero((slots >= 0) & store.never_asked(np.maximum(slots, 0)))
        known = store.known_numbers
        if known < FEWEST:
            rows = values.view.best_first(_without_remote(values), 4 * FEWEST, new)
            return _entries(slots[rows])[: 2 * FEWEST - known], _FIRST
        rng = np.random.default_rng([self._settings.seed, values.view.index, join, 7])
        cost = self._settings.budget.cost or _USUAL_COST
        usual = cost / len(values.stores) / store.join.cost
        count = int(_EXPLORED * usual + rng.random())
        if len(new) <= usual or not count:
            return slots[:0], 0.0
        return _entries(slots[_drawn_rows(values, new, rng.random(count))]), _FIRST


def _joined(
    slots: IntArray, worth: FloatArray, more: IntArray, first: float
) -> tuple[IntArray, FloatArray]:
    """Entries with others, of which each is worth less than the one before."""
    if not len(more):
        return slots, worth
    value = first / (1.0 + np.arange(len(more)))
    where = {slot: at for at, slot in enumerate(slots.tolist())}
    worth = worth.copy()
    fresh = np.array([slot not in where for slot in more.tolist()], bool)
    for slot, each in zip(more[~fresh].tolist(), value[~fresh].tolist(), strict=True):
        worth[where[slot]] = max(worth[where[slot]], each)
    return np.concatenate([slots, more[fresh]]), np.concatenate([worth, value[fresh]])


def _drawn_rows(values: RowValues, rows: IntArray, lots: FloatArray) -> IntArray:
    """Some rows, drawn by the times of their last events: no restart changes those."""
    times = np.unique(values.view.last_event[rows])
    drawn = times[(lots * len(times)).astype(np.int64)]
    found = rows[np.isin(values.view.last_event[rows], drawn)]
    return values.view.best_first(np.zeros(len(values.view)), len(lots), found)


def _without_remote(values: RowValues) -> FloatArray:
    """What rows would score if all remote values were 1: an order for the first look-ups."""
    columns = values.stream()
    ones = np.ones(len(values.view))
    columns |= {name: ones for store in values.stores for name in store.stores}
    scores = values.judge.score.rank_scores(columns)
    return np.where(np.isfinite(scores), scores, -1e300)


def _at_share(store: EntryStore, slots: IntArray, share: float) -> dict[str, FloatArray]:
    """Values of rows if they are high, or low: of those never read, a share of the population."""
    found = store.columns(slots)
    safe = np.maximum(slots, 0)
    for name, each in store.stores.items():
        population = each.values.population
        if not population.usable:
            continue
        known = each.replica.known(safe)
        at = float(np.quantile(population.known, share))
        middle = population.median
        value = found[name]
        # One that was read long ago may have moved: a part of the way to where others are.
        stale = np.where(known, value + (at - middle) * _SHIFT, at)
        found[name] = np.where(slots < 0, value, np.where(np.isnan(value), at, stale))
    return found


def _entries(slots: IntArray) -> IntArray:
    """Each entry once, in the order of rows."""
    _, first = np.unique(slots, return_index=True)
    found = slots[np.sort(first)]
    return found[found >= 0]


def _wanted(store: EntryStore, slots: IntArray, worth: FloatArray | None) -> Wanted:
    return Wanted(
        store.keys_at(slots), slots, np.full(len(slots), np.inf) if worth is None else worth
    )
