"""What is learnt from polls: rates, beliefs, how values move, and what an answer may lose."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.looping import (
    MINUTE,
    Loop,
    one_rule,
    query_of,
    random_events,
    random_script,
)
from topwater.model import FloatArray, IntArray
from topwater.replica.beliefs import RateBeliefs, ValueModel
from topwater.replica.budget import Budget, Purse
from topwater.replica.look_ups import Polls
from topwater.replica.rate_estimators import START_RATE, Forgetting, Interval, Irregular, estimators
from topwater.replica.store import NEVER, Replica
from topwater.replica.utility import Aim, Utility, gains
from topwater.replica.worth import Worth
from topwater.testing import Scripted
from topwater.windows import counting, tumbling


def polls_of(
    rng: np.random.Generator, rate: FloatArray, least: float = 5.0, most: float = 90.0
) -> tuple[FloatArray, Any]:
    """One poll a key after an irregular time, of values that change as Poisson processes."""
    seconds = rng.uniform(least, most, len(rate))
    return seconds, rng.random(len(rate)) < -np.expm1(-rate * seconds)


@pytest.mark.parametrize("rate", [1 / 600, 1 / 60, 1 / 20])
@pytest.mark.parametrize("name", ["irregular", "forgetting"])
def test_estimators_find_the_rate_behind_irregular_polls(name: str, rate: float) -> None:
    rng = np.random.default_rng(1)
    estimator = estimators[name]()
    slots = np.arange(60)
    for _ in range(250):
        estimator.observe(slots, *polls_of(rng, np.full(60, rate)))
    spread = 0.1 if name == "irregular" else 0.35
    assert np.median(estimator.rates(slots)) == pytest.approx(rate, rel=spread)


def test_the_interval_estimator_is_right_where_no_change_hides_between_polls() -> None:
    rng = np.random.default_rng(2)
    slow, fast = Interval(), Interval()
    slots = np.arange(40)
    for _ in range(400):
        slow.observe(slots, *polls_of(rng, np.full(40, 1 / 1_000)))
        fast.observe(slots, *polls_of(rng, np.full(40, 1 / 10)))
    assert np.mean(slow.rates(slots)) == pytest.approx(1 / 1_000, rel=0.1)
    assert np.mean(fast.rates(slots)) < 1 / 20


def test_forgetting_follows_a_rate_that_moves_while_the_others_lag() -> None:
    rng = np.random.default_rng(3)
    slots = np.arange(40)
    every = {name: estimators[name]() for name in estimators}
    for turn in range(240):
        rate = np.full(40, 1 / 20 if turn < 200 else 1 / 2_000)
        seconds, changed = polls_of(rng, rate)
        for estimator in every.values():
            estimator.observe(slots, seconds, changed)
    found = {name: float(np.median(each.rates(slots))) for name, each in every.items()}
    assert found["forgetting"] < 1 / 200
    assert found["irregular"] > 1 / 60
    assert found["interval"] > 1 / 120


@pytest.mark.parametrize("name", list(estimators))
def test_contract_of_estimators(name: str) -> None:
    """E1 to E3, and a snapshot into other slots."""
    rng = np.random.default_rng(4)
    estimator = estimators[name]()
    slots = np.arange(30)
    assert estimator.rates(slots) == pytest.approx(np.full(30, START_RATE))
    rates = []
    for _ in range(50):
        estimator.observe(slots, rng.uniform(0, 1e5, 30), np.arange(30) % 3 == 0)
        rates.append(estimator.rates(slots))
        assert np.isfinite(rates[-1]).all()
        assert (rates[-1] > 0).all()
    assert rates[-1][1] < rates[0][1] < START_RATE
    table = pa.table(estimator.snapshot(slots))
    other = estimators[name]()
    other.restore(table, slots[::-1].copy())
    assert np.array_equal(other.rates(slots[::-1].copy()), estimator.rates(slots))
    estimator.reset(slots[:10])
    fresh = estimators[name]().rates(slots[:10])
    assert np.array_equal(estimator.rates(slots[:10]), fresh)
    assert np.array_equal(estimator.rates(slots[10:]), rates[-1][10:])


def test_polls_at_once_and_after_ages_are_survived() -> None:
    for estimator in (Interval(), Irregular(), Forgetting()):
        for seconds in (0.0, 1e-9, 1e12):
            estimator.observe(np.array([0]), np.array([seconds]), np.array([True]))
            assert np.isfinite(estimator.rates(np.array([0]))).all()


def test_known_rates_serve_wbm() -> None:
    """A key that is known never to change is read once, one that changes often again and again."""
    source = Scripted(random_script(1, keys=3))
    known = {"known": {0: 0.0, 1: 1 / 10}}
    query = query_of(policy="wbm", budget=5, estimator=known, window=tumbling("1 min"))
    loop = Loop(query, source)
    for minute in range(6):
        loop.ingest([(key, minute * MINUTE + 1) for key in (0, 1)])
        loop.answer()
        loop.restart()
    asked = [key for call in source.calls for key in call]
    assert (asked.count(0), asked.count(1)) == (1, 6)


def brute_loss(n: int, k: int, i: int, j: int, aim: Aim) -> float:
    """Show 0 … n-1; the truth has i at place j."""
    truth = [key for key in range(n) if key != i]
    truth.insert(j, i)
    shown = range(min(k, n))
    discount = [1 / np.log2(place + 2) for place in shown]
    gain = gains(n)
    dcg = sum(gain[truth.index(key)] * d for key, d in zip(shown, discount, strict=True))
    ideal = sum(gain[place] * d for place, d in zip(shown, discount, strict=True))
    precision = len(set(truth[: len(shown)]) & set(shown)) / len(shown)
    ndcg_weight, precision_weight = (1.0, 0.0) if aim == "relevance" else (0.05, 0.95)
    return float(ndcg_weight * (1 - dcg / ideal) + precision_weight * (1 - precision))


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 5), (2, 1), (5, 3), (7, 7), (6, 9), (8, 2)])
def test_the_loss_of_a_move_is_what_recomputing_gives(n: int, k: int, aim: Aim) -> None:
    utility = Utility.over(n, k, aim)
    for i in range(n):
        for j in range(n):
            found = utility.loss(np.array(i), np.array(j))
            assert found == pytest.approx(brute_loss(n, k, i, j, aim), abs=1e-12), (i, j)


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 5), (2, 1), (5, 3), (7, 7), (6, 9), (8, 2)])
def test_the_loss_of_an_absence_is_what_recomputing_gives(n: int, k: int, aim: Aim) -> None:
    """Key 0 has no value as far as is known, and is not shown; the truth has it at place j."""
    utility, gain = Utility.over(n, k, aim), gains(n)
    for j in range(n):
        truth = [*range(1, j + 1), 0, *range(j + 1, n)]
        shown, due = [key for key in truth if key][:k], truth[:k]
        discount = 1 / np.log2(np.arange(2, len(due) + 2))
        places = np.array([truth.index(key) for key in shown], np.int64)
        ndcg = gain[places] @ discount[: len(places)] / (gain[: len(due)] @ discount)
        precision = len(set(shown) & set(due)) / len(due)
        weights = (1.0, 0.0) if aim == "relevance" else (0.05, 0.95)
        right = weights[0] * (1 - ndcg) + weights[1] * (1 - precision)
        assert utility.absence(np.array(j)) == pytest.approx(right, abs=1e-12), j


def test_no_move_is_a_gain_however_deep() -> None:
    """Far down the gains are tiny, and must not drown in those of the first places."""
    utility = Utility.over(200, 150, "relevance")
    places = np.arange(200)
    loss = utility.loss(places[:, None], places[None, :])
    assert (loss >= 0).all()
    shown = np.arange(149)
    assert (loss[shown, shown + 1] > 0).all()
    assert (loss[shown + 1, shown] > 0).all()


def observed(slots: IntArray, seconds: FloatArray, changed: Any) -> Polls:
    none = np.zeros(len(slots))
    return Polls(0, slots, seconds, changed, none, none + changed, np.zeros(len(slots), np.int64))


@pytest.mark.parametrize("scale", [0.001, 1.0, 60.0])
def test_staleness_is_calibrated(scale: float) -> None:
    """Of the values said to be stale with probability p, a share of p is; at any pace."""
    rng = np.random.default_rng(5)
    rate = np.exp(rng.uniform(np.log(1 / 3_000), np.log(1 / 30), 400)) / scale
    beliefs = RateBeliefs(int(MINUTE * scale))
    slots = np.arange(400)
    said, true = [], []
    for turn in range(40):
        seconds, changed = polls_of(rng, rate, 30 * scale, 300 * scale)
        if turn >= 10:
            said.append(beliefs.stale(beliefs.of(slots), seconds, slots))
            true.append(changed)
        beliefs.observe(observed(slots, seconds, changed))
    said_all, true_all = np.concatenate(said), np.concatenate(true)
    for low in np.arange(0, 1, 0.2):
        here = (said_all >= low) & (said_all < low + 0.2)
        if here.sum() > 200:
            assert true_all[here].mean() == pytest.approx(said_all[here].mean(), abs=0.05)


def test_the_grid_of_rates_is_as_published_for_minutes_and_fits_other_steps() -> None:
    assert RateBeliefs().grid[[0, -1]] == pytest.approx([1 / 86_400, 1 / 15])
    assert RateBeliefs(10).grid[-1] == pytest.approx(400)
    assert RateBeliefs(86_400_000).grid[0] == pytest.approx(1 / 1_440 / 86_400)


def test_the_value_model_learns_how_values_move() -> None:
    rng = np.random.default_rng(6)
    model = ValueModel()
    x = rng.normal(10, 2, 300)
    model.start(x)
    for _ in range(20):
        after = 10 + 0.8 * (x - 10) + rng.normal(0, 1.2, 300)
        rows = np.arange(300)
        model.observe(Polls(0, rows, np.ones(300), rows >= 0, x, after, rows))
        x = after
    assert model.memory == pytest.approx(0.8, abs=0.05)
    assert model.mean == pytest.approx(10, abs=0.3)
    could_be = model.could_be(np.array([10.0]), 32)[0]
    assert could_be.std() == pytest.approx(1.2, abs=0.25)


def simulated(seed: int, *, coincide: bool, minutes: int = 70, keys: int = 30) -> Any:
    """Keys of unlike popularity, whose values change with an event, or at times of their own."""
    rng = np.random.default_rng(seed)
    events, script = [], {}
    for key in range(keys):
        said = np.sort(rng.integers(1, minutes * MINUTE, int(np.exp(rng.uniform(2.0, 5.0)))))
        own = np.sort(rng.integers(1, minutes * MINUTE, int(np.exp(rng.uniform(0.0, 4.0)))))
        moments = said[rng.random(len(said)) < 0.3] if coincide else own
        events += [(key, int(at)) for at in said]
        script[key] = [(0, float(rng.normal()))] + [(int(t), float(rng.normal())) for t in moments]
    return sorted(events, key=lambda event: event[1]), script


def weighed(n: int, remote: float, weight: float) -> float:
    return weight * n + remote


def quality(query: Any, events: Any, script: Any, minutes: int = 70, weight: float = 1.0) -> float:
    """The mean nDCG@k of the answers, by true values."""
    source = Scripted(script)
    loop = Loop(query, source)
    loop.ingest(events)
    found = []
    for answer in loop.answers(until=minutes * MINUTE)[10:]:
        everything = replace(query, k=1_000)
        value = partial(source.value, at=answer.window.end)
        score = partial(weighed, weight=weight)
        true = [key for key, _ in one_rule(everything, events, answer, score, value)]
        gain = gains(len(true))
        discount = 1 / np.log2(np.arange(2, len(answer.keys) + 2))
        places = np.array([true.index(key) for key in answer.keys])
        found.append(gain[places] @ discount / (gain[: len(places)] @ discount))
    return float(np.mean(found))


def workload_query(policy: str = "worth", **more: Any) -> Any:
    return query_of(**{"policy": policy, "budget": 3, "k": 4, "window": tumbling("1 min"), **more})


def test_worth_beats_chance_and_age() -> None:
    for seed in (1, 2):
        events, script = simulated(seed, coincide=False)
        found = {each: quality(workload_query(each), events, script) for each in ("worth", "lru")}
        found["rnd"] = quality(workload_query("rnd"), events, script)
        assert found["worth"] > max(found["lru"], found["rnd"]) + 0.04, found


def test_the_estimated_precision_is_near_the_truth() -> None:
    events, script = simulated(3, coincide=False)
    source = Scripted(script)
    query = workload_query("lru")
    loop = Loop(query, source)
    loop.ingest(events)
    said, true = [], []
    for answer in loop.answers(until=70 * MINUTE)[15:]:
        value = partial(source.value, at=answer.window.end)
        right = one_rule(query, events, answer, lambda n, r: n + r, value)
        true.append(len(set(answer.keys) & {key for key, _ in right}) / len(right))
        assert answer.freshness is not None
        said.append(answer.freshness.precision)
    assert np.mean(said) == pytest.approx(np.mean(true), abs=0.1)


@pytest.mark.parametrize("scale", [1e-5, 1.0])
def test_a_purse_spends_its_budget_where_it_is_worth_most(scale: float) -> None:
    """Windows that offer much and little: nearly the same mean, and more of what was offered."""
    rng = np.random.default_rng(8)
    purse = Purse(Budget(fetches=4, carry_over=True))
    offers = scale * rng.exponential(1.0, (600, 30)) * rng.choice([0.3, 1.0], (600, 1))
    spent, won, plain = [], 0.0, 0.0
    for worth in -np.sort(-offers, axis=1):
        allowed = purse.allowance()
        assert 0 <= allowed <= 12
        chosen = worth[: purse.worthwhile(worth)][:allowed]
        purse.spend(len(chosen), len(chosen), 0.0)
        spent.append(len(chosen))
        won, plain = won + chosen.sum(), plain + worth[:4].sum()
        assert sum(spent) <= 4 * len(spent)
    assert np.mean(spent[100:]) == pytest.approx(4, abs=0.1)
    assert max(spent) > 4
    assert won > 1.08 * plain


def test_a_purse_with_plenty_spends_on_trifles_only_what_would_be_lost() -> None:
    purse = Purse(Budget(fetches=4, carry_over=True))
    spent = []
    for _ in range(6):
        worth = np.array([0.1, 0.01, *[1e-12] * 20])
        spent.append(min(purse.worthwhile(worth), purse.allowance()))
        purse.spend(spent[-1], spent[-1], 0.0)
    assert spent == [2, 2, 2, 2, 4, 4]
    assert purse.worthwhile(np.empty(0)) == 0


def test_a_purse_goes_on_after_a_restart() -> None:
    rng = np.random.default_rng(9)
    purse = Purse(Budget(fetches=2, carry_over=True))
    again = Purse(purse.budget)
    for worth in -np.sort(-rng.exponential(1.0, (20, 10)), axis=1):
        again.restore(json.loads(json.dumps(purse.snapshot())))
        assert purse.worthwhile(worth) == again.worthwhile(worth)
        purse.spend(1, 1, 0.0)


def test_a_deadline_leaves_one_fetch_to_measure_by() -> None:
    purse = Purse(Budget(deadline=1_000))
    for seconds in (100.0, float("inf"), float("nan"), -1.0):
        purse.spend(5, 0, seconds)
    assert purse.allowance() == 1
    assert purse.allowance(seconds_used=2.0) == 0
    for _ in range(40):
        purse.spend(1, 1, 0.01)
    assert purse.allowance() > 50


def test_slots_are_given_again_without_what_was_in_them() -> None:
    replica = Replica(limit=2)
    slots = replica.slots(np.array([1, 2, 3]))
    replica.put(slots, np.array([1.0, 2.0, 3.0]), at=5)
    replica.miss(slots, at=6)
    replica.present(slots, 0, 5)
    gone = replica.surplus(keep=slots[2:])
    assert gone.tolist() == slots[:1].tolist()
    replica.forget(gone)
    (again,) = replica.slots(np.array([9]))
    assert again == gone[0]
    assert not replica.known(np.array([again]))[0]
    assert (replica.asked[again], replica.vain[again], replica.window[again]) == (NEVER, 0, -1)


def test_worth_is_the_same_at_any_pace() -> None:
    """Count windows have no seconds; a step is what counts."""
    beliefs = [Worth().rates, RateBeliefs(counting(10).step)]
    stale = [
        each.stale(each.of(np.array([0])), np.array([s]), np.array([0]))
        for each, s in zip(beliefs, (60.0, 0.01), strict=True)
    ]
    assert stale[0] > 0.1
    assert stale[1] > 0.1


def test_random_events_are_in_order() -> None:
    times = [at for _, at in random_events(1)]
    assert times == sorted(times)
