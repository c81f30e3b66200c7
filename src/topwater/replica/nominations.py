"""What a shard does where all shards have one ranking and one purse: it nominates keys.

::

    view ──► kept keys of the window ────────────────────┐
         ──► the best of the others, as far as ──► kept ─┼──► offer ──► the ranking of all shards
             the shard's credit reaches                  │
         ──► the best of those left ─────────────────────┘

Values, beliefs and the budget are elsewhere, with the ranking of all shards; nothing comes back
from there. So a shard that nominated a key offers it in every window that holds it, as long as it
remembers it: the ranking may know its value. All nominations of a window are no more than its
budget, so they grow as the replica does, and are bounded as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray, Shard
from topwater.replica.border import JUDGED
from topwater.replica.key_slots import KeySlots
from topwater.replica.offers import Offer
from topwater.replica.places import WindowPlaces
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.store import Replica
from topwater.replica.terms import Terms
from topwater.replica.window_view import WindowView

IN_TIME = 1_024
"""How many keys all shards nominate for a window where its budget is a time."""

_REMOTE = (1.5, 1_500.5, 0.015, -1.5)
"""What is taken for remote values that are not known here: the first that scores can be made of."""

_NONE: IntArray = np.empty(0, np.int64)


class Nominations:
    """Keeps the keys that a shard nominated, and offers rows of its windows.

    It stands where a :class:`~topwater.replica.refresher.Refresher` does in a monitor of its own.

    Parameters
    ----------
    terms
        What is ranked, and how its remote side is kept fresh.
    shard
        Which part of the keys it sees.

    Attributes
    ----------
    replica
        The keys that were nominated; none has a value.
    learners
        Nothing is learnt here.
    credit
        How many keys may be nominated. What a window has no use for is left for later ones, up to
        the budget of a whole window.
    """

    by_rows = False

    def __init__(self, terms: Terms, shard: Shard) -> None:
        settings: RefreshSettings = terms.settings
        self.terms = terms
        self.replica = Replica(settings.limit, settings.memory)
        self.learners = _Unlearnt()
        self.credit = 0
        self._shard = shard
        limit = settings.budget.limit
        self._budget = IN_TIME if limit is None else limit

    @property
    def index(self) -> KeySlots:
        """Gives keys their slots."""
        return self.replica.index

    @property
    def size(self) -> int:
        """About how many bytes all that is remembered takes."""
        return self.replica.size

    def begin(self, most: int | None = None) -> None:
        """Nothing is looked up here, so no deadline counts."""

    def offer(self, view: WindowView) -> Offer:
        """Nominate keys of a window, and offer what may matter of it.  O(keys)."""
        scores = self._scores(view)
        self._nominate(view, scores)
        kept = self.replica.kept(view.slots)
        self.replica.seen[view.slots[kept]] = view.end
        others = np.flatnonzero(~kept)
        # As many as those that are shown or judged may be of this shard alone.
        best = view.best_first(scores, self.terms.k + JUDGED, others)
        rows = np.concatenate([np.flatnonzero(kept), best])
        offer = Offer(
            view.arrow_at(rows),
            {name: column[rows] for name, column in view.values.items()},
            view.last_event[rows],
            kept[rows],
            left_out=len(view) - len(rows),
            unscored=int(np.count_nonzero(~np.isfinite(scores[others]))),
        )
        self.forget_surplus()
        return offer

    def _nominate(self, view: WindowView, scores: FloatArray) -> None:
        share = self._shard.share(self._budget, view.index)
        self.credit = min(self._budget, self.credit + share)
        new = np.flatnonzero(~self.replica.kept(view.slots))
        best = WindowPlaces(view, scores).best_of(new, min(self.credit, len(new)))
        self.replica.keep(view.slots[best])
        self.credit -= len(best)

    def _scores(self, view: WindowView) -> FloatArray:
        """What orders keys of which the stream alone is known: with equal remote values."""
        scores = np.empty(0)
        for remote in _REMOTE:
            scores = self.terms.scores(view.values, np.full(len(view), remote))
            if np.isfinite(scores).any():
                break
        return scores

    def forget_surplus(self, keep: IntArray = _NONE, memory: int | None = None) -> int:
        """Forget keys beyond the limits, and say how many that was."""
        surplus = self.replica.surplus(keep, memory)
        if len(surplus):
            self.replica.forget(surplus)
        return len(surplus)

    def snapshot(self) -> tuple[pa.Table, dict[str, Any]]:
        """All that a restart needs: a table by key, and a few numbers."""
        return self.replica.snapshot(), self.facts()

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        return {"arrivals": self.replica.arrivals, "credit": self.credit}

    def restore(self, table: pa.Table, meta: Mapping[str, Any]) -> None:
        """Go on where :meth:`snapshot` was taken."""
        self.replica.restore(table)
        self.restore_facts(meta)

    def restore_facts(self, meta: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self.replica.arrivals = meta["arrivals"]
        self.credit = meta["credit"]


class _Unlearnt:
    """In place of learners."""

    def columns(self, slots: IntArray) -> dict[str, pa.Array]:  # noqa: ARG002
        """Nothing to keep."""
        return {}

    def reset(self, slots: IntArray) -> None:
        """Nothing to forget."""

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Nothing was kept."""
