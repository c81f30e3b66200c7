"""What learns from look-ups, and that a restart forgets none of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.election_scene import refresher_of, view_of
from topwater.replica import Refresher
from topwater.replica.worth import Worth


def taught(policy: str, **more: Any) -> Refresher:
    script = {key: [(m * 45_000, float((m * key) % 5)) for m in range(9)] for key in range(6)}
    refresher = refresher_of(script, policy=policy, **more)
    for window in range(6):
        refresher._fetcher._source.now = (window + 1) * 60_000  # type: ignore[attr-defined]
        refresher.refresh(view_of(window, range(6)))
    return refresher


def test_worth_elects_by_the_beliefs_that_estimates_use() -> None:
    learners = refresher_of(policy="worth").learners
    assert learners.beliefs is learners.policy
    assert learners.parts() == [learners.policy, learners.said]


def test_other_policies_have_the_beliefs_beside_them() -> None:
    learners = refresher_of(policy="wbm").learners
    assert isinstance(learners.beliefs, Worth)
    assert learners.rates is not None
    assert learners.parts() == [learners.policy, learners.said, learners.beliefs, learners.rates]
    assert refresher_of(policy="lru").learners.rates is None


@pytest.mark.parametrize("policy", ["worth", "wbm", "lru"])
def test_a_restart_forgets_nothing(policy: str) -> None:
    before, after = taught(policy), refresher_of(policy=policy)
    table, meta = before.snapshot()
    after.restore(table, meta)
    again, numbers = after.snapshot()
    assert again.equals(table)
    assert numbers == meta
    assert after.learners.beliefs.values.moves


@pytest.mark.parametrize("policy", ["worth", "wbm"])
def test_what_was_learnt_of_a_slot_goes_with_its_key(policy: str) -> None:
    learners, slots = taught(policy).learners, np.arange(6)
    learners.reset(slots)
    assert not len(learners.beliefs.rates.polled())
    fresh = refresher_of(policy=policy).learners
    for mine, new in zip(learners.parts(), fresh.parts(), strict=True):
        for name, column in new.snapshot(slots).items():
            np.testing.assert_equal(
                mine.snapshot(slots)[name].to_pylist(), column.to_pylist(), name
            )


def test_known_rates_are_found_by_key_also_after_a_restart() -> None:
    rates = {"known": {"3": 0.5, "4": 0.25}}
    before = refresher_of(policy="wbm", estimator=rates)
    before.seed_replica(np.array([3, 4]), np.array([1.0, 2.0]), 0)
    after = refresher_of(policy="wbm", estimator=rates)
    after.restore(*before.snapshot())
    for refresher in (before, after):
        assert refresher.learners.rates is not None
        slots = refresher.replica.find(np.array([4, 3]))
        assert refresher.learners.rates.rates(slots).tolist() == [0.25, 0.5]


def test_new_keys_start_the_model_of_values_until_a_change_is_seen() -> None:
    learners = refresher_of(policy="lru").learners
    learners.meet(np.array([1.0, 3.0]))
    assert learners.beliefs.values.mean == 2.0
    learners.meet(np.array([10.0]))
    assert learners.beliefs.values.mean == 10.0
    taught_ones = taught("lru").learners
    mean = taught_ones.beliefs.values.mean
    taught_ones.meet(np.array([1e9]))
    assert taught_ones.beliefs.values.mean == mean
