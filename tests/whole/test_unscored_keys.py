"""A key whose score is not a number is left out of the answer, and counted: with a remote part
and without, for every aggregate and every kind of score, whole or in shards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from topwater import Euclidean, Formula, TopKQuery, WeightedDistance, WeightedSum
from topwater.model import Answer, Shard
from topwater.monitor import TopKMonitor
from topwater.monitor.reduction import reduce_for_shards
from topwater.monitor.shards import merge
from topwater.scoring import Score
from topwater.testing import Scripted
from topwater.windows import sliding

Events = list[tuple[str, int, float]]

HUGE = 1e308
VALUES = [0.0, -2.0, 1.0, 3.0, 4.5, HUGE]
"""Of one sign where they are huge: whether a sum of both is a number depends on its order."""
REMOTE = [0.0, 1.0, 2.5, -3.0, HUGE, float("nan")]
AGGREGATES = ["count", "sum(v)", "mean(v)", "min(v)", "max(v)", "last(v)"]
SCORES: dict[str, Score] = {
    "overflow": Formula("10 * x + remote"),
    "quotient": Formula("x / remote", order="smallest"),
    "logarithm": Formula("log(x) + remote"),
    "root": Formula("sqrt(x - 2) * remote"),
    "weighted": WeightedSum({"x": 5.0, "remote": -5.0}),
    "straight": Euclidean({"x": 1.0, "remote": 2.0}),
    "distance": WeightedDistance({"x": 0.0, "remote": 0.0}, {"x": 3.0, "remote": 1.0}, "sum"),
}


def query_of(score: Score, aggregate: str, **refresh: Any) -> TopKQuery:
    plain: dict[str, Any] = {"key": "who", "time": "at", "window": sliding(20, 10), "k": 3}
    more: dict[str, Any] = {"refresh": {"remote": "remote", **refresh}} if refresh else {}
    return TopKQuery(**plain, **more, score=score, take={"x": aggregate})


def some_events(rng: np.random.Generator, count: int = 60, keys: int = 12) -> Events:
    times = np.sort(rng.integers(1, 60, count)).tolist()
    names = [f"k{each}" for each in rng.integers(0, keys, count)]
    return list(zip(names, times, rng.choice(VALUES, count).tolist(), strict=True))


def answered(
    query: TopKQuery, events: Events, source: Scripted | None, shards: int
) -> list[Answer]:
    who, at, v = (list(column) for column in zip(*events, strict=True))
    monitors = [
        TopKMonitor.build(query, source=source, shard=Shard(each, shards)) for each in range(shards)
    ]
    for shard, part in reduce_for_shards(query, {"who": who, "at": at, "v": v}, shards):
        monitors[shard].admit(part)
    found = [monitor.close_until(90) for monitor in monitors]
    smallest = query.score.order == "smallest"
    return [
        merge(each, query.k, smallest=smallest, accuracy=None) for each in zip(*found, strict=True)
    ]


def taken(aggregate: str, values: list[float]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.sum(values))
    return {
        "count": float(len(values)),
        "sum(v)": total,
        "mean(v)": total / len(values),
        "min(v)": min(values),
        "max(v)": max(values),
        "last(v)": values[-1],
    }[aggregate]


def recounted(
    query: TopKQuery, events: Events, answer: Answer, remote: dict[str, float] | None
) -> tuple[list[str], int]:
    """The keys that have a score, and how many have none, one by one and from scratch."""
    inside: dict[str, list[tuple[int, float]]] = {}
    for who, at, value in events:
        if answer.window.start < at <= answer.window.end:
            inside.setdefault(who, []).append((at, value))
    assert not isinstance(query.take, str)
    (aggregate,) = (each.replace("`", "") for each in query.take.values())
    scored, bad = [], 0
    for who, each in inside.items():
        columns = {"x": np.array([taken(aggregate, [value for _, value in sorted(each)])])}
        if remote is not None:
            columns["remote"] = np.array([remote[who]])
        score = float(query.score.evaluate(columns)[0])
        if math.isfinite(score):
            scored.append(who)
        elif remote is None or math.isfinite(remote[who]):
            bad += 1
    return scored, bad


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("score", SCORES)
def test_with_a_remote_part_keys_without_a_score_are_counted(
    score: str, aggregate: str, shards: int
) -> None:
    rng = np.random.default_rng([len(score), len(aggregate), shards])
    some = 0
    for _ in range(3):
        events = some_events(rng)
        remote = {f"k{each}": float(rng.choice(REMOTE)) for each in range(12)}
        source = Scripted(remote)
        query = query_of(SCORES[score], aggregate, budget=None)
        answers = answered(query, events, source, shards)
        assert len(answers) >= 5
        for answer in answers:
            scored, bad = recounted(query, events, answer, remote)
            assert answer.counts.bad_score == bad, answer
            assert answer.exact
            assert set(answer.keys) <= set(scored)
            assert len(answer.keys) == min(3, len(scored))
            some += bad
    assert some or aggregate == "count" or score not in ("overflow", "logarithm", "root")


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("text", ["10 * x", "log(x)", "1 / (x - 3)"])
def test_without_a_remote_part_too(text: str, aggregate: str, shards: int) -> None:
    events = some_events(np.random.default_rng([len(text), len(aggregate)]))
    query = query_of(Formula(text), aggregate)
    for answer in answered(query, events, None, shards):
        scored, bad = recounted(query, events, answer, None)
        assert (answer.counts.bad_score, answer.exact) == (bad, True)
        assert len(answer.keys) == min(3, len(scored))


@pytest.mark.parametrize("listed", [None, "panes+n", "topk+n"])
@pytest.mark.parametrize("budget", [None, 1])
def test_what_was_not_read_is_counted_by_what_is_taken_for_it(
    listed: str | None, budget: int | None
) -> None:
    query = TopKQuery(
        key="who", time="at", window=sliding(20, 10), k=2, list=listed, take={"x": "last(v)"},
        score="log(x) + remote", refresh={"remote": "remote", "budget": budget},
    )  # fmt: skip
    events = [("a", 11, 1.0), ("b", 12, -1.0), ("c", 13, 4.0), ("d", 14, 0.0), ("none", 15, 1.0)]
    source = Scripted({"a": 1.0, "b": 9.0, "c": 2.0, "d": 9.0})
    answers = answered(query, events, source, shards=1)
    assert [answer.counts.bad_score for answer in answers[:2]] == [2, 2]
    assert [answer.keys for answer in answers[:2]] == [["c", "a"]] * 2 or budget == 1
    assert all(answer.exact for answer in answers[:2]) == (budget is None)
