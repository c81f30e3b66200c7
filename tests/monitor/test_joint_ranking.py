"""One ranking of all shards: the same as that of one, and never more than the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.journal_store import JournalStore
from tests.support.scenarios import Scenario, answered_locally, scenario
from topwater import Answer, TopKQuery, sliding
from topwater.monitor.joint_ranking import JointRanking, has_joint_ranking
from topwater.monitor.journal import Head, Journal, snapshot_from
from topwater.monitor.shard_monitors import ShardedMonitor
from topwater.monitor.snapshot import describe
from topwater.replica import nominations

QUERY: dict[str, Any] = {
    "key": "key",
    "time": "time",
    "window": sliding("12s", "5s"),
    "take": {"n": "count"},
    "score": "n * followers",
    "k": 3,
    "refresh": {"remote": "followers", "budget": 3},
}


def asked(**changes: Any) -> TopKQuery:
    return TopKQuery(**QUERY | {"refresh": QUERY["refresh"] | changes})


def with_refresh(each: Scenario, **changes: Any) -> Scenario:
    assert each.query.refresh is not None
    refresh = replace(each.query.refresh, **changes)
    return replace(each, query=replace(each.query, refresh=refresh))


def answered(each: Scenario, monitor: ShardedMonitor) -> list[Answer]:
    found: list[Answer] = []
    for batch in each.files:
        monitor.ingest(batch)
        found += monitor.close_until(monitor.watermark or 0)
    return found


@pytest.mark.parametrize(
    ("query", "joint"),
    [
        (asked(), True),
        (asked(policy="at-worth"), True),
        (asked(budget={"deadline": "1 s"}), True),
        (asked(budget={"fetches": 3, "carry_over": True}), True),
        (asked(budget=None), False),  # there is nothing to choose
        (asked(policy="lru"), False),  # draws among all rows
        (
            TopKQuery(
                **QUERY | {"list": "panes+n", "take": {"n": "last(n)"}, "score": "n + followers"}
            ),
            False,
        ),
        (TopKQuery(**QUERY | {"group_by": "team"}), False),
        (TopKQuery(**QUERY | {"refresh": None, "score": "n"}), False),
    ],
)
def test_which_queries_have_one(query: TopKQuery, joint: bool) -> None:
    assert has_joint_ranking(query, 4) is joint
    assert not has_joint_ranking(query, 1)


@pytest.mark.parametrize("shards", [2, 16])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("budget", [3, {"fetches": 3, "carry_over": True}])
def test_where_all_keys_are_nominated_it_answers_as_one_shard(
    monkeypatch: pytest.MonkeyPatch, seed: int, shards: int, budget: Any
) -> None:
    """Bit by bit: look-ups, values, estimates, counts."""
    each = scenario("worth", seed, files=12)
    each = with_refresh(each, budget=budget)
    right = answered_locally(each)
    # As many as there are: then the ranking alone chooses.
    monkeypatch.setattr(nominations.Nominations, "_nominate", _all)
    monkeypatch.setattr(nominations.Nominations, "_scores", _unknown)
    found = answered(each, ShardedMonitor(each.query, shards, source=each.source))
    assert len(right) >= 8
    assert [replace(answer, candidates=0) for answer in found] == [
        replace(answer, candidates=0) for answer in right
    ]


def _all(made: nominations.Nominations, view: Any, scores: Any) -> None:
    del scores
    made.replica.keep(view.slots)


def _unknown(made: nominations.Nominations, view: Any) -> Any:
    return made.terms.scores(view.values, np.ones(len(view)))


@pytest.mark.parametrize("shards", [1, 2, 5, 16])
@pytest.mark.parametrize("policy", ["worth", "at-worth", "lru", "at-tsm", "ttl:5 s"])
@pytest.mark.parametrize("seed", range(1))
def test_shards_together_never_spend_more_than_the_budget(
    policy: str, shards: int, seed: int
) -> None:
    each = with_refresh(scenario("worth", seed, files=6, rows=300), policy=policy)
    source = each.source
    assert source is not None
    answers = answered(each, ShardedMonitor(each.query, shards, source=source))
    spent = [answer.freshness.fetched for answer in answers if answer.freshness is not None]
    assert max(spent) <= 3
    assert sum(spent) == source.fetches
    # Nor is money lost that a shard has no use for.
    assert policy != "worth" or sum(spent) >= 2.5 * len(spent)


@pytest.mark.parametrize("shards", [2, 9])
def test_what_is_carried_over_is_bounded_too(shards: int) -> None:
    budget = {"fetches": 3, "carry_over": True}
    each = with_refresh(scenario("worth", 4, files=12), budget=budget)
    answers = answered(each, ShardedMonitor(each.query, shards, source=each.source))
    spent = [answer.freshness.fetched for answer in answers if answer.freshness is not None]
    assert max(spent) <= 9
    assert all(sum(spent[: at + 1]) <= 3 * (at + 1) for at in range(len(spent)))


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_shards_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    each = scenario("worth", seed, files=8)
    monitor = ShardedMonitor(each.query, 5, source=each.source)
    other = JointRanking.build(each.query, source=each.source)
    right: list[Answer] = []
    told: list[list[Answer]] = []
    ranking = monitor._ranking
    assert ranking is not None
    plain = ranking.answers
    ranking.answers = lambda windows: [*plain(_kept(windows, told))]  # type: ignore[method-assign]
    right = answered(each, monitor)
    for shards in told:
        rng.shuffle(shards)
    assert other.answers(told) == right


def _kept(windows: Any, told: list[list[Answer]]) -> Any:
    told += [list(window) for window in windows]
    return windows


def test_a_journal_of_it_is_read_back_bit_by_bit() -> None:
    each = scenario("worth", 2, files=10)
    monitor = ShardedMonitor(each.query, 3, source=each.source)
    ranking = monitor._ranking
    assert ranking is not None
    store, journal = JournalStore(), Journal(ranking)
    answers = []
    for batch in each.files[:6]:
        monitor.ingest(batch)
        answers += monitor.close_until(monitor.watermark or 0)
        store.write(journal.record(str(len(answers))))
    head = Head.unpack(store.head)
    again = Journal(JointRanking.build(each.query, source=each.source))
    again.rebuild(head, store.get)
    assert again.monitor.snapshot() == ranking.snapshot() == snapshot_from(head, store.get)
    monitor._ranking = again.monitor
    rest = answered(replace(each, files=each.files[6:]), monitor)
    right = answered(each, ShardedMonitor(each.query, 3, source=each.source))
    assert answers + rest == right


def test_a_snapshot_says_what_is_remembered() -> None:
    each = scenario("worth", 2, files=4)
    monitor = ShardedMonitor(each.query, 2, source=each.source)
    answers = answered(each, monitor)
    (kept,) = describe(monitor.snapshots()[2]).rankings
    assert kept.next_window is not None
    assert kept.next_window.index == answers[-1].window.index + 1
    assert (kept.rows, kept.fetched) == (0, kept.keys)
    assert kept.keys > 3


def test_a_missed_accuracy_is_told_once() -> None:
    each = with_refresh(scenario("worth", 1, files=6), budget={"fetches": 1, "accuracy": 1.0})
    missed: list[Answer] = []
    monitor = ShardedMonitor(each.query, 4, source=each.source)
    assert monitor._ranking is not None
    monitor._ranking._on_miss = missed.append
    answers = answered(each, monitor)
    assert missed
    assert missed == [one for one in answers if one.freshness is not None and one.freshness.missed]
