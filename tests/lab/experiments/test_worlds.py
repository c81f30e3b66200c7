"""Worlds: the same for the same seed, and what their windows hold."""

from __future__ import annotations

import numpy as np
import pytest

from topwater_lab.experiments.world_moves import MINUTE
from topwater_lab.experiments.worlds import (
    DESIGN_SEEDS,
    FEW,
    KINDS,
    REPORTING_SEEDS,
    WINDOWS,
    World,
    window_of,
)


def world(kind: str, seed: int = 3, windows: int = 25, keys: int = FEW) -> World:
    return World(KINDS[kind], keys, seed, windows)


def test_there_are_many_kinds_and_they_differ() -> None:
    assert len(KINDS) >= 12
    warm = [kind for kind in KINDS.values() if not kind.cold and not kind.churns]
    assert len({kind.moves for kind in warm}) == len(warm)
    assert 0 < sum(kind.design for kind in KINDS.values()) < len(KINDS)


def test_seeds_to_design_with_are_not_those_to_report_on() -> None:
    assert not set(DESIGN_SEEDS) & set(REPORTING_SEEDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_one_world(kind: str) -> None:
    one, again, other = world(kind), world(kind), world(kind, seed=4)
    assert one.remote.values.tolist() == again.remote.values.tolist()
    assert one.scene.times.tolist() == again.scene.times.tolist()
    assert one.remote.values.tolist() != other.remote.values.tolist()


def test_batches_hold_all_events_in_order() -> None:
    there = world("walks")
    tables = list(there.batches())
    times = np.concatenate([table["at"].to_numpy() for table in tables])
    assert times.tolist() == there.scene.times.tolist()
    assert len(tables) == there.length // MINUTE
    assert all(t["at"].to_numpy().max() <= (i + 1) * MINUTE for i, t in enumerate(tables))


def test_views_count_the_events_of_each_window() -> None:
    there = world("levels")
    for view in there.views[::7]:
        window = WINDOWS.window(view.index)
        inside = (there.scene.times > window.start) & (there.scene.times <= window.end)
        assert view.values["mentions"].sum() == inside.sum()
        row = len(view) // 2
        mine = inside & (there.scene.rows == view.keys[row])
        assert view.values["mentions"][row] == mine.sum()
        assert view.last_event[row] == there.scene.times[mine].max()
        assert window_of(view.end) == view.index
    assert np.mean([len(view) for view in there.views]) > 0.8 * FEW


def test_keys_come_and_go_only_where_they_should() -> None:
    first, last = (set(world("churn", windows=60).views[at].keys.tolist()) for at in (5, 50))
    assert not first & last
    sizes = [len(view) for view in world("churn", windows=60).views[10:]]
    assert np.mean(sizes) == pytest.approx(FEW, rel=0.25)
    first, last = (set(world("walks", windows=60).views[at].keys.tolist()) for at in (5, 50))
    assert len(first & last) > 0.7 * FEW
