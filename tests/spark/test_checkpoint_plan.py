"""What a checkpoint is to become."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from topwater import StateError, TopKQuery, tumbling
from topwater.spark.checkpoint_journals import Stored, StoredQuery
from topwater.spark.checkpoint_plan import CheckpointPlan, Wanted, changes

PLAIN = TopKQuery(key="key", time="time", window=tumbling("10s"), score="value", k=1)
REMOTE = TopKQuery(
    key="key",
    time="time",
    window=tumbling("10s"),
    take={"n": "count"},
    score="n + f",
    k=1,
    refresh="f",
)


def stored(query: TopKQuery | None, shards: int, *stages: int, name: str = "") -> Stored:
    written: Any = SimpleNamespace(head=SimpleNamespace(query=query and query.to_dict()))
    return Stored({} if query is None else {0: written}, shards, "", name, stages)


def of(*rankings: Stored, others: tuple[int, ...] = (), tasks: int = 1) -> StoredQuery:
    ours = [stage for each in rankings for stage in each.stages]
    return StoredQuery([*rankings], sorted([*ours, *others]), tasks)


def test_what_does_not_change_is_copied() -> None:
    query = of(stored(PLAIN, 1, 0), stored(REMOTE, 1, 1))
    plan = CheckpointPlan(query, [None, Wanted(replace(REMOTE, k=2), 1)])
    assert (plan.tasks, plan.stages) == (1, [(0,), (1,)])
    assert [plan.is_copied(at, query) for at in (0, 1)] == [True, False]


def test_a_second_stage_moves_those_behind_it() -> None:
    """Shards that rank together have a stage more; what is not changed is written again, too."""
    query = of(stored(REMOTE, 1, 0), stored(PLAIN, 1, 1), stored(None, 0, 2))
    plan = CheckpointPlan(query, [Wanted(REMOTE, 4), None, None])
    assert (plan.tasks, plan.stages) == (4, [(0, 1), (2,), (3,)])
    assert plan.wanted == [Wanted(REMOTE, 4), Wanted(PLAIN, 1), None]
    assert [plan.is_copied(at, query) for at in (0, 1, 2)] == [False, False, False]
    with pytest.raises(StateError, match=r"ours are 4 where they were 3"):
        CheckpointPlan(query._replace(operators=[0, 1, 2, 3]), [Wanted(REMOTE, 4), None, None])


def test_tasks_follow_the_most_shards_if_that_was_so_before() -> None:
    query = of(stored(PLAIN, 4, 0), stored(PLAIN, 2, 1), tasks=4)
    assert CheckpointPlan(query, [None, Wanted(PLAIN, 3)]).tasks == 4
    assert CheckpointPlan(query, [Wanted(PLAIN, 1), None]).tasks == 2
    assert CheckpointPlan(query, [Wanted(PLAIN, 1), None], 7).tasks == 7
    assert CheckpointPlan(query._replace(partitions=5), [Wanted(PLAIN, 1), None]).tasks == 5
    beside = of(stored(PLAIN, 4, 0), others=(1,), tasks=4)
    assert CheckpointPlan(beside, [Wanted(PLAIN, 1)]).tasks == 4
    with pytest.raises(StateError, match="whose tasks can't be changed"):
        CheckpointPlan(beside, [Wanted(PLAIN, 1)], 2)


def test_changes_are_told_with_the_ranking_that_they_are_of() -> None:
    query = of(stored(PLAIN, 1, 0, name="left"), stored(PLAIN, 1, 1))
    wanted = [Wanted(replace(PLAIN, k=2), 1), Wanted(PLAIN, 3)]
    assert changes(query, wanted) == ["left: k: 1 → 2", "ranking 2: shards: 1 → 3"]
    assert changes(of(stored(PLAIN, 1, 0)), [Wanted(PLAIN, 3)]) == ["shards: 1 → 3"]
