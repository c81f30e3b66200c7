"""Each way to move has its signature: what makes it another one than the rest."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.model import FloatArray, IntArray
from topwater_lab.experiments import world_moves
from topwater_lab.experiments.world_moves import EPOCH, GROUPS, MINUTE, STORM, Course, Scene

KEYS, LENGTH = 200, 180 * MINUTE


def scene(seed: int = 1) -> Scene:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(1, LENGTH, 20_000))
    return Scene(rng, KEYS, LENGTH, times, rng.integers(0, KEYS, len(times)))


def by_key(course: Course) -> list[tuple[FloatArray, FloatArray]]:
    """The minutes and values of each key, in order."""
    order = np.lexsort((course.times, course.rows))
    rows, times, values = course.rows[order], course.times[order], course.values[order]
    cuts = np.flatnonzero(np.diff(rows)) + 1
    minutes = np.split(times / MINUTE, cuts)
    return list(zip(minutes, np.split(values, cuts), strict=True))


def changes_a_minute(course: Course) -> float:
    return (len(course.times) - KEYS) / KEYS / (LENGTH / MINUTE)


def spread_after(course: Course, changes: int) -> float:
    """How far values are from where they were so many changes before."""
    gaps = [v[changes:] - v[:-changes] for _, v in by_key(course) if len(v) > changes]
    return float(np.concatenate(gaps).std())


def test_every_key_has_a_value_from_the_beginning() -> None:
    for way in vars(world_moves).values():
        if getattr(way, "__annotations__", {}).get("return") == "Course" and callable(way):
            course = way(scene())
            assert set(course.rows[course.times == 0].tolist()) == set(range(KEYS))
            assert np.isfinite(course.values).all()
            assert course.times.min() == 0


def test_levels_do_not_spread() -> None:
    course = world_moves.levels(scene())
    assert changes_a_minute(course) == pytest.approx(0.36, rel=0.25)
    assert spread_after(course, 20) == pytest.approx(spread_after(course, 1), rel=0.1)
    means = np.array([values.mean() for _, values in by_key(course)])
    assert means.std() == pytest.approx(4, rel=0.25)


def test_walks_spread_with_the_root_of_the_number_of_changes() -> None:
    course = world_moves.walks(scene())
    assert spread_after(course, 1) == pytest.approx(1.2, rel=0.1)
    assert spread_after(course, 16) == pytest.approx(4 * 1.2, rel=0.2)


def test_trends_go_on() -> None:
    course = world_moves.trends(scene())
    slopes = np.array([np.polyfit(t, v, 1)[0] for t, v in by_key(course) if len(v) > 20])
    assert slopes.std() == pytest.approx(0.15, rel=0.25)
    noise = [(v - np.polyval(np.polyfit(t, v, 1), t)).std() for t, v in by_key(course)]
    assert np.median(noise) < 0.6


def test_seasons_come_again() -> None:
    """After half a wave a value is on the other side."""
    best = []
    for minutes, values in by_key(world_moves.seasons(scene())):
        if len(values) < 60:
            continue
        waves = [
            np.linalg.lstsq(
                np.stack([np.sin(a), np.cos(a), np.ones_like(a)], 1), values, rcond=None
            )[1]
            for a in (2 * np.pi * minutes / each for each in np.arange(25, 46))
        ]
        best.append(1 - min(float(w[0]) for w in waves) / ((values - values.mean()) ** 2).sum())
    assert np.median(best) > 0.9


def test_scales_differ_by_key() -> None:
    spread = [v.std() for _, v in by_key(world_moves.scales(scene())) if len(v) > 20]
    low, high = np.quantile(spread, [0.1, 0.9])
    assert high / low > 6


def test_mixed_has_keys_of_three_kinds() -> None:
    found = by_key(world_moves.mixed(scene()))
    assert len(found) == KEYS
    far = np.array([abs(v[-1] - v[0]) / (v[1:] - v[:-1]).std() for _, v in found if len(v) > 20])
    assert 0.2 < (far < 2).mean() < 0.6
    assert (far > 8).mean() > 0.1


def test_groups_change_together() -> None:
    course = world_moves.groups(scene())
    moments = {tuple(minutes[1:].tolist()) for minutes, _ in by_key(course)}
    assert len(moments) == GROUPS
    assert sum(map(len, moments)) == len(set().union(*moments))


def test_jumps_are_rare_and_huge_and_come_back() -> None:
    course = world_moves.jumps(scene())
    assert changes_a_minute(course) == pytest.approx(2 / 40, rel=0.2)
    sizes = np.concatenate([np.abs(v[1:] - v[:-1]) for _, v in by_key(course)])
    assert np.quantile(sizes[sizes > 0], 0.05) >= 7
    ends = np.array([v[-1] == v[0] for _, v in by_key(course)])
    assert ends.mean() > 0.95


def shares(times: IntArray, period: int) -> FloatArray:
    counts = np.bincount((times % period) // MINUTE, minlength=period // MINUTE)
    return np.sort(counts / counts.sum())[::-1]


def test_storms_hold_most_changes() -> None:
    course = world_moves.storms(scene())
    assert shares(course.times[course.times > 0], STORM)[:7].sum() > 0.8


def test_liveliness_roams() -> None:
    course = world_moves.roaming(scene())
    later = course.times > 0
    epochs = course.times[later] // EPOCH
    counts = np.array(
        [np.bincount(course.rows[later][epochs == e], minlength=KEYS) for e in (0, 1)]
    )
    lively = counts > 8
    assert lively.mean(axis=1) == pytest.approx([0.2, 0.2], abs=0.08)
    assert abs(np.corrcoef(counts)[0, 1]) < 0.25


def test_only_events_change_values() -> None:
    there = scene()
    course = world_moves.events(there)
    spoken = set(zip(there.times.tolist(), there.rows.tolist(), strict=True))
    later = course.times > 0
    changed = list(zip(course.times[later].tolist(), course.rows[later].tolist(), strict=True))
    assert set(changed) <= spoken
    assert len(changed) / len(there.times) == pytest.approx(0.6, abs=0.03)


def test_noise_is_another_number_each_time() -> None:
    course = world_moves.noise(scene())
    assert changes_a_minute(course) == pytest.approx(3, rel=0.05)
    assert spread_after(course, 1) == pytest.approx(spread_after(course, 50), rel=0.05)


def test_cold_values_lie_far_apart() -> None:
    still = world_moves.far_apart(scene())
    assert len(still.times) == KEYS
    assert np.log(still.values).std() == pytest.approx(2, rel=0.2)
    moving = world_moves.far_apart_and_moving(scene())
    steps = np.concatenate([np.diff(np.log(v)) for _, v in by_key(moving)])
    assert steps.std() == pytest.approx(0.3, rel=0.1)
