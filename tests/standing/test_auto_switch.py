"""``auto``: when the order of a stream seems random, and what is kept after a turn."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.standing_arrays import block_of, entries, member_of, room_to_work, skyband
from topwater.model import FloatArray
from topwater.standing.auto_switch import (
    EXACT,
    WATCHED,
    begin_portion,
    cut_into_portions,
    first_inside,
    least_refused,
    seems_ordered,
    turn_exact,
    turn_watched,
    window_seems_ordered,
)
from topwater.standing.costs import LINEAR
from topwater.standing.kernel_records import PROBABILISTIC, RELAXED, CostRule, Member

BY_VALUE = CostRule(LINEAR, 0, np.zeros(1), np.ones(1))
WIDTH = 100


def values(kind: str, size: int = 300) -> FloatArray:
    made = np.random.default_rng(5).random(size)
    if kind == "rising":
        made = np.sort(made)
    elif kind == "waves":
        made = np.sin(np.arange(size) / 9) + 0.01 * made
    return np.ascontiguousarray(made[None, :])


@pytest.mark.parametrize(("kind", "smooth"), [("random", False), ("rising", True), ("waves", True)])
def test_turning_points_tell_the_order(kind: str, smooth: bool) -> None:
    member, block, scratch = member_of(BY_VALUE, 2, WIDTH), block_of(values(kind)), np.empty(600)
    assert [seems_ordered(member, block, row, scratch) for row in (100, 200, 300)] == [smooth] * 3
    assert window_seems_ordered(member, block, 300, scratch) == smooth
    assert not seems_ordered(member, block, 10, scratch)


def test_a_slow_rise_below_the_noise_drifts_though_it_does_not_cling() -> None:
    noise = np.random.default_rng(6).random(300)
    block, scratch = block_of((noise + np.arange(300) / 40)[None, :].copy()), np.empty(600)
    member = member_of(BY_VALUE, 2, WIDTH)
    assert not seems_ordered(member, block, 300, scratch)
    assert window_seems_ordered(member, block, 300, scratch)


def test_bounds_of_portions_are_forgotten_with_them() -> None:
    member = member_of(BY_VALUE, 2, WIDTH)
    cut_into_portions(member.record, member.minima, WIDTH, 4, 2.0)
    assert (member.record["portion"], member.record["slots"]) == (25, 7)
    assert least_refused(member.record, member.minima) == 2.0
    member.record["current"], member.minima[3] = 3, 1.0
    begin_portion(member.record, member.minima, 5)
    assert np.isinf(member.minima[4:6]).all()
    assert least_refused(member.record, member.minima) == 1.0
    begin_portion(member.record, member.minima, 30)
    assert least_refused(member.record, member.minima) == np.inf


def turned(kind: str) -> tuple[Member, FloatArray, bool]:
    member, row = member_of(BY_VALUE, 2, WIDTH), 250
    columns = values(kind)
    done = turn_watched(member, block_of(columns), row, room_to_work(1))
    return member, columns[0, row - WIDTH : row], done


def test_a_watched_query_keeps_the_best_of_the_window() -> None:
    member, window, done = turned("random")
    least = np.sort(window)[: member.record["keep"]]
    expected = [(cost, 151 + at) for at, cost in enumerate(window.tolist()) if cost <= least[-1]]
    assert done
    assert entries(member.band, member.pool) == expected
    assert (member.band["rule"], member.record["watch"]) == (PROBABILISTIC, WATCHED)
    assert member.band["bound"] == least_refused(member.record, member.minima) == least[-1]


def test_no_query_is_watched_while_costs_rise() -> None:
    member, _, done = turned("rising")
    assert not done
    assert member.record["alarm"] == 250


@pytest.mark.parametrize("kind", ["random", "rising", "waves"])
def test_an_exact_query_keeps_the_skyband_of_the_window(kind: str) -> None:
    member, columns = member_of(BY_VALUE, 2, 60), values(kind)
    block, work = block_of(columns), room_to_work(1)
    assert first_inside(member.record, block.stamps, 250, block.origin) == 190
    assert turn_exact(member, block, 250, work)
    window = columns[0, 190:250].tolist()
    assert entries(member.band, member.pool) == [
        (window[at], 191 + at) for at in skyband(window, 2)
    ]
    assert (member.band["rule"], member.record["watch"]) == (RELAXED, EXACT)


def test_without_room_nothing_changes() -> None:
    member, block, work = member_of(BY_VALUE, 2, 60), block_of(values("rising")), room_to_work(1)
    member.band["room"] = 20
    assert not turn_exact(member, block, 250, work)
    assert entries(member.band, member.pool) == []
