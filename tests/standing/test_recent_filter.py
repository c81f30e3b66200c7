"""The filter of the recent: what it forgets, and what is passed on when a portion leaves."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.standing_arrays import block_of, entries, member_of, room_to_work, skyband
from topwater.standing import candidate_bags as bags
from topwater.standing.costs import LINEAR
from topwater.standing.kernel_records import PASSED, PROBABILISTIC, REPORTED, CostRule, Member
from topwater.standing.recent_filter import first_from, pass_refused, pass_remembered, trim

BY_VALUE = CostRule(LINEAR, 0, np.zeros(1), np.ones(1))


@pytest.mark.parametrize("seed", range(10))
def test_the_first_row_from_a_stamp_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stamps = np.sort(rng.integers(0, 40, 30))
    for stamp in range(-1, 42):
        row, end = (int(at) for at in np.sort(rng.integers(0, 31, 2)))
        expected = row + int(np.searchsorted(stamps[row:end], stamp))
        assert first_from(stamps, row, end, stamp) == expected


def filled(costs: list[float], marks: dict[int, int] | None = None) -> Member:
    member = member_of(BY_VALUE, 2, 80, band=PROBABILISTIC)
    for seq, cost in enumerate(costs, 1):
        mark = (marks or {}).get(seq, 0)
        bags.insert(member.filter, member.pool, cost, seq, seq, mark)
    member.filter["limit"] = 8
    return member


def test_a_trim_keeps_the_best_and_notes_what_it_forgets() -> None:
    costs = np.random.default_rng(1).permutation(40).astype(float).tolist()
    gone = [seq for seq, cost in enumerate(costs, 1) if cost >= 8]
    told, passed = gone[-1], gone[0]
    member = filled(costs, {told: REPORTED, passed: PASSED})
    trim(member.filter, member, 8, np.empty(100))
    kept = {seq for _, seq in entries(member.filter, member.pool)}
    best = {seq for seq, cost in enumerate(costs, 1) if cost <= member.filter["bound"]}
    assert best <= kept <= best | {told}
    assert 8 <= len(best) <= 9
    forgotten = [seq for seq in range(1, 41) if seq not in kept | {passed}]
    for slot in range(8):
        least = min((costs[seq - 1] for seq in forgotten if seq // 10 % 8 == slot), default=np.inf)
        assert member.minima[slot] == least


def test_what_the_filter_remembers_goes_to_the_query_once() -> None:
    costs = np.random.default_rng(2).random(30).tolist()
    member = filled(costs, {3: PASSED})
    assert pass_remembered(member, 21, np.empty(100))
    going = [at for at in skyband(costs, 2) if at < 20 and at != 2]
    assert entries(member.band, member.pool) == [(costs[at], at + 1) for at in going]
    assert [seq for _, seq in entries(member.filter, member.pool)] == list(range(21, 31))


@pytest.mark.parametrize("seed", range(4))
def test_what_was_refused_and_may_still_matter_is_found_in_the_rows(seed: int) -> None:
    """Portion 1 has the stamps from 10 to 19; the filter holds nothing younger."""
    costs = np.random.default_rng(seed).random(60)
    member, work = member_of(BY_VALUE, 2, 80), room_to_work(1)
    block = block_of(np.ascontiguousarray(costs[None, :]))
    assert pass_refused(member, block, 1, work)
    leaving = costs[9:19].tolist()
    expected = {(leaving[at], at + 10) for at in skyband(leaving, 2)}
    assert set(entries(member.band, member.pool)) == expected
    assert pass_refused(member, block, 1, work)
    assert set(entries(member.band, member.pool)) == expected
