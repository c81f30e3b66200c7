"""As few look-ups as an accuracy needs: by itself, and in all that carries it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.looping import MINUTE, Loop, batch_of, query_of, random_events, random_script
from topwater.errors import QueryError
from topwater.model import Answer, Freshness
from topwater.monitor.grouped import GroupedMonitor
from topwater.monitor.shard_monitors import ShardedMonitor
from topwater.query import TopKQuery
from topwater.replica import RefreshSettings
from topwater.replica.appraisal import Appraised
from topwater.replica.set_point import ROUNDS, SetPoint
from topwater.show.explain import explain
from topwater.testing import HandClock, Scripted
from topwater.windows import tumbling

KEYS = 30


def said(precision: float, ndcg: float = 0.0) -> Freshness:
    return Freshness(0, 0, 0, precision, ndcg, missed=False)


@given(
    gains=st.lists(st.floats(0, 0.2), min_size=1, max_size=60),
    start=st.floats(0, 1),
    target=st.floats(0.05, 0.95),
)
def test_the_fewest_look_ups_that_reach_it_are_wanted(
    gains: list[float], start: float, target: float
) -> None:
    """Of a curve that flattens, the least number; a little more where that is not looked at."""
    curve = start + np.concatenate([[0.0], np.cumsum(sorted(gains, reverse=True))])
    looked_at = []

    def expected(count: int) -> float:
        looked_at.append(count)
        return float(curve[count])

    found = SetPoint(target, "accuracy").wanted(expected, len(gains))
    reached = np.flatnonzero(curve >= target)
    if len(reached):
        assert reached[0] <= found <= max(reached[0] * 4 / 3, reached[0] + 1)
    else:
        assert found == len(gains)
    assert len(looked_at) < 14


def test_what_answers_fall_short_of_later_ones_make_good() -> None:
    point = SetPoint(0.9, "accuracy")
    for _ in range(5):
        point.note(said(0.8))
    assert 0.9 < point.reach <= 0.95
    for _ in range(100):
        point.note(said(0.95))
    assert 0.85 <= point.reach < 0.9


@pytest.mark.parametrize("excess", [-0.08, 0.05, 0.2])
def test_what_answers_say_too_much_is_asked_on_top(excess: float) -> None:
    """So those that truly are so much less right are as right as asked."""
    point, right = SetPoint(0.9, "accuracy"), []
    for _ in range(60):
        right.append(point.reach - excess)
        point.note(said(point.reach), excess)
    assert right[-1] == pytest.approx(min(0.9, 0.98 - excess), abs=0.005)
    assert point.reach <= 0.98


def test_by_relevance_it_counts_by_ndcg() -> None:
    point = SetPoint(0.9, "relevance")
    # An audit tells of precision only.
    point.note(said(0.0, 0.9), excess=0.05)
    assert point.reach == pytest.approx(0.9)
    assert not point.reached(said(1.0, 0.5))
    assert point.reached(said(0.0, 0.86))


def test_of_keys_drawn_at_random_only_their_share_is_taken() -> None:
    """Each in place of the last of the others, so that no more is spent."""
    point = SetPoint(0.9, "accuracy")
    elected = Appraised(np.arange(20), np.concatenate([np.full(5, np.inf), np.ones(15)]))
    taken, spent = 0, 0
    for _ in range(100):
        found = point.of_elected(elected, lambda count: count / 4, drawn=5)
        assert len(found.rows) == 4
        taken += int(np.isinf(found.worth).sum())
        spent += len(found.rows)
    assert taken == pytest.approx(0.05 * spent, abs=1)


@pytest.mark.parametrize(
    ("target", "look_ups", "keys", "each"),
    [
        (0.9, 0, 500, 1.0),
        (0.9, 2, 60, 1.0),
        (0.9, 0, 30, 0.5),
        (0.7, 0, 30, 1 / 6),
        (0.9, 40, 9, 4),
    ],
)
def test_keys_left_alone_are_read_again_now_and_then(
    target: float, look_ups: int, keys: int, each: float
) -> None:
    """One a window where there are many, with fewer accordingly; more if more is spent anyway."""
    point = SetPoint(target, "accuracy")
    found = sum(point.again(look_ups, keys) for _ in range(100))
    assert found == pytest.approx(100 * each, abs=1)


def test_a_key_that_was_calm_for_long_is_found_when_it_moves() -> None:
    """Nothing else tells of it: values that never changed are believed to stay."""
    script: dict[Any, Any] = {key: [(0, float(key))] for key in range(KEYS)}
    script[0].append((60 * MINUTE, 1_000.0))
    loop = Loop(
        query_of(aim="accuracy", budget={"accuracy": 0.9, "at_most": 9}, k=5), Scripted(script)
    )
    loop.ingest([(key, at * MINUTE + 1 + key) for at in range(125) for key in range(KEYS)])
    shown = [0 in answer.keys for answer in loop.answers(until=125 * MINUTE)]
    assert not any(shown[:59])
    assert shown[-1]


def test_it_goes_on_after_a_restart_but_not_towards_another_target() -> None:
    point = SetPoint(0.9, "accuracy")
    point.note(said(0.7))
    state = json.loads(json.dumps(point.snapshot()))
    again, other = SetPoint(0.9, "accuracy"), SetPoint(0.5, "accuracy")
    again.restore(state)
    other.restore(state)
    assert again.snapshot() == point.snapshot()
    assert (other.reach, other.mean) == (0.5, 0.5)
    del state["lift"]
    earlier = SetPoint(0.9, "accuracy")
    earlier.restore(state)
    assert (earlier.reach, earlier.lift) == (point.reach, 0.0)


def settled_events(minutes: int, keys: int = KEYS) -> list[Any]:
    rng = np.random.default_rng(3)
    count = minutes * keys
    return [
        (int(key), int(at))
        for key, at in zip(
            rng.integers(0, keys, count), np.sort(rng.integers(1, minutes * MINUTE, count)),
            strict=True,
        )
    ]  # fmt: skip


def moving_script(minutes: int, keys: int = KEYS) -> dict[Any, Any]:
    """A level for each key, and every few minutes another value around it."""
    rng = np.random.default_rng(4)
    levels = rng.normal(20, 4, keys)
    return {
        key: [
            (int(at), float(value))
            for at, value in zip(
                [0, *np.sort(rng.integers(1, minutes * MINUTE, minutes // 4))],
                levels[key] + rng.normal(0, 3, minutes // 4 + 1),
                strict=True,
            )
        ]
        for key in range(keys)
    }


def driven(minutes: int = 50, **budget: Any) -> list[Answer]:
    aim = budget.pop("aim", "accuracy")
    loop = Loop(query_of(aim=aim, budget=budget, k=5), Scripted(moving_script(minutes)))
    loop.ingest(settled_events(minutes))
    return loop.answers(until=minutes * MINUTE)


def fresh(answers: list[Answer]) -> list[Freshness]:
    return [answer.freshness for answer in answers if answer.freshness is not None]


@pytest.mark.parametrize("aim", ["accuracy", "relevance"])
@pytest.mark.parametrize("accuracy", [0.7, 0.9])
def test_answers_say_on_average_what_was_asked(aim: str, accuracy: float) -> None:
    found = fresh(driven(accuracy=accuracy, at_most=25, aim=aim))[10:]
    reached = np.mean([each.precision if aim == "accuracy" else each.ndcg for each in found])
    assert reached == pytest.approx(accuracy, abs=0.03)
    assert np.mean([each.fetched for each in found]) < 12
    assert not any(each.out_of_reach for each in found)


def test_more_accuracy_costs_more() -> None:
    spent = [
        sum(each.fetched for each in fresh(driven(accuracy=accuracy, at_most=25))[10:])
        for accuracy in (0.6, 0.8, 0.95)
    ]
    assert spent[0] < spent[1] < spent[2]


def test_what_at_most_can_t_reach_is_said() -> None:
    found = fresh(driven(accuracy=0.98, at_most=1))[20:]
    assert np.mean([each.out_of_reach for each in found]) > 0.8
    assert all(each.missed for each in found if each.out_of_reach)
    assert "the accuracy asked for is out of reach" in found[-1].facts
    assert max(each.fetched for each in found) == 1


def test_the_source_is_asked_twice_at_most_and_never_for_more() -> None:
    loop = Loop(
        query_of(aim="accuracy", budget={"accuracy": 0.9, "at_most": 9}, k=5),
        Scripted(moving_script(40)),
    )
    loop.ingest(settled_events(40))
    rounds = []
    while (close := loop.monitor.next_close()) is not None and close <= 40 * MINUTE:
        loop.source.calls.clear()
        answer = loop.answer()
        calls = [call for call in loop.source.calls if call]
        rounds.append(len(calls))
        keys = [key for call in calls for key in call]
        assert len(set(keys)) == len(keys) <= 9
        assert answer.freshness is not None
        assert answer.freshness.fetched == len(keys)
    assert max(rounds) <= ROUNDS
    assert np.mean(rounds) < 1.6


def test_a_source_that_fails_is_not_asked_again() -> None:
    source = Scripted(moving_script(10))
    source.failing = set(range(KEYS))
    loop = Loop(query_of(aim="accuracy", budget={"accuracy": 0.9, "at_most": 9}), source)
    loop.ingest(settled_events(10))
    answers = loop.answers(until=10 * MINUTE)
    assert len([call for call in source.calls if call]) == len(answers)
    assert all(each.failed == each.fetched for each in fresh(answers))


def test_carried_over_a_window_may_have_more_but_all_together_no_more() -> None:
    found = fresh(driven(accuracy=0.97, at_most=3, carry_over=True))
    spent = np.array([each.fetched for each in found])
    assert spent.max() > 3
    assert np.all(np.cumsum(spent) <= 3 * np.arange(1, len(spent) + 1))


def test_beside_a_deadline_neither_is_exceeded() -> None:
    source = Scripted(moving_script(30), seconds_per_key=0.3)
    query = query_of(aim="accuracy", budget={"accuracy": 0.99, "at_most": 4, "deadline": "2 s"})
    loop = Loop(query, source, clock=HandClock())
    loop.ingest(settled_events(30))
    found = fresh(loop.answers(until=30 * MINUTE))
    assert 2 <= max(each.fetched for each in found) <= 4
    slow = Scripted(moving_script(30), seconds_per_key=0.9)
    loop = Loop(query, slow, clock=HandClock())
    loop.ingest(settled_events(30))
    assert max(each.fetched for each in fresh(loop.answers(until=30 * MINUTE))[5:]) <= 2


@pytest.mark.parametrize("carry_over", [False, True])
@pytest.mark.parametrize("kind", ["int", "str"])
def test_a_restart_and_other_batches_change_nothing(kind: str, carry_over: bool) -> None:
    budget = {"accuracy": 0.8, "at_most": 6, "carry_over": carry_over}
    query = query_of(aim="accuracy", budget=budget, limit=16)
    events = random_events(3, kind=kind)
    twins = [Loop(query, Scripted(random_script(3, kind=kind))) for _ in range(2)]
    for minute in range(15):
        part = [e for e in events if minute * MINUTE < e[1] <= (minute + 1) * MINUTE]
        for loop in twins:
            loop.source.failing = {"k1", 1} if minute % 5 == 0 else set()
        twins[0].ingest(part)
        twins[1].restart()
        for first in range(0, len(part), 4):
            twins[1].ingest(part[first : first + 4][::-1])
        if minute:
            whole, restarted = (loop.answer() for loop in twins)
            assert whole == restarted
            assert twins[0].source.calls == twins[1].source.calls
    facts = [loop.monitor._refresher.facts() for loop in twins]  # type: ignore[union-attr]
    assert facts[0] == facts[1]
    assert facts[0]["set_point"]["windows"] > 10


def test_shards_spend_as_one() -> None:
    """They have one ranking, and so one set-point."""
    query = query_of(aim="accuracy", budget={"accuracy": 0.9, "at_most": 15})
    events = batch_of(settled_events(30))
    spent = []
    for shards in (1, 3):
        monitor = ShardedMonitor(query, shards, source=Scripted(moving_script(30)))
        monitor.ingest(events)
        found = fresh(monitor.flush())[10:]
        assert max(each.fetched for each in found) <= 15
        assert np.mean([each.precision for each in found]) == pytest.approx(0.9, abs=0.03)
        spent.append(sum(each.fetched for each in found))
    assert spent[1] == pytest.approx(spent[0], rel=0.2)


def test_every_group_reaches_it_and_all_are_asked_for_together() -> None:
    query = replace(
        query_of(aim="accuracy", budget={"accuracy": 0.9, "at_most": 9}, window=tumbling("1 min")),
        group_by="team",
    )
    source = Scripted(moving_script(20))
    monitor = GroupedMonitor.build(query, source=source)
    batch = batch_of(settled_events(20))
    monitor.ingest(batch | {"team": batch["who"] % 3})
    answers = monitor.flush()
    assert len(answers) == 60
    assert len([call for call in source.calls if call]) <= 20 * ROUNDS
    for group in range(3):
        mine = fresh([each for each in answers if each.group == group])
        assert all(each.fetched <= 9 for each in mine)
        assert np.mean([each.precision for each in mine[5:]]) > 0.85


@pytest.mark.parametrize(
    ("more", "field", "told"),
    [
        ({"accuracy": 0.9, "fetches": None}, "budget.accuracy", "without a limit"),
        ({"accuracy": 0.9, "fetches": "unlimited"}, "budget.accuracy", "without a limit"),
        ({"at_most": 50}, "budget.at_most", "none is asked for"),
        ({"accuracy": 0.9, "at_most": 0}, "budget.at_most", "at least 1"),
        ({"accuracy": 0.9, "at_most": "unlimited"}, "budget.at_most", "whole number"),
        ({"accuracy": 0.9, "at_most": 50, "fetches": 7}, "budget", "given twice"),
        ({"accuracy": 0, "at_most": 50}, "budget.accuracy", "above 0"),
        ({"accuracy": -0.5, "at_most": 50}, "budget.accuracy", "above 0"),
        ({"accuracy": 1, "at_most": 50}, "budget.accuracy", "without a fault"),
        ({"accuracy": 1.5, "at_most": 50}, "budget.accuracy", "at most 1"),
        ({"accuracy": float("nan"), "at_most": 50}, "budget.accuracy", "above 0"),
        (
            {"accuracy": 0.9, "at_most": 5, "deadline": "2 s", "carry_over": True},
            "budget.carry_over",
            "is gone",
        ),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused_with_the_fix(
    more: dict[str, Any], field: str, told: str
) -> None:
    with pytest.raises(QueryError, match=told) as caught:
        RefreshSettings("remote", budget=more)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert caught.value.fix


@pytest.mark.parametrize("policy", ["wst", "lru", "at-bsm", "asm", "ttl:90s", "gnr-rnd"])
def test_policies_that_do_not_weigh_look_ups_are_refused(policy: str) -> None:
    budget: Any = {"accuracy": 0.9, "at_most": 50}
    with pytest.raises(QueryError, match="does not say what look-ups are worth") as caught:
        RefreshSettings("remote", policy=policy, budget=budget)
    assert "worth" in (caught.value.fix or "")
    for ours in ("worth", "at-worth", "gnr-worth"):
        assert RefreshSettings("remote", policy=ours, budget=budget).budget.set_point == 0.9


def test_it_survives_json_and_is_told_in_words() -> None:
    query = query_of(budget={"accuracy": 0.95, "at_most": 50, "carry_over": True})
    assert TopKQuery.from_json(query.to_json()) == query
    told = explain(query)
    assert "as few look-ups as make answers 0.95 right, at most 50 a window" in told
    assert "the accuracy of 0.95 is the mean nDCG over windows" in told
