"""Estimators: the rates behind irregular polls, their contract, and rates that are known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.support.looping import MINUTE, Loop, query_of, random_script
from tests.support.rate_polls import polls_of
from topwater.replica.rate_estimators import (
    START_RATE,
    Forgetting,
    Interval,
    Irregular,
    estimators,
)
from topwater.testing import Scripted
from topwater.windows import tumbling


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
