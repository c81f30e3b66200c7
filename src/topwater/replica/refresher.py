"""The part of the loop that spends: propose, elect, look up, rank one window.

::

    view ──► proposals ──► election ──► look_ups ──► ranking, with estimates
             (which keys    (policy,     (source,
              may be)        purse)       replica, learners)

Policies rank and sources fetch; only the election knows the budget.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray, KeyArray, Millis, Shard
from topwater.protocols import Clock, Source
from topwater.replica.audit import Audit
from topwater.replica.auditor import Auditor, Drawn
from topwater.replica.budget import Purse
from topwater.replica.election import Election
from topwater.replica.estimates import Estimates
from topwater.replica.key_slots import KeySlots
from topwater.replica.learners import Learners
from topwater.replica.look_ups import Demand, Fetcher, LookingUp, LookUps, alone
from topwater.replica.noise import Noise
from topwater.replica.notices import NoticeDesk
from topwater.replica.outcomes import Outcomes
from topwater.replica.policies import needs_truth, resolve
from topwater.replica.proposals import Proposals, Truth
from topwater.replica.pushed_values import PushedValues
from topwater.replica.ranker import Ranker
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.remote_values import RemoteValues
from topwater.replica.set_point import ROUNDS, SetPoint
from topwater.replica.store import Replica
from topwater.replica.terms import Terms
from topwater.replica.time_left import TimeLeft
from topwater.replica.window_view import Ranking, WindowView
from topwater.scoring import Score
from topwater.windows import Windows

ONLY = "source"
"""What the source of a single remote value is called in notices."""

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
    notices
        Where changes that are told wait for their windows, if somebody listens to them.
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
        self.learners = learners = Learners(terms, replica, entry)
        self.values = values = RemoteValues(replica, settings.default, learners.said)
        replica.learnt = learners.bytes_per_key
        self.purse = Purse(settings.budget, shard)
        proposer = settings.refresh_from or proposer
        self._proposals = Proposals(terms, replica, values, learners.rates, proposer, truth)
        self._election = Election(settings, learners, self.purse)
        noise = None if settings.noise is None else Noise.of(settings.noise)
        self._fetcher = Fetcher(source, replica, learners, self.purse, noise)
        self._estimates = Estimates(terms, replica, values, learners.beliefs)
        self._ranker = Ranker(terms, replica, values, self._estimates, alone=shard.of == 1)
        self._outcomes = Outcomes(terms, values, self._estimates)
        self._set_point = SetPoint.of(settings.budget, settings.aim)
        self._auditor: Auditor | None = None
        if settings.audit:
            self._auditor = Auditor(terms, replica, self._estimates, Audit(settings.audit))
        self._drawn: Drawn | None = None
        self.notices: NoticeDesk | None = None
        self._pushed: PushedValues | None = None
        self._time = TimeLeft(clock)
        self._most: int | None = None

    @property
    def index(self) -> KeySlots:
        """Gives keys their slots."""
        return self.replica.index

    @property
    def size(self) -> int:
        """About how many bytes all that is remembered takes."""
        return self.replica.size

    def listen(self, notices: NoticeDesk) -> None:
        """From now on heed notices of changes."""
        self.notices = notices
        self._pushed = PushedValues(notices, ONLY, self.index, {self.settings.remote: self})

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
        """The same, for a caller that looks up what several rankings want."""
        self._time.start_window()
        if not view.placed:
            view = view.at(self.replica.lend(view.keys))
        slots = view.slots
        if self.notices is not None and self._pushed is not None:
            self.notices.due(view.end)
            self._pushed.take_in(view.end)
            self._pushed.confirm(slots, view.end)
        self.replica.present(slots, view.index, view.end)
        self.replica.hear(slots, view.last_event)
        self.purse.begin(view.index)
        ranking = yield from self._looking_up(view)
        if self.notices is not None:
            ranking = replace(ranking, notices=self.notices.outcomes())
        self.replica.reclaim()
        if self.by_rows:
            # Some policies note things of keys that are not remembered.
            self.learners.reset(slots[~self.replica.kept(slots)])
        forgotten = self.forget_surplus(slots if hold else _NONE)
        self._time.end_window()
        return replace(ranking, forgotten=forgotten)

    def _looking_up(self, view: WindowView) -> LookingUp[Ranking]:
        """Look up what is elected, and rank; again, if more came of it than an accuracy allows."""
        allowance = self.purse.allowance(self._most)
        look_ups = yield from self._round(view, allowance)
        ranking = self._ranker.ranked(view, look_ups)
        # Before more is looked up: draws tell of those that were left out so far.
        self._judge(view, ranking)
        if self._set_point is not None:
            ranking = yield from self._more_rounds(view, ranking, allowance, self._set_point)
        ranking = self._audited(ranking)
        if not self.learners.noise.noisy:
            return ranking
        return replace(ranking, freshness=replace(ranking.freshness, noisy=True))

    def _more_rounds(
        self, view: WindowView, ranking: Ranking, allowance: int, point: SetPoint
    ) -> LookingUp[Ranking]:
        """Look up more if less came of it than an accuracy needs."""
        for _ in range(1, ROUNDS):
            left = min(allowance - len(ranking.look_ups.keys), self._left_in_time())
            if left <= 0 or ranking.look_ups.failed or point.reached(ranking.freshness):
                break
            more = yield from self._round(view, left, more=True)
            ranking = self._ranker.ranked(view, ranking.look_ups.and_more(more))
        excess = 0.0 if self._auditor is None else self._auditor.audit.excess
        out_of_reach = point.note(ranking.freshness, excess)
        return replace(ranking, freshness=replace(ranking.freshness, out_of_reach=out_of_reach))

    def _round(self, view: WindowView, allowance: int, *, more: bool = False) -> LookingUp[LookUps]:
        """Elect, and ask the source once."""
        scores = self._ranker.scores(view)
        proposal = self._proposals.propose(view, view.slots, scores)
        elected = self._election.elect(proposal, allowance)
        if self._set_point is not None:
            drawn = self._election.drawn(proposal, elected)
            slots = proposal.slots[elected.rows[drawn:]]
            curve = self._outcomes.curve(view, scores, slots)
            elected = self._set_point.of_elected(elected, curve, drawn)
            if not more:
                again = self._set_point.again(len(elected.rows), len(proposal))
                elected = self._election.with_oldest(proposal, elected, again, allowance)
        if self._auditor is not None and not more:
            self._drawn = self._auditor.draw(view, scores, proposal, elected.rows, allowance)
            if self._drawn is not None:
                elected = elected.with_drawn(self._drawn.distinct, allowance)
        got = yield Demand(proposal.at("keys", elected.rows), elected.worth, proposal.now)
        if got is None:
            seconds = self._time.for_fetching(self.settings.budget.seconds)
            look_ups = self._fetcher.look_up(proposal, elected.rows, seconds, more=more)
        else:
            rows = elected.rows[: len(got.ok)]
            look_ups = self._fetcher.take_in(proposal, rows, got, more=more)
        self._time.end_fetch(look_ups.seconds)
        return look_ups

    def _judge(self, view: WindowView, ranking: Ranking) -> None:
        """Take note of what came for keys drawn at random, if there were any."""
        if self._auditor is not None and self._drawn is not None:
            scores, claim = self._ranker.scores(view), ranking.freshness.precision
            self._auditor.judge(view, scores, self._drawn, ranking.look_ups, claim)

    def _audited(self, ranking: Ranking) -> Ranking:
        """The same with what look-ups drawn at random say of answers."""
        if self._auditor is None:
            return ranking
        fresh, audit = ranking.freshness, self._auditor.audit
        found = audit.estimate
        if found is None:
            return ranking
        return replace(
            ranking,
            freshness=replace(
                fresh,
                audited=found.precision,
                audited_low=found.low,
                audited_high=found.high,
                doubtful=audit.contradicts,
            ),
        )

    def _left_in_time(self) -> int:
        """For how many look-ups time is left before the deadline."""
        seconds = self._time.for_fetching(self.settings.budget.seconds)
        return sys.maxsize if seconds is None else self.purse.fetches_within(seconds)

    def snapshot(self) -> tuple[pa.Table, dict[str, Any]]:
        """All that a restart needs: a table by key, and a few numbers."""
        table = self.replica.snapshot()
        for name, column in self.learners.columns(self.replica.used()).items():
            table = table.append_column(name, column)
        return table, self.facts()

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        found = {"purse": self.purse.snapshot(), "arrivals": self.replica.arrivals}
        if self._set_point is not None:
            found["set_point"] = self._set_point.snapshot()
        if self._auditor is not None:
            found["audit"] = self._auditor.audit.snapshot()
        if self.notices is not None:
            found["notices"] = self.notices.facts()
        return found | self.learners.facts()

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
        # What is asked for may change at a restart.
        if self._set_point is not None and "set_point" in meta:
            self._set_point.restore(meta["set_point"])
        if self._auditor is not None and "audit" in meta:
            self._auditor.audit.restore(meta["audit"])
        if self.notices is not None:
            self.notices.restore_facts(meta.get("notices"))

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
