"""Other shards in the middle of a stream: nothing is lost, nothing is counted twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.rescaled import compared, run
from tests.support.scenarios import Scenario, scenario, snapshots
from topwater import Answer, StateError
from topwater.errors import QueryError
from topwater.monitor.joint_ranking import has_joint_ranking
from topwater.monitor.shard_division import rescale, rescaled
from topwater.monitor.shard_monitors import ShardedMonitor
from topwater.monitor.shards import shard_of
from topwater.replica.budget import Budget, Purse
from topwater.tables import unpack

STEPS = [(1, 4), (4, 1), (4, 16), (16, 3)]
EXACT = ["each", "each-smallest", "count", "last-and-sum", "mean", "groups", "groups-sum"]
BOUNDED = ["worth", "lru", "listed"]


plans = st.lists(st.sampled_from([1, 2, 3, 4, 16]), min_size=6, max_size=6)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=4)
@given(plan=plans, seed=st.integers(0, 50))
def test_exact_answers_do_not_depend_on_when_shards_change(
    name: str, plan: list[int], seed: int
) -> None:
    require_equal_answers(name, plan, seed)


@pytest.mark.soak
@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=100, deadline=None)
@given(plan=plans, seed=st.integers(0, 1_000))
def test_nor_in_many_streams(name: str, plan: list[int], seed: int) -> None:
    require_equal_answers(name, plan, seed)


def require_equal_answers(name: str, plan: list[int], seed: int) -> None:
    each = scenario(name, seed)
    found, counted = run(each, plan)
    fresh, expected = run(each, [plan[-1]] * len(plan))
    assert compared(found) == compared(fresh)
    assert counted == expected


@pytest.mark.parametrize("policy", ["worth", "rnd"])
@settings(max_examples=3)
@given(plan=plans, seed=st.integers(0, 50))
def test_with_an_unlimited_budget_answers_do_not_either(
    policy: str, plan: list[int], seed: int
) -> None:
    each = with_refresh(scenario("worth", seed), policy=policy, budget=Budget.of(None))
    found, counted = run(each, plan)
    fresh, expected = run(each, [plan[-1]] * len(plan))
    assert compared(found, of_shards=False) == compared(fresh, of_shards=False)
    # What a shard estimates is its own; it is the same from the last change on. In what order it
    # looks all keys up is not: that goes by what it has learnt.
    last = max((at for at in range(1, len(plan)) if plan[at] != plan[at - 1]), default=0)
    since = len(run(replace(each, files=each.files[:last]), plan[:last])[0]) if last else 0
    assert by_key(found[since:]) == by_key(fresh[since:])
    assert counted == expected


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("carry_over", [False, True])
@settings(max_examples=2)
@given(plan=plans, seed=st.integers(0, 50))
def test_a_budget_is_never_exceeded(
    name: str, carry_over: bool, plan: list[int], seed: int
) -> None:
    require_budget(name, plan, seed, carry_over=carry_over)


@pytest.mark.soak
@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("carry_over", [False, True])
@settings(max_examples=60, deadline=None)
@given(plan=plans, seed=st.integers(0, 1_000))
def test_nor_is_it_in_many_streams(name: str, carry_over: bool, plan: list[int], seed: int) -> None:
    require_budget(name, plan, seed, carry_over=carry_over)


def require_budget(name: str, plan: list[int], seed: int, *, carry_over: bool) -> None:
    each = with_refresh(scenario(name, seed), budget=Budget(4, carry_over=carry_over))
    found, counted = run(each, plan)
    fetched = [0 if each.freshness is None else each.freshness.fetched for each in found]
    most = 4 if not carry_over else 4 * Purse.bucket
    assert max(fetched) <= most
    for first in range(len(fetched)):
        run_of = fetched[first:]
        # No run of windows costs more than as many budgets, and what the purse had.
        assert sum(run_of) <= 4 * len(run_of) + (most - 4)
    fresh, expected = run(each, [plan[-1]] * len(plan))
    assert [answer.window for answer in found] == [answer.window for answer in fresh]
    assert replace(counted, forgotten=0) == replace(expected, forgotten=0)


@pytest.mark.parametrize("kept", ["panes+n", "topk+n"])
@settings(max_examples=3)
@given(plan=plans, seed=st.integers(0, 50))
def test_what_a_list_calls_exact_is_the_truth(kept: str, plan: list[int], seed: int) -> None:
    each = with_refresh(scenario("listed", seed), budget=Budget.of(None))
    found, _ = run(replace(each, query=replace(each.query, list=kept)), plan)
    truth, _ = run(replace(each, query=replace(each.query, list=None)), [1] * len(plan))
    assert [answer.window for answer in found] == [answer.window for answer in truth]
    sure = [at for at, answer in enumerate(found) if answer.exact]
    assert [found[at].rows for at in sure] == [truth[at].rows for at in sure]


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize(("before", "after"), STEPS)
def test_what_is_remembered_of_a_key_goes_with_it(name: str, before: int, after: int) -> None:
    each = scenario(name, 1, files=8)
    states = snapshots(each, before)
    other = rescaled(each.query, states, before, after)
    there, here = remembered(each, states, before), remembered(each, other, after)
    assert len(there) > 5
    assert here == there
    back = rescaled(each.query, other, after, before)
    assert remembered(each, back, before) == there
    for shard in range(after):
        owners = shard_of(pa.array(keys_in(other[shard]), pa.int64()), after)
        assert set(owners.tolist()) <= {shard}


def test_a_purse_is_divided_and_joined_again() -> None:
    each = with_refresh(scenario("lru", 2, files=8), budget=Budget(5, carry_over=True))
    states = snapshots(each, 1)
    tokens = purses(states)
    assert 0 < tokens[0] <= 15
    parts = rescaled(each.query, states, 1, 4)
    assert sum(purses(parts)) == int(tokens[0])
    assert max(purses(parts)) - min(purses(parts)) <= 1
    assert sum(purses(rescaled(each.query, parts, 4, 3))) == int(tokens[0])


def test_beliefs_do_not_grow_firmer_by_being_divided() -> None:
    each = scenario("lru", 2, files=8)
    states = snapshots(each, 1)
    (whole,) = (facts_of(state)["remote"] for state in states.values())
    again = states
    for before, after in ((1, 4), (4, 16), (16, 3), (3, 1)):
        again = rescaled(each.query, again, before, after)
    (found,) = (facts_of(state)["remote"] for state in again.values())
    assert np.allclose(found["values"]["sums"], whole["values"]["sums"])
    assert np.allclose(found["rates"], whole["rates"])
    assert found["purse"]["seconds_per_fetch"] == whole["purse"]["seconds_per_fetch"]


def test_before_the_first_answer_and_the_first_event() -> None:
    each = scenario("worth", 0)
    assert rescale({}, 4, 2, "nonce") == {}
    first = replace(each, files=(each.files[0].slice(0, 3), *each.files))
    found, counted = run(first, [1, 4, 1, 2, 2, 2, 2])
    fresh, expected = run(first, [2] * 7)
    assert [answer.window for answer in found] == [answer.window for answer in fresh]
    assert counted == expected


def test_a_shard_without_a_state_and_too_many_shards() -> None:
    each = scenario("count", 0)
    states = ShardedMonitor(each.query, 4).snapshots()
    del states[2]
    with pytest.raises(StateError, match="the state of shard 2 of 4 is missing"):
        rescaled(each.query, states, 4, 2)
    with pytest.raises(QueryError, match="257 shards are more"):
        rescale({}, 4, 257, "nonce")


def with_refresh(each: Scenario, **changes: Any) -> Scenario:
    refresh = each.query.refresh
    assert refresh is not None
    return replace(each, query=replace(each.query, refresh=replace(refresh, **changes)))


def by_key(answers: list[Answer]) -> list[Answer]:
    return [
        replace(answer, looked_up=tuple(sorted(answer.looked_up, key=lambda each: each.key)))
        for answer in compared(answers)
    ]


def facts_of(state: bytes) -> dict[str, Any]:
    found: dict[str, Any] = unpack(state)[1]["facts"]
    return found


def purses(states: Mapping[int, bytes]) -> list[float]:
    return [facts_of(state)["remote"]["purse"]["tokens"] for state in states.values()]


def keys_in(state: bytes) -> list[int]:
    """All keys that a shard remembers something of."""
    held, replica = (unpack(part.as_py())[0] for part in unpack(state)[0].column("part"))
    if "part" in held.column_names:
        held = unpack(held.column("part")[0].as_py())[0]
    tables = [table for table in (held, replica) if table.num_rows]
    return [key for table in tables for key in table.column("key").to_pylist()]


def remembered(each: Scenario, states: Mapping[int, bytes], shards: int) -> dict[int, object]:
    """Of each key whose value was asked for: all that is known of it, and where values are."""
    keepers = [*states.values()]
    if has_joint_ranking(each.query, shards):
        keepers = [states[shards]]
    found: dict[int, object] = {}
    for state in keepers:
        replica = unpack(unpack(state)[0].column("part")[1].as_py())[0]
        for row in replica.drop_columns("arrival").to_pylist():
            found[row.pop("key")] = repr(row)
    return found
