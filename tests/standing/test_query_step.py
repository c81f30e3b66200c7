"""One step of a query: who leaves, who comes, who moves up, who only waits."""

from __future__ import annotations

import numpy as np

from tests.support.standing_arrays import block_of, entries, member_of, room_to_work, top_of
from topwater.standing import candidate_bags as bags
from topwater.standing.costs import LINEAR
from topwater.standing.kernel_records import PROBABILISTIC, RESULT, Arrival, CostRule
from topwater.standing.query_step import move_up, raise_bound, report, take_step, take_waiting

BY_VALUE = CostRule(LINEAR, 0, np.zeros(1), np.ones(1))


def test_a_result_is_written_where_there_is_place() -> None:
    results = np.zeros(3, RESULT)
    assert report(results, 1, 7, 5, 6, 0.5) == 2
    assert results[1].tolist() == (7, 5, 6, 0.5)


def test_steps_report_each_object_when_it_first_is_among_the_best() -> None:
    """All costs are shown; k is 2, and the window has 5."""
    costs = np.random.default_rng(4).integers(0, 12, 60) / 4.0
    member, results, size = member_of(BY_VALUE, 2, 5), np.zeros(200, RESULT), 0
    seen: dict[int, int] = {}
    for seq, cost in enumerate(costs.tolist(), 1):
        new, doubt, size = take_step(member, True, Arrival(cost, seq, seq), results, size)
        bags.tidy(member.band, member.pool, new, 0.2, np.empty(8))
        inside = range(max(1, seq - 4), seq + 1)
        best = sorted(inside, key=lambda at: (costs[at - 1], -at))[:2]
        for at in best:
            seen.setdefault(at, seq)
        assert (doubt, [at for _, at in top_of(member.band, member.pool)]) == (False, best)
    found = results[:size]
    assert dict(zip(found["seq"].tolist(), found["step"].tolist(), strict=True)) == seen


def test_nobody_moves_up_who_may_not_be_the_next_best() -> None:
    member, results = member_of(BY_VALUE, 2, 50), np.zeros(9, RESULT)
    for seq, cost in enumerate((3.0, 1.0, 2.0), 1):
        bags.insert(member.band, member.pool, cost, seq, seq, 0)
    member.band["covers"] = 0
    assert move_up(member, 3, 2.0, results, 0) == (True, 0)
    assert move_up(member, 3, 2.5, results, 0) == (False, 2)
    assert results["seq"][:2].tolist() == [2, 3]


def test_a_bound_rises_with_those_that_leave() -> None:
    member = member_of(BY_VALUE, 2, 50, band=PROBABILISTIC)
    for seq in range(1, 11):
        bags.insert(member.band, member.pool, float(seq), seq, seq, 0)
    bags.refill(member.band, member.pool)
    member.band["bound"] = 10.0
    raise_bound(member.band, member.pool, 4, 0, 0)
    assert member.band["bound"] == 10.0
    raise_bound(member.band, member.pool, 4, 0, 2)
    assert member.band["bound"] == 11.0
    raise_bound(member.band, member.pool, 4, 8, 8)
    assert member.band["bound"] == np.inf


def test_those_that_only_wait_are_written_until_one_ranks_or_it_is_time() -> None:
    member, work = member_of(BY_VALUE, 1, 50, band=PROBABILISTIC), room_to_work(1)
    values = np.array([[0.5, 0.6, 9.0, 3.0, 9.0, 4.0, 0.1, 5.0]])
    for seq in (1, 2):
        bags.insert(member.band, member.pool, values[0, seq - 1], seq, seq, 0)
        bags.place_in_top(member.band, member.pool, values[0, seq - 1], seq, seq)
    member.band["bound"], hits, block = 6.0, work.hits, block_of(values)
    hits.rows[:6], hits.costs[:6] = np.arange(2, 8), values[0, 2:]
    assert take_waiting(member.band, member, block, hits, 3, 5, 0, 6) == 3
    assert take_waiting(member.band, member, block, hits, -1, 99, 3, 6) == 4
    assert [seq for _, seq in entries(member.band, member.pool)] == [1, 2, 4, 6]
    assert member.minima[3] == 9.0
