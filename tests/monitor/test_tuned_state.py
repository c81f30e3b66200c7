"""A query whose settings change in the middle of a stream goes on with what it remembers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.rescaled import Shards
from tests.support.scenarios import Scenario, scenario, snapshots
from topwater import Answer, StateError, TopKMonitor, TopKQuery
from topwater.model import Counts
from topwater.monitor.tuned_state import tuned_state
from topwater.replica.budget import Budget, Purse
from topwater.scoring import Formula

HALF = 3
TUNINGS: dict[str, dict[str, Any]] = {
    "each": {"k": 5},
    "each-smallest": {"k": 2, "late": "drop"},
    "count": {"k": 5, "lateness": 4_000},
    "last-and-sum": {"score": Formula("recent - total"), "k": 2},
    "groups-sum": {"k": 1},
    "groups": {"score": Formula("value - other")},
}
POLICIES = ["lru", "wbm", "at-tsm", "ttl:2 min", "worth"]


def tuned_query(query: TopKQuery, **other: Any) -> TopKQuery:
    """With other settings; those of ``refresh`` by their names."""
    own = {name: other.pop(name) for name in [*other] if not hasattr(query, name)}
    if own:
        assert query.refresh is not None
        other["refresh"] = replace(query.refresh, **own)
    return replace(query, **other)


def run(each: Scenario, now: TopKQuery, shards: tuple[int, int] = (1, 1)) -> list[list[Answer]]:
    """The answers before and after the settings change."""
    running = Shards(each, shards[0])
    before = [answer for batch in each.files[:HALF] for answer in running.take(batch)]
    running = running.rescaled(shards[1], now)
    return [before, [answer for batch in each.files[HALF:] for answer in running.take(batch)]]


def fresh(each: Scenario, now: TopKQuery) -> list[Answer]:
    """The answers of a query that had these settings from the start."""
    running = Shards(replace(each, query=now), 1)
    return [answer for batch in each.files for answer in running.take(batch)]


def plain(answer: Answer) -> Answer:
    return replace(answer, tuned=(), candidates=0, counts=Counts(), exact=True)


@pytest.mark.parametrize("name", TUNINGS)
@settings(max_examples=5)
@given(seed=st.integers(0, 80), shards=st.sampled_from([(1, 1), (3, 3), (1, 4), (4, 2)]))
def test_answers_are_those_of_a_fresh_run_where_they_say_so(
    name: str, seed: int, shards: tuple[int, int]
) -> None:
    each = scenario(name, seed)
    now = tuned_query(each.query, **TUNINGS[name])
    _, after = run(each, now, shards)
    expected = {(answer.window, answer.group): answer for answer in fresh(each, now)}
    for answer in after:
        same = plain(answer) == plain(expected[answer.window, answer.group])
        assert same or not answer.exact


@pytest.mark.parametrize("name", ["count", "last-and-sum", "groups-sum"])
@given(seed=st.integers(0, 20))
@settings(max_examples=4)
def test_of_aggregates_nothing_is_missing(name: str, seed: int) -> None:
    each = scenario(name, seed)
    _, after = run(each, tuned_query(each.query, k=9))
    assert all(answer.exact for answer in after)


def test_a_greater_k_is_not_exact_before_its_windows_are_new() -> None:
    each = scenario("each", 4)
    _, after = run(each, tuned_query(each.query, k=9))
    told = [answer.exact for answer in after]
    assert not told[0]
    assert told == sorted(told)
    assert told[-1]


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        *((name, policy) for name in ("worth", "lru", "listed") for policy in POLICIES),
        ("groups-worth", "wbm"),
        ("groups-worth", "lru"),
    ],
)
def test_the_replica_is_kept_whatever_the_policy_is(name: str, policy: str) -> None:
    each = scenario(name, 7)
    now = tuned_query(each.query, policy=policy, budget=Budget(2), estimator="irregular")
    known = {row.key for answer in run(each, each.query)[0] for row in answer.looked_up}
    _, after = run(each, now)
    assert known
    kept = {row.key for answer in after for row in answer.rows if row.age is not None}
    assert kept & known
    for answer in after:
        assert answer.freshness is not None
        assert answer.freshness.fetched <= 2


@pytest.mark.parametrize("shards", [(1, 1), (4, 4), (4, 1), (1, 4)])
@pytest.mark.parametrize("policy", ["worth", "rnd"])
def test_shards_that_rank_together_may_stop_and_begin_to(
    shards: tuple[int, int], policy: str
) -> None:
    each = scenario("worth", 5)
    other = {"worth": "rnd", "rnd": "worth"}[policy]
    each = replace(each, query=tuned_query(each.query, policy=policy))
    _, after = run(each, tuned_query(each.query, policy=other), shards)
    assert len(after) > 4
    assert any(row.age is not None for answer in after for row in answer.rows)


def test_what_was_saved_is_kept_as_far_as_the_purse_holds_it() -> None:
    each = scenario("worth", 5)
    saved = tuned_query(each.query, budget=Budget(8, carry_over=True))
    for fetches in (2, 20):
        now = tuned_query(each.query, budget=Budget(fetches, carry_over=True))
        _, after = run(replace(each, query=saved), now)
        spent = [0 if each.freshness is None else each.freshness.fetched for each in after]
        assert max(spent) <= Purse.bucket * fetches
        assert sum(spent) <= fetches * (len(spent) + Purse.bucket)


def test_hints_are_learnt_anew_and_values_are_not() -> None:
    each = scenario("worth", 5)
    _, after = run(each, tuned_query(each.query, hint=True))
    assert any(row.age is not None for answer in after for row in answer.rows)
    _, back = run(replace(each, query=tuned_query(each.query, hint=True)), each.query)
    assert any(row.age is not None for answer in back for row in answer.rows)


def test_the_first_answer_tells_what_changed() -> None:
    for name in ("count", "worth"):
        each = scenario(name, 2)
        before, after = run(each, tuned_query(each.query, k=4, lateness=3_000))
        assert [answer.tuned for answer in before] == [()] * len(before)
        assert after[0].tuned == ("k: 3 → 4", "lateness: 2000 → 3000")
        assert "now k: 3 → 4" in after[0].facts
        assert {answer.tuned for answer in after[1:]} == {()}
    shared = scenario("worth", 2)
    _, after = run(shared, tuned_query(shared.query, k=4), (4, 4))
    assert [answer.tuned for answer in after[:2]] == [("k: 3 → 4",), ()]


def test_each_group_tells_it() -> None:
    each = scenario("groups-worth", 2)
    _, after = run(each, tuned_query(each.query, k=4))
    told = [answer.group for answer in after if answer.tuned]
    assert len(told) == len(set(told)) > 1


def test_a_monitor_takes_over_a_snapshot() -> None:
    each = scenario("count", 1)
    (state,) = snapshots(each, 1).values()
    monitor = TopKMonitor.build(replace(each.query, k=1), state)
    answers = monitor.flush()
    assert answers
    assert {len(answer.rows) for answer in answers} <= {0, 1}
    with pytest.raises(StateError, match="another query: its take is"):
        TopKMonitor.build(replace(each.query, take={"n": "sum(value)"}), state)


def test_before_the_first_window_there_is_nothing_to_change() -> None:
    each = scenario("worth", 1)
    state = TopKMonitor.build(each.query, source=each.source).snapshot()
    other = tuned_query(each.query, policy="wbm", hint=True)
    assert TopKMonitor.build(other, state, source=each.source).flush() == []


def test_the_same_settings_change_nothing() -> None:
    each = scenario("worth", 1)
    (state,) = snapshots(each, 1).values()
    assert tuned_state(state, each.query) is state
