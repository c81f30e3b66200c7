"""Numbers that differ at each look: told from change, and not chased."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.support.looping import MINUTE, Loop, query_of
from topwater.errors import QueryError
from topwater.model import Answer
from topwater.replica import RefreshSettings
from topwater.replica.look_ups import Polls
from topwater.replica.noise import Noise, NoiseWatch
from topwater.show.explain import explain
from topwater.testing import Scripted


def polls(before: Any, after: Any, seconds: Any) -> Polls:
    n = len(before)
    changed = np.not_equal(before, after)
    return Polls(
        0,
        np.arange(n),
        np.array(seconds, np.float64),
        changed,
        np.array(before, np.float64),
        np.array(after, np.float64),
        np.zeros(n, np.int64),
    )


def watched(kind: str) -> NoiseWatch:
    rng, watch = np.random.default_rng(2), NoiseWatch()
    for _ in range(20):
        seconds = rng.choice([60.0, 600.0], 10)
        off = rng.normal(0, 1, 10)
        if kind == "walk":
            off *= np.sqrt(seconds)
        if kind == "seldom":
            off *= rng.random(10) < 0.7
        watch.observe(polls(np.zeros(10), off, seconds))
    return watch


def test_noise_is_told_from_change() -> None:
    assert watched("noise").noisy
    assert not watched("walk").noisy
    assert not watched("seldom").noisy
    assert not NoiseWatch().noisy


def test_it_is_kept_with_the_state() -> None:
    watch, again = watched("noise"), NoiseWatch()
    again.restore(json.loads(json.dumps(watch.snapshot())))
    assert again.noisy
    assert again.snapshot() == watch.snapshot()


def test_what_is_within_three_deviations_is_hidden() -> None:
    before, after = np.array([10.0, 10.0, -10.0, np.nan]), np.array([11.4, 11.6, -10.0, 1.0])
    assert Noise.of(0.5).hides(before, after).tolist() == [True, False, True, False]
    assert Noise.of("5%").hides(before, after).tolist() == [True, False, True, False]


@pytest.mark.parametrize("given", [0, -1.0, "2", "much", "% 2", "0 %", "101 %", float("nan"), True])
def test_what_is_no_noise(given: Any) -> None:
    with pytest.raises(QueryError) as caught:
        RefreshSettings("remote", noise=given)
    assert caught.value.field == "refresh.noise"


def driven(**more: Any) -> list[Answer]:
    """Twenty keys around levels of their own, of which one truly moves after half an hour."""
    rng = np.random.default_rng(1)
    levels = np.arange(20.0)
    script = {
        key: [
            (at * MINUTE // 2, float(levels[key] + 100 * (key == 0 and at > 60) + rng.normal() / 9))
            for at in range(120)
        ]
        for key in range(20)
    }
    loop = Loop(query_of(k=3, **({"budget": 6, "policy": "rnd"} | more)), Scripted(script))
    loop.ingest([(key, at * MINUTE + 1 + key) for at in range(60) for key in range(20)])
    return loop.answers(until=60 * MINUTE)


def test_a_noisy_source_is_recognised_and_with_the_setting_its_values_stay() -> None:
    chased, calm = driven(), driven(noise=0.12)
    told = [
        [each.freshness.noisy for each in found if each.freshness is not None]
        for found in (chased, calm)
    ]
    assert told[0][-1]
    assert not any(told[1])
    seen = [
        {row.remote for answer in found[10:] for row in answer.rows if row.key == 19}
        for found in (chased, calm)
    ]
    assert len(seen[0]) > 5
    assert len(seen[1]) == 1


def test_a_value_that_truly_moves_is_found_all_the_same() -> None:
    calm = driven(noise=0.12)
    assert calm[10].keys == [19, 18, 17]
    assert calm[-1].keys == [0, 19, 18]


def test_it_is_told() -> None:
    assert "no more than three times 2 % is noise" in explain(query_of(noise="2 %"))
