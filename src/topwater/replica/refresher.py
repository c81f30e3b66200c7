"""The part of the loop that spends: propose, elect, look up, rank one window.

::

    view ──► proposals ──► election ──► look_ups ──► ranking, with estimates
             (which keys    (policy,     (source,
              may be)        purse)       replica, learners)

Policies rank and sources fetch; only the election knows the budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, Freshness, IntArray, KeyArray, Millis, Shard
from topwater.protocols import Clock, Source
from topwater.replica.budget import Purse
from topwater.replica.election import Election
from topwater.replica.estimates import JUDGED, Estimates
from topwater.replica.learners import Learners
from topwater.replica.look_ups import Demand, Fetcher, LookingUp, LookUps, alone
from topwater.replica.policies import needs_truth, resolve
from topwater.replica.proposals import Proposals, Truth
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.remote_values import RemoteValues
from topwater.replica.store import NEVER, Replica
from topwater.replica.terms import Terms
from topwater.replica.time_left import TimeLeft
from topwater.replica.window_view import Ranking, WindowView
from topwater.scoring import Score
from topwater.windows import Windows

_WHOLE = Shard()
_NONE: IntArray = np.empty(0, np.int64)


class Refresher:
    """Keeps a replica fresh enough, and ranks windows with it.

    Parameters
    ----------
    settings
        Policy, budget and the rest.
    score
        Of stream values and the remote value, together.
    windows, k
        Of the query.
    source
        Where values are fetched. It must keep its contract; one that may not goes into a
        :class:`topwater.remote.Guarded`.
    truth
        For an evaluation: lets the policies that need it see the true values.
    shard
        The part of the keys that it sees, and of the budget that it gets.
    clock
        By which deadlines count; see :class:`~topwater.replica.time_left.TimeLeft`.

    Attributes
    ----------
    replica, values
        What is remembered, and what is taken for the remote values.
    learners
        What was learnt from look-ups.
    purse
        What may be spent.
    by_rows
        Whether the rows of a window must come sorted by key; see
        :class:`~topwater.replica.policies.PolicyEntry`.
    """

    def __init__(
        self,
        settings: RefreshSettings,
        score: Score,
        windows: Windows,
        k: int,
        source: Source,
        truth: Truth | None = None,
        shard: Shard = _WHOLE,
        clock: Clock | None = None,
    ) -> None:
        entry, proposer = resolve(settings.policy)
        self.by_rows = entry.by_rows
        if entry.needs_truth and truth is None:
            raise needs_truth(settings.policy)
        self.settings = settings
        self.terms = terms = Terms(settings, score, windows, k)
        self.replica = replica = Replica(settings.limit, settings.memory)
        self.values = values = RemoteValues(replica, settings.default)
        self.learners = learners = Learners(terms, replica, entry)
        replica.learnt = learners.bytes_per_key
        self.purse = Purse(settings.budget, shard)
        self._alone = shard.of == 1
        proposer = settings.refresh_from or proposer
        self._proposals = Proposals(terms, replica, values, learners.rates, proposer, truth)
        self._election = Election(settings, learners, self.purse)
        self._fetcher = Fetcher(source, replica, learners, self.purse)
        self._estimates = Estimates(terms, replica, values, learners.beliefs)
        self._time = TimeLeft(clock)
        self._most: int | None = None

    def seed_replica(self, keys: KeyArray, values: FloatArray, at: Millis) -> None:
        """Begin with values that are known already, without cost."""
        self.replica.put(self.replica.slots(keys), values, at)
        self.learners.beliefs.values.start(values)

    def begin(self, most: int | None = None) -> None:
        """Say that work on the next window begins: its deadline counts from here.

        ``most`` is for rankings that share a deadline: so many keys could be looked up by then.
        """
        self._time.begin()
        self._most = most

    def refresh(self, view: WindowView, *, hold: bool = False) -> Ranking:
        """Spend what may be spent on a window, and rank it.

        Nothing of the window's keys is forgotten if they are on ``hold``.
        """
        return alone(self.refreshing(view, hold=hold))

    def refreshing(self, view: WindowView, *, hold: bool = False) -> LookingUp[Ranking]:
        """The same, for somebody who looks up what several rankings want."""
        self._time.start_window()
        if not view.placed:
            view = view.at(self.replica.lend(view.keys))
        slots = view.slots
        self.replica.present(slots, view.index, view.end)
        self.replica.hear(slots, view.last_event)
        proposal = self._proposals.propose(view, slots, self._scores(view, slots))
        self.purse.begin(view.index)
        allowance = self.purse.allowance() if self._most is None else self._most
        elected = self._election.elect(proposal, allowance)
        got = yield Demand(proposal.at("keys", elected.rows), elected.worth, proposal.now)
        if got is None:
            seconds = self._time.for_fetching(self.settings.budget.seconds)
            look_ups = self._fetcher.look_up(proposal, elected.rows, seconds)
        else:
            look_ups = self._fetcher.take_in(proposal, elected.rows[: len(got.ok)], got)
        self._time.end_fetch()
        ranking = self._ranked(view, slots, look_ups)
        self.replica.reclaim()
        if self.by_rows:
            # Some policies note things of keys that are not remembered.
            self.learners.reset(slots[~self.replica.kept(slots)])
        forgotten = self.forget_surplus(slots if hold else _NONE)
        self._time.end_window()
        return replace(ranking, forgotten=forgotten)

    def snapshot(self) -> tuple[pa.Table, dict[str, Any]]:
        """All that a restart needs: a table by key, and a few numbers."""
        table = self.replica.snapshot()
        for name, column in self.learners.columns(self.replica.used()).items():
            table = table.append_column(name, column)
        return table, self.facts()

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        arrivals = self.replica.arrivals
        return {"purse": self.purse.snapshot(), "arrivals": arrivals, **self.learners.facts()}

    def restore(self, table: pa.Table, meta: Mapping[str, Any]) -> None:
        """Go on where :meth:`snapshot` was taken."""
        self.replica.restore(table)
        self.learners.restore(table, self.replica.used())
        self.restore_facts(meta)

    def restore_facts(self, meta: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self.learners.restore_facts(meta)
        self.purse.restore(meta["purse"])
        self.replica.arrivals = meta["arrivals"]

    def _scores(self, view: WindowView, slots: IntArray) -> FloatArray:
        return self.terms.scores(view.values, self.values.of_slots(slots))

    def _ranked(self, view: WindowView, slots: IntArray, look_ups: LookUps) -> Ranking:
        """The window's best by what is known now, and how right that may be."""
        remote = self.values.of_slots(slots)
        scores = self.terms.scores(view.values, remote)
        order = view.best_first(scores, self.terms.k + JUDGED)
        # A key that the remote side does not know is left out; one without a score is a bad one.
        unscored = np.isfinite(remote) & ~np.isfinite(scores)
        without = np.flatnonzero(np.isnan(remote))
        accuracy = self._estimates.accuracy(view, scores, order, without)
        top = order[: self.terms.k]
        fetched = self.replica.fetched[slots[top]]
        freshness = self._freshness(look_ups, *accuracy, len(without))
        return Ranking(
            rows=top,
            scores=scores[top],
            remote=self.values.shown(slots[top]),
            age=np.where(fetched == NEVER, -1, view.end - fetched),
            confidence=1.0 - self._estimates.stale(slots[top], view.end),
            assumed=self.values.assumed(slots[top]),
            # Whether nothing usable came at all, a shard can't tell: see topwater.monitor.shards.
            exact=self._all_read(view) and not (self._alone and freshness.nothing_usable),
            look_ups=look_ups,
            freshness=freshness,
            unscored=int(np.count_nonzero(unscored)),
        )

    def _all_read(self, view: WindowView) -> bool:
        """Whether every key of a window was read for its answer."""
        if view.left_out or len(self.replica) < len(view):
            return False
        return bool(np.all(self.replica.fetched[view.slots] == view.end))

    def _freshness(
        self, look_ups: LookUps, precision: float, ndcg: float, without_value: int
    ) -> Freshness:
        target = self.settings.budget.accuracy
        # A key that a service does not know is fine if the service knows others; while it
        # knows none, that is one also in windows for which nothing was worth asking again.
        knows = self.replica.holds_numbers
        in_vain = look_ups.in_vain and not (look_ups.unknown and knows)
        return Freshness(
            fetched=len(look_ups.keys),
            failed=look_ups.failed,
            bad=look_ups.bad,
            precision=precision,
            ndcg=ndcg,
            missed=target is not None and precision < target,
            without_value=without_value,
            nothing_usable=in_vain or (without_value > 0 and not knows),
        )

    def forget_surplus(self, keep: IntArray = _NONE, memory: int | None = None) -> int:
        """Forget what is beyond the limits, and say how many keys that was.

        Parameters
        ----------
        keep
            Slots to leave alone.
        memory
            A limit in bytes for now, where it is less than the usual one.
        """
        surplus = self.replica.surplus(keep, memory)
        if len(surplus):
            self.replica.forget(surplus)
            self.learners.reset(surplus)
        return len(surplus)
