"""Ranks a window by what is known, and says how fresh and how right that may be."""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, Freshness
from topwater.replica.estimates import JUDGED, Estimates
from topwater.replica.look_ups import LookUps
from topwater.replica.remote_values import RemoteValues
from topwater.replica.store import NEVER, Replica
from topwater.replica.terms import Terms
from topwater.replica.window_view import Ranking, WindowView


class Ranker:
    """Ranks windows by what the replica holds.

    Parameters
    ----------
    terms, replica, values
        What is ranked, what is remembered, and what is taken for the remote values.
    estimates
        How right a ranking may be.
    alone
        Whether it sees all keys, and not those of one shard.
    """

    def __init__(
        self,
        terms: Terms,
        replica: Replica,
        values: RemoteValues,
        estimates: Estimates,
        *,
        alone: bool,
    ) -> None:
        self._terms = terms
        self._replica = replica
        self._values = values
        self._estimates = estimates
        self._alone = alone

    def scores(self, view: WindowView) -> FloatArray:
        """Of the keys of a window, by what is taken for their remote values."""
        return self._terms.scores(view.values, self._values.of_slots(view.slots))

    def ranked(self, view: WindowView, look_ups: LookUps) -> Ranking:
        """The window's best by what is known now, and how right that may be."""
        slots, k = view.slots, self._terms.k
        remote = self._values.of_slots(slots)
        scores = self._terms.scores(view.values, remote)
        order = view.best_first(scores, k + JUDGED)
        # A key that the remote side does not know is left out; one without a score is a bad one.
        unscored = np.isfinite(remote) & ~np.isfinite(scores)
        without = np.flatnonzero(np.isnan(remote))
        accuracy = self._estimates.accuracy(view, scores, order, without)
        top = order[:k]
        fetched = self._replica.fetched[slots[top]]
        freshness = self.freshness(look_ups, *accuracy, len(without))
        return Ranking(
            rows=top,
            scores=scores[top],
            remote=self._values.shown(slots[top]),
            age=np.where(fetched == NEVER, -1, view.end - fetched),
            confidence=1.0 - self._estimates.stale(slots[top], view.end),
            assumed=self._values.assumed(slots[top]),
            # Whether nothing usable came at all, a shard can't tell: see topwater.monitor.shards.
            exact=self._all_read(view) and not (self._alone and freshness.nothing_usable),
            look_ups=look_ups,
            freshness=freshness,
            unscored=int(np.count_nonzero(unscored)),
        )

    def freshness(
        self, look_ups: LookUps, precision: float, ndcg: float, without_value: int
    ) -> Freshness:
        """What was looked up, and how right an answer is estimated to be."""
        # A key that a service does not know is fine if the service knows others; while it
        # knows none, that is one also in windows for which nothing was worth asking again.
        knows = self._replica.holds_numbers
        in_vain = look_ups.in_vain and not (look_ups.unknown and knows)
        return Freshness(
            fetched=len(look_ups.keys),
            failed=look_ups.failed,
            bad=look_ups.bad,
            precision=precision,
            ndcg=ndcg,
            missed=self._terms.settings.missed(precision, ndcg),
            without_value=without_value,
            nothing_usable=in_vain or (without_value > 0 and not knows),
        )

    def _all_read(self, view: WindowView) -> bool:
        """Whether every key of a window was read for its answer."""
        if view.left_out or len(self._replica) < len(view):
            return False
        return bool(np.all(self._replica.read_at(view.slots, view.end)))
