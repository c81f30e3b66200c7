"""Events as hints of changes: what is learnt of them, and what they bring to the answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.model import FloatArray, IntArray
from topwater.remote.known_changes import Steps
from topwater.remote.replay import Replay
from topwater.replica import Budget, Refresher, RefreshSettings, WindowView
from topwater.replica.look_ups import Polls
from topwater.replica.rate_beliefs import RateBeliefs
from topwater.replica.store import Replica
from topwater.scoring import WeightedSum
from topwater.windows import Windows
from topwater_lab.experiments.oracle import Oracle
from topwater_lab.experiments.workloads import REMOTE, Workload

MINUTE = 60_000
KEYS = 40
MINUTES = 60


def test_hints_are_counted_by_window_since_the_last_fetch() -> None:
    """
    ::

        event     ×       ×
        close   ──┴──1────┴──2────────3──
        fetch        ×
        hints        0       1        1
    """
    replica = Replica()
    slots = replica.slots(np.array([7]))
    found = []
    for at, last in ((100, 50), (200, 150), (300, 150)):
        replica.hear(slots, np.array([last]))
        if at == 100:
            replica.put(slots, np.array([1.0]), at)
        found += replica.hints[slots].tolist()
    assert found == [0, 1, 1]


def test_an_event_before_the_fetch_is_no_hint() -> None:
    replica = Replica()
    slots = replica.slots(np.array([7]))
    replica.put(slots, np.array([1.0]), at=100)
    replica.hear(slots, np.array([100]))
    assert replica.hints[slots].tolist() == [0]


def said(*, telling: bool) -> FloatArray:
    """The probability of a change after a minute without and with an event, learnt from polls."""
    rng = np.random.default_rng(5)
    beliefs = RateBeliefs(hints=True)
    slots, none = np.arange(50), np.zeros(50)
    for _ in range(40):
        seconds = (rng.integers(1, 6, 50) * 60).astype(np.float64)
        hinted = rng.binomial((seconds / 60).astype(np.int64), 0.4)
        same = 0.4**hinted if telling else 0.75 ** (seconds / 60)
        changed = rng.random(50) > same
        beliefs.observe(Polls(0, slots, seconds, changed, none, none + 1, hinted))
        beliefs.pool(slots)
    both = np.repeat(np.array([0, 1]), 50)
    of = beliefs.of(np.tile(slots, 2))
    stale = beliefs.stale(of, np.full(100, 60.0), both)
    return np.asarray(stale.reshape(2, 50).mean(axis=1), np.float64)


def test_the_chance_of_a_change_with_an_event_is_learnt() -> None:
    without, within = said(telling=True)
    assert without == pytest.approx(0.0, abs=0.05)
    assert within == pytest.approx(0.6, abs=0.08)


def test_events_that_tell_nothing_are_found_out() -> None:
    assert said(telling=False) == pytest.approx([0.25, 0.25], abs=0.05)


def test_without_hints_events_do_not_count() -> None:
    beliefs = RateBeliefs()
    of = beliefs.of(np.arange(2))
    one, other = beliefs.stale(of, np.full(2, 60.0), np.array([0, 9]))
    assert one == other


def evening(seed: int, *, telling: bool) -> Workload:
    """Keys spoken of twice a minute to once an hour, whose values change then, or at any time."""
    rng = np.random.default_rng([seed, KEYS])
    end = (MINUTES + 5) * MINUTE
    spoken, changed = [], []
    for often in np.exp(rng.uniform(np.log(1 / 60), np.log(1 / 2), KEYS)):
        at = np.unique(rng.integers(1, end, rng.poisson(often * end / MINUTE)))
        other = np.unique(rng.integers(1, end, rng.poisson(often * end / MINUTE)))
        moments = at if telling else rng.permutation(other)
        spoken.append(at)
        changed.append(np.append(0, np.sort(moments[rng.random(len(moments)) < 0.9])))
    times, keys = flat(changed)
    remote = Steps.of(times, keys, rng.normal(size=len(times)))
    windows = Windows(5 * MINUTE, MINUTE, start=0)
    views = tuple(view(windows, index, spoken) for index in range(MINUTES))
    return Workload("hints", "true", 0, seed, windows, views, remote, WeightedSum({REMOTE: 1.0}))


def flat(moments: list[IntArray]) -> tuple[IntArray, IntArray]:
    return np.concatenate(moments), np.repeat(np.arange(KEYS), [len(each) for each in moments])


def view(windows: Windows, index: int, spoken: list[IntArray]) -> WindowView:
    window = windows.window(index)
    last = [at[(at > window.start) & (at <= window.end)].max(initial=-1) for at in spoken]
    keys = np.flatnonzero(np.array(last) >= 0)
    return WindowView(index, window.end, keys, {}, np.array(last)[keys])


def precision(workload: Workload, **settings: Any) -> float:
    """The mean precision@5 of the answers with four fetches a window, after a while."""
    oracle, source = Oracle.of(workload), Replay(workload.remote)
    chosen = RefreshSettings(
        remote=REMOTE, budget=Budget(fetches=4), aim="accuracy", estimator=None, **settings
    )
    refresher = Refresher(chosen, workload.score, workload.windows, 5, source)
    refresher.seed_replica(*workload.initial(), 0)
    found = []
    for each in workload.views:
        source.now = each.end
        ranking = refresher.refresh(each)
        found.append(oracle.judge(each.index, ranking.rows, 5).precision)
    return float(np.mean(found[10:]))


def gained(*, telling: bool, seeds: int) -> tuple[float, float]:
    """The mean gain by hints over paired runs, and its standard error."""
    workloads = [evening(seed, telling=telling) for seed in range(seeds)]
    gains = np.array([precision(w, hint=True) - precision(w, hint=False) for w in workloads])
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(seeds))


def test_hints_make_answers_better_where_events_tell_of_changes() -> None:
    gain, error = gained(telling=True, seeds=8)
    assert gain > 3 * error
    assert gain > 0.04


def test_hints_do_no_harm_where_events_tell_nothing() -> None:
    gain, error = gained(telling=False, seeds=8)
    assert gain > -2 * error - 0.01
