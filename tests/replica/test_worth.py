"""Worth: how well it spends a budget, how right its estimates are, and purses."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support.looping import (
    MINUTE,
    Loop,
    one_rule,
    query_of,
    random_events,
)
from topwater.replica.budget import Budget, Purse
from topwater.replica.rate_beliefs import RateBeliefs
from topwater.replica.utility import gains
from topwater.replica.worth import Worth
from topwater.testing import Scripted
from topwater.windows import counting, tumbling


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
    ahead = []
    for seed in (1, 2, 3, 4):
        events, script = simulated(seed, coincide=False)
        found = {each: quality(workload_query(each), events, script) for each in ("worth", "lru")}
        found["rnd"] = quality(workload_query("rnd"), events, script)
        ahead.append(found["worth"] - max(found["lru"], found["rnd"]))
    assert min(ahead) > 0.02, ahead
    assert np.mean(ahead) > 0.04, ahead


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
    for _ in range(40):
        purse.spend(1, 1, 0.01)
    assert purse.allowance() > 50


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
