"""A budget without a limit: every key of a window is read, whatever the policy expects of it."""

from __future__ import annotations

import inspect
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.looping import MINUTE, Event, Loop, batch_of, one_rule, query_of, shown
from topwater.errors import QueryError
from topwater.model import Shard
from topwater.monitor import TopKMonitor
from topwater.monitor.shards import shard_of
from topwater.query import TopKQuery
from topwater.replica import Budget, RefreshSettings
from topwater.replica.policies import rankers
from topwater.rspql import parse
from topwater.scoring import Formula
from topwater.testing import Scripted
from topwater.windows import counting, sliding, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable

PLENTY = 10**6
REFRESHING = [
    prefix + name
    for prefix, name in product(("", "at-", "wsj-", "gnr-"), rankers)
    if rankers[name].refreshes and not rankers[name].needs_truth
]
SCORES: dict[str, Any] = {
    "n + remote": lambda n, r: n + r,
    "n * (remote - 2) * (remote - 2)": lambda n, r: n * (r - 2) * (r - 2),
    "n - remote": lambda n, r: n - r,
    "100 * n + remote": lambda n, r: 100 * n + r,
}
SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def scripts() -> st.SearchStrategy[Any]:
    """Some keys have no value, or get one late; and some jump further than any did before."""
    value = st.sampled_from([0.0, 1.0, 2.0, 5.0, -3.0, 1e6, -1e6])
    changes = st.lists(st.tuples(st.integers(0, 60), value), max_size=5).map(sorted)
    return st.dictionaries(st.integers(0, 8), changes, max_size=9)


def keys_of(events: list[Event], opens: int, closes: int) -> set[Any]:
    return {key for key, at in events if opens < at <= closes}


JUMP: dict[int, Any] = {0: 1.0, 1: 0.0, 2: [(0, 0.0), (25, 1e6)]}
"""Nothing ever changed, and then one value jumps: no belief can have foreseen it."""


@SLOW
@example(
    script=JUMP,
    events=[(key, at) for at in range(1, 40) for key in range(3)],
    window=tumbling(7),
    policy="worth",
    score="n + remote",
    k=1,
    smallest=False,
    more={},
    failing=set(),
)
@given(
    script=scripts(),
    events=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 60)), min_size=1, max_size=50),
    window=st.sampled_from([sliding(10, 4), sliding(9, 3), tumbling(7), counting(9, 3)]),
    policy=st.sampled_from(["worth", "worth", *REFRESHING]),
    score=st.sampled_from(list(SCORES)),
    k=st.sampled_from([1, 2, 3, 50]),
    smallest=st.booleans(),
    more=st.fixed_dictionaries(
        {"spare": st.sampled_from([0, 1, 10])},
        optional={
            "aim": st.just("accuracy"),
            "limit": st.sampled_from([1, 4]),
            "default": st.just(3.0),
            "hint": st.just(True),
            "refresh_from": st.sampled_from(["candidates", "window", "replica"]),
        },
    ),
    failing=st.sets(st.integers(0, 8), max_size=1),
)
def test_with_an_unlimited_budget_answers_are_the_truth(
    script: Any,
    events: list[Event],
    window: Any,
    policy: str,
    score: str,
    k: int,
    smallest: bool,
    more: dict[str, Any],
    failing: set[Any],
) -> None:
    """In ranking and scores. Only a key that the source did not answer makes one inexact, or a
    source that gave no value at all: there may be something wrong with it.
    """
    events = sorted(events, key=lambda event: event[1])
    time: str | None = "at"
    if window.by == "count":
        events, time = [(key, at) for at, (key, _) in enumerate(events, 1)], None
    order: Any = "smallest" if smallest else "largest"
    formula = Formula(score, order=order)
    query = query_of(
        window=window, k=k, score=formula, policy=policy, budget=None, time=time, **more
    )
    source = Scripted(script)
    source.failing |= failing
    loop = Loop(query, source)
    loop.ingest(events)
    sign = -1.0 if smallest else 1.0

    def value(key: Any, at: int) -> float:
        true = source.value(key, at=at)
        return more.get("default", true) if np.isnan(true) else true

    for answer in loop.answers(until=80):
        inside = keys_of(events, answer.window.start, answer.window.end)
        asked = source.calls.pop(0) if inside else []
        assert len(set(asked)) == len(asked)
        assert inside <= set(asked)
        if not policy.startswith("gnr-") and more.get("refresh_from") != "replica":
            assert inside == set(asked)
        assert answer.freshness is not None
        in_vain = answer.freshness.nothing_usable
        if in_vain:
            told = [source.value(key, at=answer.window.end) for key in {*asked} - failing]
            assert np.isnan(told).all()
        assert answer.exact == (inside.isdisjoint(failing) and not in_vain)
        if answer.exact:
            at_close = partial(value, at=answer.window.end)
            right = one_rule(
                query, events, answer, lambda n, r: sign * SCORES[score](n, r), at_close
            )
            assert shown(answer) == [(key, sign * each) for key, each in right]
            assert all(row.age == 0 and row.confidence == 1.0 for row in answer.rows)
    assert not source.calls


