"""The election and its estimates as they are defined: everything, for every key.

The slow twin of `topwater.replica`: all keys are sorted, every column of every key is read, all
quantiles of all keys are tried, in no more passes than it takes to say so. What is believed, and
what is remembered, is the product's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray, KeyArray, Millis
from topwater.replica import Ranking, Refresher, WindowView
from topwater.replica.border import Tried
from topwater.replica.election import _shuffled
from topwater.replica.look_ups import LookUps
from topwater.replica.policies import (
    AtRandom,
    Borderline,
    FromTheTop,
    LeastRecent,
    Policy,
    by_age,
    shuffled,
)
from topwater.replica.population import NOBODY, Population
from topwater.replica.possible_values import Moved, Passed
from topwater.replica.possible_worlds import decided
from topwater.replica.rate_beliefs import seconds_since
from topwater.replica.store import NEVER
from topwater.replica.ttl import TimeToLive
from topwater.replica.utility import Aim, Utility, gains, weights
from topwater.replica.worth import Worth

_LONG_AGO: Millis = -(2**53)
_WORLDS = 128
_JUDGED = 512
_DOUBTFUL = 0.02
_LEAST = 1e-9
_LATER = 1e-4
_HORIZON = 6
_DECAY = 0.8


@dataclass(frozen=True, slots=True)
class FullProposal:
    """All columns of all keys that may be refreshed."""

    window: int
    now: Millis
    width: Millis
    step: Millis
    k: int
    keys: KeyArray
    slots: IntArray
    position: IntArray
    value: FloatArray
    fetched: IntArray
    asked: IntArray
    vain: IntArray
    last_event: IntArray
    hinted: IntArray
    rates: FloatArray
    presence: FloatArray
    ranking: FloatArray
    score_at: Callable[[IntArray, FloatArray], FloatArray]
    truth: Any = None
    most: int | None = None
    population: Population = NOBODY
    by_one: bool = False

    def __len__(self) -> int:
        return len(self.slots)

    def at(self, name: str, rows: IntArray) -> Any:
        return getattr(self, name)[rows]

    @property
    def inside(self) -> BoolArray:
        return np.asarray(self.last_event > self.now - self.width)


def best_first(view: WindowView, scores: FloatArray) -> IntArray:
    order = np.lexsort((view.keys, -view.last_event, -scores))
    return order[np.isfinite(scores[order])]


class FullRefresher(Refresher):
    """A refresher that elects and estimates with everything."""

    def refresh(self, view: WindowView, *, hold: bool = False) -> Ranking:
        self._time.start_window()
        slots = self.replica.lend(view.keys)
        self.replica.present(slots, view.index, view.end)
        self.replica.hear(slots, view.last_event)
        proposal = self._all_columns(view, slots)
        self.purse.begin(view.index)
        deadline = self.settings.budget.seconds
        allowance = self.purse.allowance()
        elected = self._elected(proposal, allowance)
        seconds = self._time.for_fetching(deadline)
        look_ups = self._fetcher.look_up(proposal, elected, seconds)  # type: ignore[arg-type]
        self._time.end_fetch()
        ranking = self._ranking(view, slots, look_ups)
        self.learners.reset(self.replica.reclaim())
        forgotten = self.forget_surplus(slots if hold else np.empty(0, np.int64))
        self._time.end_window()
        return replace(ranking, forgotten=forgotten)

    def _all_columns(self, view: WindowView, slots: IntArray) -> FullProposal:
        terms, replica, rates = self.terms, self.replica, self.learners.rates
        scores = terms.scores(view.values, self.values.of_slots(slots))
        order = best_first(view, scores)
        rows = self._rows(view, slots, order)
        outside = np.empty(0, np.int64)
        if self._proposals._proposer == "replica":
            outside = replica.others(slots)
        here = np.concatenate([slots[rows], outside])
        position = np.full(len(slots), len(order))
        position[order] = np.arange(len(order))

        def score_at(proposed: IntArray, remote: FloatArray) -> FloatArray:
            at = rows[proposed]
            values = {name: column[at] for name, column in view.values.items()}
            return terms.scores(values, remote)

        return FullProposal(
            window=view.index,
            now=view.end,
            width=terms.windows.width,
            step=terms.windows.step,
            k=terms.k,
            keys=replica.keys(here),
            slots=here,
            position=_placed(position[rows], len(here), len(order)),
            value=self.values.of_slots(here),
            fetched=replica.fetched[here],
            asked=replica.asked[here],
            vain=replica.vain[here],
            last_event=_placed(view.last_event[rows], len(here), _LONG_AGO),
            hinted=replica.hints[here],
            rates=np.zeros(len(here)) if rates is None else rates.rates(here),
            presence=replica.presence_at(here, view.index),
            ranking=scores[order],
            score_at=score_at,
            truth=self._proposals._truth,
            population=self.values.population,
            by_one=len(view.values) == 1,
        )

    def _rows(self, view: WindowView, slots: IntArray, order: IntArray) -> IntArray:
        terms = self.terms
        if self._proposals._proposer != "candidates" or self.settings.reads_every_key:
            return np.arange(len(slots))
        wanted = np.zeros(len(slots), bool)
        for ahead in range(terms.windows.overlap):
            opens = view.end - terms.windows.width + ahead * terms.windows.step
            alive = order[view.last_event[order] > opens]
            wanted[alive[: terms.k + self.settings.spare]] = True
        return np.flatnonzero(wanted | ~self.replica.known(slots))

    def _elected(self, proposal: FullProposal, allowance: int) -> IntArray:
        if self.settings.reads_nothing:
            return np.empty(0, np.int64)
        unknown = np.flatnonzero((proposal.asked == NEVER) & proposal.inside)
        if self._competes(proposal):
            drawn = full_explored(proposal, unknown, allowance, self.settings.seed)
            ranked = self._by_policy(proposal, unknown[:0], allowance)
            return np.concatenate([drawn, ranked[~np.isin(ranked, drawn)]])[:allowance]
        unknown = unknown[np.argsort(proposal.position[unknown], kind="stable")]
        elected = np.concatenate([unknown, self._by_policy(proposal, unknown)])
        if self.settings.reads_every_key:
            rest = np.flatnonzero(proposal.inside)
            return np.concatenate([elected, rest[~np.isin(rest, elected)]])
        return elected if self.settings.reads_all_candidates else elected[:allowance]

    def _competes(self, proposal: FullProposal) -> bool:
        bounded = not (self.settings.reads_every_key or self.settings.reads_all_candidates)
        return bounded and isinstance(self.learners.policy, Worth) and proposal.population.usable

    def _by_policy(
        self, proposal: FullProposal, unknown: IntArray, most: int | None = None
    ) -> IntArray:
        policy = self.learners.policy
        if not isinstance(policy, Worth):
            ranked = full_rank(policy, proposal)
            return ranked[~np.isin(ranked, unknown)]
        carries = self.purse.budget.carry_over and policy.values.moves
        worth = FullWorth(policy, proposal).worth(None if carries else most)
        rows = np.flatnonzero(worth > 0)
        ranked = rows[np.lexsort((proposal.position[rows], -worth[rows]))]
        ranked = ranked[~np.isin(ranked, unknown)]
        if not self.purse.budget.carry_over or not policy.values.moves:
            return ranked
        return ranked[: self.purse.worthwhile(worth[ranked])]

    def _ranking(self, view: WindowView, slots: IntArray, look_ups: LookUps) -> Ranking:
        remote = self.values.of_slots(slots)
        scores = self.terms.scores(view.values, remote)
        order = best_first(view, scores)
        unscored = np.isfinite(remote) & ~np.isfinite(scores)
        beliefs, replica = self.learners.beliefs, self.replica
        stale = beliefs.stale(slots, view.end, replica.fetched[slots], replica.hints[slots])
        accuracy = self._accuracy(view, slots, order, stale)
        top = order[: self.terms.k]
        fetched = self.replica.fetched[slots[top]]
        lacking = int(np.count_nonzero(self.values.lacking(slots)))
        freshness = self._ranker.freshness(look_ups, *accuracy, lacking)
        return Ranking(
            rows=top,
            scores=scores[top],
            remote=self.values.shown(slots[top]),
            age=np.where(fetched == NEVER, -1, view.end - fetched),
            confidence=1.0 - stale[top],
            assumed=self.values.assumed(slots[top]),
            exact=bool(np.all(self.replica.fetched[slots] == view.end))
            and not freshness.nothing_usable,
            look_ups=look_ups,
            freshness=freshness,
            unscored=int(np.count_nonzero(unscored)),
        )

    def _accuracy(
        self, view: WindowView, slots: IntArray, order: IntArray, stale: FloatArray
    ) -> tuple[float, float]:
        k, model = self.terms.k, self.learners.beliefs.values
        without = np.flatnonzero(np.isnan(self.values.of_slots(slots)))
        rows = np.concatenate([order[: k + _JUDGED], without[:_JUDGED]])
        if not len(rows):
            return 1.0, 1.0
        if not self.replica.holds_numbers:
            return 0.0, 0.0
        known = self.replica.known(slots[rows])
        if not known.all() and not model.moves:
            return float(known.mean()), float(known.mean())
        rng = np.random.default_rng([self.settings.seed, view.index, 5, 2])
        value = self.values.of_slots(slots[rows])
        usual = np.where(np.isnan(value), model.mean, value)
        worlds = drawn(self._moved(slots[rows], usual, view.end), value, stale[rows], rng)
        unseen = ~self.replica.known(slots)
        population = self.values.population if unseen.any() else NOBODY
        another = np.random.default_rng([self.settings.seed, view.index, 5, 1])
        # What values could be that were never read is a matter of definition.
        chances = population.in_worlds(_WORLDS, another)
        if population.usable:
            third = np.random.default_rng([self.settings.seed, view.index, 5, 3])
            times = population.likeness.times(full_said(self._score_at(view), rows[~known]))
            worlds[:, ~known] = times * population.drawn(chances, len(times), third)
        columns = {name: np.tile(column[rows], _WORLDS) for name, column in view.values.items()}
        scores = self.terms.scores(columns, worlds.ravel()).reshape(worlds.shape)
        # So is what is expected beyond the first keys.
        believed = self.terms.scores(view.values, self.values.of_slots(slots))
        others = self._estimates._others(view.at(slots), believed, order, rows)
        if others is not None:
            more = others.best(chances / population.chances, k + 8, another)
            scores = np.concatenate([scores, more], axis=1)
        return full_fare(scores, min(k, len(order)), k)

    def _score_at(self, view: WindowView) -> Callable[[IntArray, FloatArray], FloatArray]:
        def score_at(rows: IntArray, remote: FloatArray) -> FloatArray:
            columns = {name: column[rows] for name, column in view.values.items()}
            return self.terms.scores(columns, remote)

        return score_at

    def _moved(self, slots: IntArray, values: FloatArray, now: Millis) -> Moved:
        beliefs = self.learners.beliefs
        passed = beliefs.passed(slots, now, self.replica, NOBODY)
        return beliefs.moved(slots, values, passed)


def drawn(
    could_be: Moved, values: FloatArray, stale: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """All values in each world: as they were, or after a change."""
    chosen = rng.bit_generator.random_raw(_WORLDS * len(values))
    columns = np.tile(np.arange(len(values)), _WORLDS)
    changed = could_be.draw(columns, decided(chosen, 1), decided(chosen, 2))
    moved = decided(chosen, 0).reshape(_WORLDS, -1) < stale
    return np.where(moved, changed.reshape(_WORLDS, len(values)), values)


def full_explored(proposal: FullProposal, unknown: IntArray, allowance: int, seed: int) -> IntArray:
    """Some of the keys never asked for, drawn from all of them by when they spoke last."""
    rng = np.random.default_rng([seed, proposal.window, 2])
    if len(unknown) <= allowance or not (count := int(allowance * 0.05 + rng.random())):
        return unknown[:0]
    lots = _shuffled(proposal.last_event, int(rng.integers(2**62)))
    order = unknown[np.lexsort((proposal.keys[unknown], -lots[unknown]))]
    drawn = {int(lots[row]): int(row) for row in reversed(order[:count])}
    return np.array(sorted(drawn.values()), np.int64)


def full_said(score_at: Callable[[IntArray, FloatArray], FloatArray], rows: IntArray) -> FloatArray:
    """What the stream says of rows: the first part of a score that is left with 0, or with 2."""
    found = np.full(len(rows), np.nan)
    for remote in (2.0, 0.0):
        part = np.abs(score_at(rows, np.full(len(rows), remote)))
        some = np.isfinite(part) & (part > 0)
        found[some] = np.log2(part[some])
    return found


def _bits(score: float, alone: bool) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(score).view(np.uint32)) >> (19 if alone else 20)


def full_rank(policy: Policy, proposal: FullProposal) -> IntArray:
    """All rows that a policy wants, by sorting them all."""
    if isinstance(policy, AtRandom):
        return shuffled(proposal, policy.seed)  # type: ignore[arg-type]
    if isinstance(policy, LeastRecent):
        rows = shuffled(proposal, policy.seed)  # type: ignore[arg-type]
        return by_age(proposal, rows)  # type: ignore[arg-type]
    if isinstance(policy, FromTheTop):
        return np.argsort(proposal.position, kind="stable")
    if isinstance(policy, Borderline):
        below = proposal.position >= proposal.k
        distance = np.where(
            below, proposal.position - proposal.k, proposal.k - 1 - proposal.position
        )
        return np.lexsort((~below, distance))
    if isinstance(policy, TimeToLive):
        rows = np.argsort(proposal.last_event, kind="stable")
        expired = proposal.inside & (proposal.now - proposal.asked >= policy.ttl)
        return np.asarray(rows[expired[rows]])
    return policy.rank(proposal)  # type: ignore[arg-type]


class FullWorth:
    """What a fetch of each row would bring, by all its quantiles and the whole ranking."""

    def __init__(self, policy: Worth, proposal: FullProposal) -> None:
        self.rates, self.values = policy.rates, policy.values
        self.aim: Aim = policy.aim
        self.seed = policy.seed
        self.policy = policy
        self.proposal = proposal

    def worth(self, most: int | None = None) -> FloatArray:
        proposal = self.proposal
        worth = np.zeros(len(proposal))
        rows = np.flatnonzero(proposal.inside)
        if not len(rows):
            return worth
        slots = proposal.slots[rows]
        stale = self.policy.stale(
            slots, proposal.now, proposal.fetched[rows], proposal.hinted[rows]
        )
        seconds = seconds_since(proposal.fetched[rows], proposal.now)
        uses = self._uses(rows, self.rates.of(slots, seconds))
        answers = 0.5 ** proposal.vain[rows]
        tried = self._could_score(rows)
        alone = stale * self._loss(rows, tried)
        together = self._gain(rows, stale)
        worth[rows] = uses * answers * _with_others(alone, together)
        doubtful = np.where(stale > _DOUBTFUL, stale * answers, 0.0)
        unseen = np.flatnonzero(proposal.fetched[rows] == NEVER)
        if not proposal.population.usable:
            unseen = unseen[:0]
        if most is None or len(unseen) < max(1, most):
            worth[rows] += _LEAST * doubtful * self._left_over(rows, tried.scores, uses)
        if len(unseen):
            alone = self._loss_by_cell(rows[unseen])
            value = _with_others(alone, together[unseen]) + _LEAST
            worth[rows[unseen]] = uses[unseen] * answers[unseen] * value
        return worth

    def _loss_by_cell(self, rows: IntArray) -> FloatArray:
        """Keys that score alike stand for each other: of each cell the one that scores best."""
        proposal, population = self.proposal, self.proposal.population
        times = population.likeness.times(full_said(proposal.score_at, rows))
        now = np.append(proposal.ranking, -np.inf)[proposal.position[rows]]
        scores = np.maximum(now, -1e300)
        high = scores
        if not proposal.by_one:
            high = proposal.score_at(rows, population.high * times)
            high = np.where(np.isfinite(high), high, -1e300)
        cells: dict[tuple[int, int], list[int]] = {}
        for at, pair in enumerate(zip(scores.tolist(), high.tolist(), strict=True)):
            cells.setdefault(tuple(_bits(each, proposal.by_one) for each in pair), []).append(at)  # type: ignore[arg-type]
        loss = np.empty(len(rows))
        for members in cells.values():
            best = max(members, key=lambda at: (scores[at], high[at]))
            points = population.points * times[best]
            found = proposal.score_at(np.repeat(rows[best], len(points)), points)
            found = np.where(np.isfinite(found), found, -np.inf)[None]
            tried = Tried(found, population.chances[None])
            loss[members] = self._loss(rows[[best]], tried)
        return loss

    def _left_over(self, rows: IntArray, scores: FloatArray, uses: FloatArray) -> FloatArray:
        contested = self._contested(rows, scores)
        if not contested.any() and self.aim == "relevance":
            contested = self._disordered(rows, scores)
        if not contested.any():
            return np.zeros(len(rows))
        far = 1.0 + np.abs(self.proposal.position[rows] - self.proposal.k + 0.5)
        return np.asarray(contested / far + _LATER * (uses - 1.0))

    def _gain(self, rows: IntArray, stale: FloatArray) -> FloatArray:
        proposal = self.proposal
        gain = np.full(len(rows), np.nan)
        near = np.flatnonzero(proposal.position[rows] < min(_JUDGED, len(proposal.ranking)))
        near = near[np.argsort(proposal.position[rows[near]], kind="stable")]
        if not len(near) or not self.values.moves:
            return gain
        value = proposal.value[rows[near]]
        rng = np.random.default_rng([self.seed, proposal.window])
        could_be = drawn(self._moved(rows[near]), value, stale[near], rng)
        worlds = proposal.score_at(np.tile(rows[near], _WORLDS), could_be.ravel())
        worlds = np.where(np.isfinite(worlds), worlds, -np.inf).reshape(could_be.shape)
        believed = proposal.ranking[proposal.position[rows[near]]]
        found = full_gain_of_knowing(believed, worlds, proposal.k, self.aim)
        gain[near] = np.maximum(0.0, found)
        return gain

    def _moved(self, rows: IntArray) -> Moved:
        proposal, value = self.proposal, self.proposal.value[rows]
        value = np.where(np.isfinite(value), value, self.values.mean)
        slots, seconds = proposal.slots[rows], seconds_since(proposal.fetched[rows], proposal.now)
        beliefs, hinted = self.rates.of(slots, seconds), proposal.hinted[rows]
        stale = self.rates.stale(beliefs, seconds, hinted)
        changes = self.rates.changes(beliefs, seconds, hinted, stale)
        times = proposal.population.likeness.times(full_said(proposal.score_at, rows))
        passed = Passed(seconds, stale, changes, proposal.population, times)
        return self.policy.moved(slots, value, passed)

    def _could_score(self, rows: IntArray) -> Tried:
        could_be, chances = self._moved(rows).points()
        scores = self.proposal.score_at(np.repeat(rows, could_be.shape[1]), could_be.ravel())
        return Tried(np.where(np.isfinite(scores), scores, -np.inf).reshape(chances.shape), chances)

    def _contested(self, rows: IntArray, scores: FloatArray) -> BoolArray:
        low, high, shown = self._reach(rows, scores)
        room = len(self.proposal.ranking) < self.proposal.k
        floor = -np.inf if room else low[shown].min(initial=np.inf)
        ceiling = high[~shown].max(initial=-np.inf)
        return np.asarray(np.where(shown, low < ceiling, high > floor))

    def _disordered(self, rows: IntArray, scores: FloatArray) -> BoolArray:
        low, high, shown = self._reach(rows, scores)
        order = np.argsort(self.proposal.position[rows], kind="stable")
        floor = np.minimum.accumulate(np.where(shown, low, np.inf)[order])
        ceiling = np.maximum.accumulate(high[order][::-1])[::-1]
        found = np.zeros(len(rows), bool)
        found[order[:-1]] = shown[order[:-1]] & (low[order[:-1]] < ceiling[1:])
        found[order[1:]] |= high[order[1:]] > floor[:-1]
        return found

    def _reach(
        self, rows: IntArray, scores: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        place, n = self.proposal.position[rows], len(self.proposal.ranking)
        now = np.append(self.proposal.ranking, -np.inf)[np.minimum(place, n)]
        low, high = np.minimum(now, scores.min(axis=1)), np.maximum(now, scores.max(axis=1))
        return low, high, np.asarray(place < min(self.proposal.k, n))

    def _loss(self, rows: IntArray, tried: Tried) -> FloatArray:
        if not self.values.moves:
            return np.ones(len(rows))
        scores = tried.scores
        here = self.proposal.position[rows][:, None]
        above = np.searchsorted(-self.proposal.ranking, -scores, side="left")
        truly_at = above - (above > here)
        n, k = len(self.proposal.ranking), self.proposal.k
        ranked = here[:, 0] < n
        loss = np.empty(scores.shape)
        if ranked.any():
            loss[ranked] = Utility.over(n, k, self.aim).loss(here[ranked], truly_at[ranked])
        if not ranked.all():
            absence = Utility.over(n + 1, k, self.aim).absence(truly_at[~ranked])
            loss[~ranked] = np.where(np.isfinite(scores[~ranked]), absence, 0.0)
        return np.asarray((loss * tried.chances).sum(axis=1))

    def _uses(self, rows: IntArray, beliefs: FloatArray) -> FloatArray:
        proposal = self.proposal
        ahead = np.arange(1, _HORIZON + 1)
        opens = proposal.now - proposal.width + ahead * proposal.step
        inside = proposal.last_event[rows][:, None] > opens[None, :]
        present = np.where(inside, 1.0, proposal.presence[rows][:, None])
        overlap = max(1.0, proposal.width / proposal.step)
        spoken = 1.0 - (1.0 - proposal.presence[rows]) ** (1.0 / overlap)
        right = self.rates.survives(beliefs, ahead * proposal.step / 1_000, np.outer(spoken, ahead))
        return np.asarray(1.0 + ((_DECAY**ahead) * present * right).sum(axis=1))


def _with_others(alone: FloatArray, together: FloatArray) -> FloatArray:
    """What knowing keys brings: what it does alone where no more is known."""
    return np.where(np.isnan(together), alone, (alone + together) / 2)


def full_gain_of_knowing(believed: FloatArray, worlds: FloatArray, k: int, aim: Aim) -> FloatArray:
    """As :func:`~topwater.replica.possible_worlds.gain_of_knowing`, for every key and world."""
    n = len(believed)
    shown = min(k, n)
    place = _places(worlds)
    here = np.arange(n)
    above = np.searchsorted(-believed, -worlds, side="left")
    there = np.where(worlds == believed, here, above - (above > here))
    ndcg_weight, precision_weight = weights(aim)
    gain = precision_weight * _set_gain(place, there, shown)
    gain += ndcg_weight * _order_gain(place, there, shown)
    return np.asarray(gain.mean(axis=0))


def full_fare(scores: FloatArray, shown: int, k: int) -> tuple[float, float]:
    """As :func:`~topwater.replica.possible_worlds.fare`, from the places of all keys."""
    scores = np.where(np.isfinite(scores), scores, -np.inf)
    scored = scores > -np.inf
    n = np.count_nonzero(scored, axis=1)
    due, above = np.minimum(k, n), _places(scores)[:, :shown]
    right = np.count_nonzero(above < due[:, None], axis=1)
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    gain = np.where(scored[:, :shown], np.exp2(-above) - np.exp2(-n)[:, None], 0.0)
    sums = np.cumsum([np.exp2(-np.arange(k)) * discount, discount], axis=1)[:, due - 1]
    ideal = sums[0] - np.exp2(-n) * sums[1]
    some = due > 0
    precision = np.divide(right, due, out=np.ones(len(due)), where=some)
    ndcg = np.divide(gain @ discount[:shown], ideal, out=np.ones(len(due)), where=some)
    return float(precision.mean()), min(1.0, float(ndcg.mean()))


def _placed(inside: IntArray, count: int, outside: int) -> IntArray:
    column = np.full(count, outside)
    column[: len(inside)] = inside
    return column


def _places(scores: FloatArray) -> IntArray:
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(scores.shape[1])[None, :], axis=1)
    return places


def _set_gain(place: IntArray, there: IntArray, shown: int) -> FloatArray:
    here = np.arange(place.shape[1])
    right = (place < shown).astype(np.float64)
    follower = right[:, [shown]] if place.shape[1] > shown else np.zeros((len(place), 1))
    leaves = (here < shown) & (there >= shown)
    enters = (here >= shown) & (there < shown)
    gain = np.where(leaves, follower - right, 0.0)
    return np.asarray(np.where(enters, right - right[:, [shown - 1]], gain) / shown)


def _order_gain(place: IntArray, there: IntArray, shown: int) -> FloatArray:
    worlds, n = place.shape
    here = np.broadcast_to(np.arange(n), place.shape)
    gain = gains(n)[place]
    discount = np.zeros(n + 1)
    discount[:shown] = 1.0 / np.log2(np.arange(2, shown + 2))
    up, down = np.zeros((worlds, n + 1)), np.zeros((worlds, n + 1))
    np.cumsum(gain[:, 1:] * (discount[: n - 1] - discount[1:n]), axis=1, out=up[:, 2:])
    np.cumsum(gain * (discount[1:] - discount[:n]), axis=1, out=down[:, 1:])
    own = gain * (discount[there] - discount[here])
    passed = np.take_along_axis(up, there + 1, 1) - np.take_along_axis(up, here + 1, 1)
    overtaken = np.take_along_axis(down, here, 1)
    overtaken = overtaken - np.take_along_axis(down, np.minimum(here, there), 1)
    ideal = gains(n)[:shown] @ discount[:shown]
    return np.asarray((own + np.where(there > here, passed, overtaken)) / ideal)
