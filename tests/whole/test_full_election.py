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


@pytest.mark.parametrize("seed", range(40))
def test_any_workload(seed: int) -> None:
    run_both(random_workload(seed), 8)


@pytest.mark.parametrize("seed", range(40, 52))
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
