"""The part of the loop that spends: elect, fetch, rescore, rank one window.

Policies rank and sources fetch; only this file knows the budget. Every policy gets the same.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, Fetched, FloatArray, IntArray, KeyArray, Millis, Shard
from topwater.protocols import Seeks, Source
from topwater.replica.beliefs import RateBeliefs
from topwater.replica.budget import Purse
from topwater.replica.policies import Polls, Proposal, Proposer, Truth, needs_truth, resolve
from topwater.replica.possible_worlds import fare
from topwater.replica.rate_estimators import Known, RateEstimator, estimators
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.store import NEVER, Replica
from topwater.replica.window_view import Outcome, Ranking, WindowView, looked_up
from topwater.replica.worth import Worth
from topwater.scoring import Score
from topwater.windows import Windows

_SCENARIOS = 128
_JUDGED = 512
_WHOLE = Shard()
_LONG_AGO: Millis = -(2**53)
_SPARE, _REMEMBERED = 0.05, 0.95
"""Seconds that are left to the end of a window's deadline; and what remains, a window later, of
the longest time that ranking took."""


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
        Where values are fetched. It must keep its contract; one that may not belongs into
        :func:`topwater.remote.guarded`.
    truth
        For an evaluation: lets the policies that need it see the true values.
    shard
        The part of the keys that it sees, and of the budget that it gets.
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
    ) -> None:
        self.settings = settings
        self.score = score
        self.windows = windows
        self.k = k
        self.source = source
        self.truth = truth
        self.replica = Replica(settings.limit)
        self.purse = Purse(settings.budget, shard)
        self._after = 0.0
        self._begun: float | None = None
        self._entry, proposer = resolve(settings.policy)
        self._proposer: Proposer = settings.refresh_from or proposer
        self._reads_every_key = settings.reads_every_key
        if self._entry.needs_truth and truth is None:
            raise needs_truth(settings.policy)
        self._policy = self._entry.make(settings.seed)
        # Beliefs serve the answer's estimates under every policy, and `worth` elects by them.
        self._judge = self._policy if isinstance(self._policy, Worth) else Worth(settings.seed)
        self._judge.aim = settings.aim
        self._judge.rates = RateBeliefs(windows.step, hints=settings.hint)
        self._rates: RateEstimator | None = None
        if self._entry.needs_rates and settings.estimator is not None:
            self._rates = self._estimator(settings.estimator)

    def seed_replica(self, keys: KeyArray, values: FloatArray, at: Millis) -> None:
        """Begin with values that are known already, without cost."""
        self.replica.put(self.replica.slots(keys), values, at)
        self._judge.values.start(values)

    def refresh(
        self, view: WindowView, deadline: float | None = None, seconds_used: float = 0.0
    ) -> Ranking:
        """Spend what may be spent on a window, and rank it."""
        begun = time.monotonic() if self._begun is None else self._begun
        if deadline is None and self.settings.budget.deadline is not None:
            deadline = self.settings.budget.deadline / 1_000 - seconds_used
        slots = self.replica.slots(view.keys)
        self.replica.present(slots, view.index, view.end)
        self.replica.hear(slots, view.last_event)
        scores = self._scores(view, slots)
        proposal = self._proposal(view, slots, scores)
        self.purse.begin(view.index)
        elected = self._elect(proposal, self.purse.allowance(seconds_used))
        if deadline is not None:
            deadline -= time.monotonic() - begun + self._reserve(deadline)
        outcome = self._fetch(proposal, elected, deadline)
        fetched = time.monotonic()
        ranking = self._ranked(view, slots, self._scores(view, slots), outcome)
        self._forget(slots)
        ended = time.monotonic()
        self._after = max(ended - fetched, _REMEMBERED * self._after)
        if self._begun is not None:
            self._begun = ended
        return ranking

    def begin(self) -> None:
        """Say that work on the next window begins: its deadline counts from here."""
        self._begun = time.monotonic()

    def _reserve(self, deadline: float) -> float:
        """What of the deadline is kept for ranking, so that the answer is out by then.

        Some more than it took lately, as there are others on the machine.
        """
        return min(deadline / 2, self._after + min(_SPARE, deadline / 8))

    def remote_of(self, keys: KeyArray) -> FloatArray:
        """What is taken for the remote value of each key now; asking enters none of them."""
        slots = self.replica.find(keys)
        met = slots >= 0
        values = np.full(len(keys), np.nan)
        values[met] = self._remote(slots[met])
        if not met.all():
            values[~met] = self._typical()
        return values

    def snapshot(self) -> tuple[pa.Table, dict[str, Any]]:
        """All that a restart needs: a table by key, and a few numbers."""
        table, slots = self.replica.snapshot(), self.replica.used()
        for part in self._parts():
            for name, column in part.snapshot(slots).items():
                table = table.append_column(name, column)
        return table, {
            "purse": self.purse.snapshot(),
            "values": self._judge.values.snapshot(),
            # Summed anew, it would differ in its last digits, and so could a ranking.
            "pooled": self._judge.rates.pooled.tolist(),
        }

    def restore(self, table: pa.Table, meta: Mapping[str, Any]) -> None:
        """Go on where :meth:`snapshot` was taken."""
        self.replica = Replica.build(table, self.settings.limit)
        for part in self._parts():
            part.restore(table, self.replica.used())
        self.purse.restore(meta["purse"])
        self._judge.values.restore(meta["values"])
        self._judge.rates.pooled = np.array(meta["pooled"])

    def _estimator(self, given: str | Mapping[str, Mapping[str, float]]) -> RateEstimator:
        if isinstance(given, Mapping):
            # A restart builds another replica.
            return Known(given["known"], lambda slots: self.replica.keys(slots))
        made: RateEstimator = estimators[given]()
        return made

    def _parts(self) -> list[Any]:
        parts: list[Any] = [self._policy]
        if self._judge is not self._policy:
            parts.append(self._judge)
        return parts if self._rates is None else [*parts, self._rates]

    def _scores(self, view: WindowView, slots: IntArray) -> FloatArray:
        remote = self._remote(slots)
        return self.score.rank_scores({**view.values, self.settings.remote: remote})

    def _remote(self, slots: IntArray) -> FloatArray:
        """What is taken for the remote value: a key never fetched counts as an average one."""
        value = self.replica.value[slots]
        if self.settings.default is not None:
            value = np.where(np.isnan(value), self.settings.default, value)
        known = self.replica.known(slots)
        return value if known.all() else np.where(known, value, self._typical())

    def _typical(self) -> float:
        """The mean of the values known; sorted, because a restart changes their order."""
        value = self.replica.value
        finite = np.sort(value[np.isfinite(value)])
        return float(finite.mean()) if len(finite) else self.settings.default or 0.0

    def _proposal(self, view: WindowView, slots: IntArray, scores: FloatArray) -> Proposal:
        """The keys that may be refreshed, with all that a policy may look at."""
        order = _order(scores, view.last_event, view.keys)
        position = np.full(len(slots), len(order))
        position[order] = np.arange(len(order))
        rows = np.arange(len(slots))
        if self._proposer == "candidates" and not self._reads_every_key:
            wanted = self._candidates(view, order)
            rows = np.flatnonzero(wanted | ~self.replica.known(slots))
        inside = slots[rows]
        others = np.empty(0, np.int64)
        if self._proposer == "replica":
            others = self.replica.others(slots)
        here = np.concatenate([inside, others])
        last_event = np.full(len(here), _LONG_AGO)
        last_event[: len(rows)] = view.last_event[rows]
        places = np.full(len(here), len(order))
        places[: len(rows)] = position[rows]

        def score_at(proposed: IntArray, remote: FloatArray) -> FloatArray:
            """Only rows of the window have a score."""
            at = rows[proposed]
            values = {name: column[at] for name, column in view.values.items()}
            return self.score.rank_scores({**values, self.settings.remote: remote})

        return Proposal(
            window=view.index,
            now=view.end,
            width=self.windows.width,
            step=self.windows.step,
            k=self.k,
            keys=self.replica.keys(here),
            slots=here,
            position=places,
            value=self._remote(here),
            fetched=self.replica.fetched[here],
            asked=self.replica.asked[here],
            vain=self.replica.vain[here],
            last_event=last_event,
            hinted=self.replica.hints[here],
            rates=np.zeros(len(here)) if self._rates is None else self._rates.rates(here),
            presence=self.replica.presence_at(here, view.index),
            ranking=scores[order],
            score_at=score_at,
            truth=self.truth,
        )

    def _candidates(self, view: WindowView, order: IntArray) -> BoolArray:
        """The k + spare best of this window, and of each later one that some of its keys reach."""
        wanted = np.zeros(len(view.keys), bool)
        for ahead in range(self.windows.overlap):
            opens = view.end - self.windows.width + ahead * self.windows.step
            alive = order[view.last_event[order] > opens]
            wanted[alive[: self.k + self.settings.spare]] = True
        return wanted

    def _elect(self, proposal: Proposal, allowance: int) -> IntArray:
        """The first distinct rows that may be spent on; keys never asked for come first.

        A key whose first fetch failed is left to the policy: keys that always fail would keep
        all others from being fetched. Without a limit the rest of the window follows, as what a
        policy leaves out would be kept for nothing.
        """
        if self.settings.reads_nothing:
            return np.empty(0, np.int64)
        unknown = np.flatnonzero((proposal.asked == NEVER) & proposal.inside)
        unknown = unknown[np.argsort(proposal.position[unknown], kind="stable")]
        ranked = self._policy.rank(proposal)
        ranked = ranked[~np.isin(ranked, unknown)]
        if isinstance(self._policy, Worth) and self.settings.budget.carry_over:
            ranked = self._worthwhile(self._policy, proposal, ranked)
        elected = np.concatenate([unknown, ranked])
        if self._reads_every_key:
            rest = np.flatnonzero(proposal.inside)
            return np.concatenate([elected, rest[~np.isin(rest, elected)]])
        return elected if self.settings.reads_all_candidates else elected[:allowance]

    def _worthwhile(self, policy: Worth, proposal: Proposal, ranked: IntArray) -> IntArray:
        """The rows that are not put off in favour of later windows."""
        if not policy.values.moves:
            return ranked
        worth = policy.worth(proposal)[ranked]
        return ranked[: self.purse.worthwhile(worth)]

    def _ask(self, keys: KeyArray, now: Millis, deadline: float | None) -> Fetched:
        if not len(keys):
            return Fetched(np.empty(0), np.empty(0, bool))
        if isinstance(self.source, Seeks):
            self.source.seek(now)
        return self.source.fetch(keys, deadline)

    def _fetch(self, proposal: Proposal, rows: IntArray, deadline: float | None) -> Outcome:
        """Ask the source, write the replica, and let everybody learn."""
        slots, keys = proposal.slots[rows], proposal.keys[rows]
        got = self._ask(keys, proposal.now, deadline)
        finite = np.isfinite(got.values)
        known = self.replica.known(slots)
        before, fetched = self.replica.value[slots], self.replica.fetched[slots]
        # Where the remote side has no value and had none before, that is what is known now.
        good = got.ok & (finite | np.isnan(before))
        values = np.where(finite, got.values, np.nan)
        self.replica.miss(slots[~good], proposal.now)
        changed = self.replica.put(slots[good], values[good], proposal.now)
        again = known[good]
        polls = Polls(
            now=proposal.now,
            slots=slots[good][again],
            seconds=(proposal.now - fetched[good][again]) / 1_000,
            changed=changed[again],
            before=before[good][again],
            after=values[good][again],
            hinted=proposal.hinted[rows][good][again],
        )
        self._learn(polls)
        if not again.all() and not self._judge.values.learnt:
            self._judge.values.start(self.replica.value)
        answered = int(np.count_nonzero(got.ok))
        # A source that fails at once is not a cheap one: then only a long time tells something.
        telling = answered > 0 or got.seconds > self.purse.seconds_per_fetch
        self.purse.spend(len(rows), answered, got.seconds if telling else 0.0)
        failed, bad = len(rows) - answered, int(np.count_nonzero(got.ok & ~finite))
        told = looked_up(keys, before, got)
        return Outcome(keys, failed, bad, got.seconds, tuple(got.problems().items()), told)

    def _learn(self, polls: Polls) -> None:
        if not len(polls.slots):
            return
        self._policy.observe(polls)
        if self._judge is not self._policy:
            self._judge.observe(polls)
        if self._rates is not None:
            self._rates.observe(polls.slots, polls.seconds, polls.changed)

    def _ranked(
        self, view: WindowView, slots: IntArray, scores: FloatArray, outcome: Outcome
    ) -> Ranking:
        order = _order(scores, view.last_event, view.keys)
        stale = self._judge.stale(
            slots, view.end, self.replica.fetched[slots], self.replica.hints[slots]
        )
        precision, ndcg = self._estimates(view, slots, order, stale)
        top = order[: self.k]
        fetched = self.replica.fetched[slots[top]]
        target = self.settings.budget.accuracy
        return Ranking(
            rows=top,
            scores=scores[top],
            remote=self._remote(slots[top]),
            age=np.where(fetched == NEVER, -1, view.end - fetched),
            confidence=1.0 - stale[top],
            fetched=outcome.keys,
            failed=outcome.failed,
            bad=outcome.bad,
            precision=precision,
            ndcg=ndcg,
            exact=bool(np.all(self.replica.fetched[slots] == view.end)),
            missed=target is not None and precision < target,
            seconds=outcome.seconds,
            problems=outcome.problems,
            looked_up=outcome.looked_up,
        )

    def _estimates(
        self, view: WindowView, slots: IntArray, order: IntArray, stale: FloatArray
    ) -> tuple[float, float]:
        """Estimated precision@k and nDCG@k: how the answer fares in random possible worlds.

        Keys without a value are not in the answer; in some worlds they have got one.
        """
        without = np.flatnonzero(np.isnan(self._remote(slots)))
        rows = np.concatenate([order[: self.k + _JUDGED], without[:_JUDGED]])
        if not len(rows):
            return 1.0, 1.0
        known = self.replica.known(slots[rows])
        if not known.all() and not self._judge.values.moves:
            # How values differ is not known either: one never fetched may be anything.
            return float(known.mean()), float(known.mean())
        rng = np.random.default_rng([self.settings.seed, view.index])
        value = self._remote(slots[rows])
        moved = rng.random((_SCENARIOS, len(rows))) < stale[rows]
        usual = np.where(np.isnan(value), self._judge.values.mean, value)
        worlds = np.where(moved, self._judge.values.draw(usual, _SCENARIOS, rng), value)
        columns = {name: np.tile(column[rows], _SCENARIOS) for name, column in view.values.items()}
        columns[self.settings.remote] = worlds.ravel()
        scores = self.score.rank_scores(columns).reshape(worlds.shape)
        return fare(scores, min(self.k, len(order)), self.k)

    def _forget(self, keep: IntArray) -> None:
        surplus = self.replica.surplus(keep)
        if len(surplus):
            self.replica.forget(surplus)
            self._policy.reset(surplus)
            self._judge.reset(surplus)
            if self._rates is not None:
                self._rates.reset(surplus)


def _order(scores: FloatArray, last_event: IntArray, keys: KeyArray) -> IntArray:
    """Rows with a score, best first: score, then the younger, then the smaller key."""
    order = np.lexsort((keys, -last_event, -scores))
    return order[np.isfinite(scores[order])]
