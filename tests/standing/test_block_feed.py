"""Feeding a block: the same results wherever the loop has to stop, and those of every window."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.standing_arrays import block_of, member_of, room_to_work
from tests.support.standing_steps import results_of, streams
from topwater.standing.block_feed import feed_query
from topwater.standing.costs import LINEAR
from topwater.standing.kernel_records import (
    CRAMPED,
    FED,
    FULL,
    PROBABILISTIC,
    RELAXED,
    STRICT,
    CostRule,
    Member,
)

BY_VALUE = CostRule(LINEAR, 0, np.zeros(1), np.ones(1))
K, WIDTH = 3, 40


def fed(member: Member, values: np.ndarray, results: int = 400) -> tuple[set[tuple[int, int]], int]:
    """What a query reports, and how often it had to be called."""
    block, work = block_of(values), room_to_work(1, results)
    seen: list[tuple[int, int]] = []
    ended, calls = FULL, 0
    while ended != FED:
        ended, size = feed_query(member, block, work, 0)
        found = work.results[:size]
        seen += zip(found["seq"].tolist(), found["step"].tolist(), strict=True)
        calls += 1
        assert ended != CRAMPED
    assert len(set(seen)) == len(seen)
    return set(seen), calls


@pytest.mark.parametrize("rule", [STRICT, RELAXED])
@pytest.mark.parametrize("kind", ["random", "tied", "rising", "waves"])
def test_results_are_those_of_every_window(rule: int, kind: str) -> None:
    values = streams(kind, np.random.default_rng(1), 200, 1)
    member = member_of(BY_VALUE, K, WIDTH, band=rule)
    found, calls = fed(member, values)
    assert found == results_of(values[0], np.arange(1, 201), K, WIDTH)
    assert (calls, member.record["done"]) == (1, 201)


@pytest.mark.parametrize("rule", [RELAXED, PROBABILISTIC])
def test_a_full_table_of_results_is_emptied_and_goes_on(rule: int) -> None:
    values = streams("random", np.random.default_rng(2), 200, 1)
    once, _ = fed(member_of(BY_VALUE, K, WIDTH, band=rule), values)
    often, calls = fed(member_of(BY_VALUE, K, WIDTH, band=rule), values, K + 3)
    assert often == once
    assert calls > 3


def test_a_bag_without_room_stops_before_the_step() -> None:
    values = np.ascontiguousarray(np.arange(100.0)[None, ::-1])[:, ::-1].copy()
    member = member_of(BY_VALUE, 2, 90, band=STRICT)
    member.band["room"] = 10
    ended, size = feed_query(member, block_of(values), room_to_work(1), 0)
    assert (ended, size, member.record["done"]) == (CRAMPED, 2, 11)