@pytest.mark.parametrize(("budget", "found"), [(PLENTY, "a"), (None, "b")])
def test_a_jump_beyond_belief_is_missed_only_where_there_is_something_to_keep(
    budget: int | None, found: str
) -> None:
    """A is far above B, and values moved by little so far: no fetch seems to be worth it."""
    moves: dict[str, list[tuple[int, float]]] = {
        key: [(m * 7_000, (m + n) % 3 / 10) for m in range(60)] for n, key in enumerate("ab")
    }
    source = Scripted({**moves, "b": [*moves["b"], (8 * MINUTE, 1e4)]})
    query = query_of(k=1, budget=budget, score="100 * n + remote", window=tumbling("1 min"))
    loop = Loop(query, source)
    for minute in range(10):
        loop.ingest([(key, minute * MINUTE + 1) for key in "aaaab"])
        answer = loop.answer()
        assert answer.exact == (budget is None or minute == 0)
    assert answer.keys == [found]


@pytest.mark.parametrize("policy", ["worth", "at-bsm", "wbm", "gnr-rnd"])
def test_a_restart_changes_nothing(policy: str) -> None:
    script = {key: [(m * 40_000, float(m * key % 7)) for m in range(30)] for key in range(9)}
    query = query_of(policy=policy, budget=None, limit=6)
    twins = [Loop(query, Scripted(script)) for _ in range(2)]
    for minute in range(12):
        twins[1].restart()
        for loop in twins:
            loop.ingest([((minute + n) % 9, minute * MINUTE + n) for n in range(1, 6)])
        if minute:
            whole, restarted = (loop.answer() for loop in twins)
            assert whole == restarted
            assert whole.exact
    assert twins[0].source.calls == twins[1].source.calls


def test_every_shard_reads_all_of_its_keys() -> None:
    keys = pa.array(range(20))
    source = Scripted({key: float(key) for key in range(20)})
    for each in range(3):
        mine = np.flatnonzero(shard_of(keys, 3) == each).tolist()
        query = query_of(budget=None, window=tumbling("1 min"))
        monitor = TopKMonitor.build(query, source=source, shard=Shard(each, 3))
        for minute in range(2):
            monitor.ingest(batch_of([(key, minute * MINUTE + 1) for key in mine]))
        assert all(answer.exact for answer in monitor.flush())
        assert [sorted(call) for call in source.calls] == [mine, mine]
        source.calls.clear()


def test_an_accuracy_is_missed_only_if_the_source_fails() -> None:
    source = Scripted({key: [(m * 20_000, float(m % 5)) for m in range(30)] for key in range(6)})
    budget = Budget(PLENTY, accuracy=1.0)
    loop = Loop(query_of(budget=budget, window=tumbling("1 min")), source)
    missed = []
    for minute in range(9):
        source.failing = {1, 2, 3} if minute == 6 else set()
        loop.ingest([(key, minute * MINUTE + 1) for key in range(6)])
        answer = loop.answer()
        assert answer.freshness is not None
        missed.append(answer.freshness.missed)
    assert missed == [minute == 6 for minute in range(9)]


@pytest.mark.parametrize(
    "budget",
    [
        None,
        "unlimited",
        Budget(None),
        {"fetches": None},
        {"fetches": "unlimited"},
    ],
)
def test_ways_to_ask_for_it(budget: Any) -> None:
    settings = RefreshSettings("remote", budget=budget)
    assert settings.budget.unlimited
    assert settings.budget == Budget(None)
    query = query_of(budget=budget)
    assert TopKQuery.from_json(query.to_json()) == query


@pytest.mark.parametrize("budget", [7, {"fetches": 0}, {"deadline": "2 s"}])
def test_a_limit_is_one(budget: Any) -> None:
    assert not Budget.of(budget).unlimited


