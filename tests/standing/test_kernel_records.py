"""Named tuples of arrays and records, as compiled code sees them."""

from __future__ import annotations

import pickle

import numpy as np

from tests.support.standing_arrays import block_of, member_of, room_to_work
from topwater.standing.kernel_records import Block, CostRule, Member, Workspace
from topwater.standing.numba_options import compiled


@compiled
def _write(member: Member, block: Block, work: Workspace) -> int:
    member.record["alarm"] = block.end
    member.band["limit"] = len(member.rule.point)
    member.pool[3]["seq"] = work.hits.rows[0]
    member.minima[1] = member.gamma
    return len(work.results)


def test_compiled_code_writes_through_the_tuples() -> None:
    member = member_of(CostRule(0, 0, np.zeros(2), np.ones(2)), 2, 10)
    work = room_to_work(2, results=5)
    work.hits.rows[0] = 77
    assert _write(member, block_of(np.zeros((2, 12))), work) == 5
    assert (member.record["alarm"], member.band["limit"]) == (12, 2)
    assert (member.pool["seq"][3], member.minima[1]) == (77, 0.2)


def test_the_classes_can_be_found_by_name_as_the_cache_of_numba_needs() -> None:
    for kind in (Block, CostRule, Member, Workspace):
        assert pickle.loads(pickle.dumps(kind)) is kind  # noqa: S301
