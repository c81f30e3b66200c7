"""Elections that look at few keys elect and estimate as if they had looked at all of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from tests.support.election_worlds import Workload, random_workload
from tests.support.full_election import FullRefresher
from topwater.replica import Ranking, Refresher, WindowView


def require_equal(found: Ranking, right: Ranking, told: Any) -> None:
    """Bit by bit."""
    assert found.look_ups.keys.tolist() == right.look_ups.keys.tolist(), told
    assert found.freshness == right.freshness, told
    for each in fields(Ranking):
        one, other = getattr(found, each.name), getattr(right, each.name)
        if isinstance(one, np.ndarray):
            assert one.tobytes() == np.asarray(other, one.dtype).tobytes(), (each.name, told)
        elif each.name not in ("look_ups", "freshness"):
            assert one == other, (each.name, told)


def run_both(workload: Workload, windows: int) -> None:
    fast, full = workload.made(Refresher), workload.made(FullRefresher)
    for view in workload.views(windows):
        told = (workload, view.index)
        require_equal(fast.refresh(view), full.refresh(view), told)
    assert fast.purse.snapshot() == full.purse.snapshot(), workload


@pytest.mark.parametrize("seed", range(24))
def test_any_workload(seed: int) -> None:
    run_both(random_workload(seed), 8)


@pytest.mark.parametrize(
    "policy",
    ["lru", "rnd", "tsm", "wsj-tsm", "bsm", "gnr-bsm", "ttl:1 min", "wbm", "asm", "at-lru"],
)
def test_any_policy(policy: str) -> None:
    """First with more new keys than may be asked for, and then with fewer."""
    for budget, seeded in ((4, 0.2), (30, 0.9)):
        workload = Workload(17, keys=80, seeded=seeded, bad=0.1, lacking=0.1, failing=0.2)
        run_both(replace(workload, settings={"policy": policy, "budget": budget}), 8)


@pytest.mark.parametrize("k", [511, 700, 5_000])
def test_a_large_answer(k: int) -> None:
    """Larger than what is judged in any case, and than the window."""
    workload = Workload(31, "sum", "heavy", keys=2_500, busy=0.9, k=k, seeded=0.95)
    run_both(replace(workload, settings={"budget": 200, "aim": "accuracy"}), 3)


@pytest.mark.parametrize(
    ("score", "spread", "seeded"),
    [("product", "heavy", 0.02), ("sum", "even", 0.98), ("wave", "heavy", 0.99)],
)
def test_a_large_window(score: str, spread: str, seeded: float) -> None:
    """So large that the first are found by a partition."""
    workload = Workload(23, score, spread, keys=24_000, busy=0.9, k=10, seeded=seeded)
    run_both(replace(workload, settings={"budget": 1_000}), 2)


@pytest.mark.parametrize(("score", "whole"), [("product", True), ("sum", False)])
def test_what_the_stream_says_tells_of_values(score: str, whole: bool) -> None:
    workload = Workload(41, score, "heavy", keys=900, whole=whole, telling=True, k=10)
    workload = replace(workload, settings={"budget": 60})
    run_both(workload, 6)
    refresher = workload.made(Refresher)
    for view in workload.views(6):
        refresher.refresh(view)
    assert refresher.values.population.likeness.is_clear


@pytest.mark.soak
@pytest.mark.parametrize("seeded", [0.03, 0.999])
def test_a_window_of_680_000_keys(seeded: float) -> None:
    workload = Workload(29, "product", "heavy", keys=720_000, busy=0.95, k=10, seeded=seeded)
    run_both(replace(workload, settings={"budget": 1_000, "memory": None}), 3)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_400))
def test_any_workload_for_long(seed: int) -> None:
    run_both(random_workload(seed), 30)


@pytest.mark.parametrize("seed", range(40, 48))
def test_the_order_of_rows_does_not_count(seed: int) -> None:
    workload = random_workload(seed)
    one, other = workload.made(Refresher), workload.made(Refresher)
    for view in workload.views(6):
        found, again = one.refresh(view), other.refresh(shuffled(view))
        told = (workload, view.index)
        assert found.look_ups.keys.tolist() == again.look_ups.keys.tolist(), told
        assert found.freshness == again.freshness, told
        assert found.scores.tolist() == again.scores.tolist(), told


def shuffled(view: WindowView) -> WindowView:
    rows = np.random.default_rng(view.index).permutation(len(view))
    values = {name: column[rows] for name, column in view.values.items()}
    return replace(view, names=view.keys_at(rows), values=values, last_event=view.last_event[rows])