@pytest.mark.parametrize(
    ("budget", "field", "told"),
    [
        ([], "budget.fetches", "whole number"),
        ("endless", "budget.fetches", "whole number"),
        ({"fetchs": 3}, "budget.fetchs", "no such setting"),
        ({"fetches": None, "carry_over": True}, "budget.carry_over", "nothing is left over"),
        ({"deadline": "2 s", "carry_over": True}, "budget.carry_over", "is gone"),
        ({"fetches": 3, "deadline": "2 s"}, "budget", "either"),
    ],
)
def test_what_is_no_budget(budget: Any, field: str, told: str) -> None:
    with pytest.raises(QueryError, match=told) as caught:
        RefreshSettings("remote", budget=budget)
    assert caught.value.field == field


class TestOmitted:
    """What an omitted number means, in all ways to write a budget, side by side."""

    @staticmethod
    def written(said: dict[str, Any]) -> dict[str, Budget]:
        """The same, said in each way."""
        clauses: dict[str, Callable[[Any], str]] = {
            "fetches": lambda n: f"BUDGET {'UNLIMITED' if n is None else f'{n} FETCHES'}",
            "deadline": lambda ms: f"DEADLINE PT{ms // 1000}S",
            "accuracy": lambda share: f"ACCURACY {share}",
            "at_most": lambda n: f"BUDGET AT MOST {n} FETCHES",
        }
        clause = " ".join(clauses[name](value) for name, value in said.items())
        file = {name: "unlimited" if value is None else value for name, value in said.items()}
        return {
            "Budget(…)": Budget(**said),
            "Budget.of({…})": Budget.of(said),
            "RefreshSettings(…)": RefreshSettings("f", budget=said).budget,  # type: ignore[arg-type]
            "refresh={…}": refreshed({"remote": "f", "budget": said}),
            "a job": refreshed({"remote": "f", "budget": file}),
            "RSP-QL": asked_in_rspql(f"WITH {clause}" if clause else ""),
        }

    @pytest.mark.parametrize(
        ("said", "meant"),
        [
            ({}, (7, None)),
            ({"accuracy": 0.9}, (7, None)),
            ({"deadline": 2_000}, (None, 2_000)),
            ({"fetches": 3}, (3, None)),
            ({"accuracy": 0.9, "at_most": 50}, (None, None)),
            ({"fetches": None}, (None, None)),
        ],
        ids=str,
    )
    def test_all_ways_agree(self, said: dict[str, Any], meant: tuple[int | None, ...]) -> None:
        for way, budget in self.written(said).items():
            assert (budget.fetches, budget.deadline) == meant, way
            assert budget.accuracy == said.get("accuracy"), way
            assert budget.at_most == said.get("at_most"), way

    def test_no_budget_at_all(self) -> None:
        usual = Budget()
        assert (usual.fetches, usual.unlimited, type(usual.fetches)) == (7, False, int)
        assert RefreshSettings("f").budget == usual
        assert RefreshSettings.of("f").budget == usual
        assert refreshed("f") == refreshed({"remote": "f"}) == usual
        assert asked_in_rspql("") == asked_in_rspql("WITH POLICY lru") == usual

    def test_only_none_is_no_limit(self) -> None:
        assert Budget.of(None) == Budget(None) == Budget.of({"fetches": None})
        assert not Budget.of({"deadline": None}).unlimited

    def test_help_shows_the_number(self) -> None:
        parameters = inspect.signature(Budget).parameters
        assert repr(parameters["fetches"].default) == "7"


def refreshed(refresh: Any) -> Budget:
    """The budget of a query with such a remote part."""
    query = TopKQuery.from_dict(
        {
            "key": "u",
            "time": "at",
            "window": {"width": 9, "step": 3},
            "take": {"n": "count"},
            "score": "n + f",
            "k": 3,
            "refresh": refresh,
        }
    )
    assert query.single is not None
    assert TopKQuery.from_json(query.to_json()) == query
    return query.single.budget


def asked_in_rspql(clause: str) -> Budget:
    """The budget of a query in RSP-QL that ends with such a clause."""
    text = "PREFIX : <http://example.org/> SELECT ?u FROM NAMED WINDOW :w ON :s [RANGE 9s STEP 3s]"
    where = "WHERE { WINDOW :w { ?u :v ?v } SERVICE :b { ?u :f ?f } }"
    text = " ".join([text, where, "ORDER BY DESC(?v + ?f) LIMIT 3", clause])
    query = parse(text, services={":b": "http://127.0.0.1:9/"}).query()
    assert query.single is not None
    return query.single.budget
