"""What each budget would bring, tried on a recording."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from topwater import TopKQuery, remote, run, sliding
from topwater.errors import QueryError
from topwater.jobs.budget_plan import BudgetPlan, budget_plan
from topwater.jobs.recorded_events import RecordedEvents
from topwater.jobs.recorded_values import PartlyKnown
from topwater.remote.known_changes import Steps

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
KEYS, MINUTES = 30, 60


def query(**changes: Any) -> TopKQuery:
    more = changes.pop("refresh", {})
    refresh = (
        None if more is None else {"remote": "followers", "budget": 7, "aim": "accuracy", **more}
    )
    settings: dict[str, Any] = {
        "key": "user",
        "time": "at",
        "window": sliding("3 min", "1 min"),
        "k": 5,
        "take": {"mentions": "count"},
        "score": "10 * mentions + followers",
        "refresh": refresh,
    }
    return TopKQuery(**(settings | changes))


def recording(keys: Any = None, seed: int = 3) -> Steps:
    rng = np.random.default_rng(seed)
    times, users = np.meshgrid(np.arange(MINUTES) * MINUTE, np.arange(KEYS))
    values = rng.normal(1_000, 100, times.shape)
    names = users.ravel() if keys is None else np.asarray(keys)[users.ravel()]
    return Steps.of(times.ravel(), names, values.ravel())


def table(names: Any = None, seed: int = 4) -> pa.Table:
    rng = np.random.default_rng(seed)
    users = rng.integers(0, KEYS, 3_000)
    keys = users if names is None else np.asarray(names)[users]
    at = rng.integers(1, MINUTES * MINUTE, 3_000)
    return pa.table({"user": keys, "at": at, "place": users % 2})


def plan(asked: TopKQuery | None = None, **given: Any) -> BudgetPlan:
    asked = asked or query()
    events = RecordedEvents.of(asked, given.pop("table", None) or table())
    known = given.pop("remote", None) or recording()
    return budget_plan(asked, events, known, **given)


def test_a_budget_for_all_keys_is_right_and_more_budget_is_no_worse() -> None:
    made = plan(budgets=[KEYS, 1, 7])
    assert [row.budget for row in made.rows] == [1, 7, KEYS]
    right = [row.trial.precision for row in made.rows]
    assert right == sorted(right)
    assert right[0] < 0.9
    last = made.rows[-1].trial
    assert (last.precision, last.ndcg, last.said_precision) == (1.0, 1.0, 1.0)
    assert made.windows == MINUTES
    assert (made.keys, made.unknown_keys) == (KEYS, 0)


def test_precision_is_what_comparing_answers_gives() -> None:
    asked = query()
    [row] = plan(asked, budgets=[7]).rows
    batches = RecordedEvents.of(asked, table()).batches

    def keys(budget: int | None) -> list[set[Any]]:
        settings = query(refresh={"budget": budget})
        return [{*each.keys} for each in run(settings, batches, source=remote.Replay(recording()))]

    pairs = zip(keys(7), keys(None), strict=True)
    assert row.trial.precision == pytest.approx(np.mean([len(a & b) / len(b) for a, b in pairs]))


def test_what_a_day_costs() -> None:
    made = plan(budgets=[2])
    assert made.rows[0].trial.look_ups_a_day == pytest.approx(2 * DAY / MINUTE)
    assert made.every_key > 20 * DAY / MINUTE


def test_the_cache_beside_it_is_as_right_and_costs_more() -> None:
    for row in plan(budgets=[5, 10]).rows:
        assert row.cache.precision >= row.trial.precision
        assert row.cache.ndcg >= row.trial.ndcg
        assert row.cache.look_ups_a_day > row.trial.look_ups_a_day
        assert row.ttl is not None
        assert row.ttl % MINUTE == 0


def test_values_that_stay_need_no_time_to_live() -> None:
    first = Steps.of(
        np.zeros(KEYS, np.int64), np.arange(KEYS), np.arange(KEYS, dtype=np.float64) * 7
    )
    [row] = plan(remote=first, budgets=[KEYS]).rows
    assert row.ttl is None
    assert row.cache.precision == 1.0


def test_text_keys_groups_and_keys_that_the_recording_lacks() -> None:
    names = [f"user {each}" for each in range(KEYS)]
    told = plan(
        query(group_by="place"),
        table=table(names),
        remote=recording([*names[:-1], "another"]),
        budgets=[5],
    )
    assert (told.keys, told.unknown_keys) == (KEYS, 1)
    assert told.windows == MINUTES
    assert 0.3 < told.rows[0].trial.precision < 1.0


def test_the_least_budget_that_is_enough() -> None:
    made = plan(query(refresh={"budget": {"accuracy": 0.97}}), budgets=[1, KEYS])
    assert made.target == 0.97
    assert made.enough == KEYS
    assert plan(query(refresh={"budget": {"accuracy": 0.97}}), budgets=[1]).enough is None


def test_as_few_as_reach_an_accuracy() -> None:
    made = plan(query(refresh={"aim": "accuracy"}), budgets=[3], accuracy=0.8)
    assert made.by_accuracy is not None
    assert made.by_accuracy.at_most == KEYS
    trial = made.by_accuracy.trial
    assert trial.said_precision == pytest.approx(0.8, abs=0.1)
    assert trial.look_ups_a_day < made.every_key
    assert made.to_dict()["by_accuracy"]["accuracy"] == 0.8
    asked = query(refresh={"budget": {"accuracy": 0.9, "at_most": 4}, "audit": 0.1})
    own = plan(asked, budgets=[3], accuracy=0.8)
    assert own.by_accuracy is not None
    assert own.by_accuracy.at_most == 4
    with pytest.raises(QueryError, match="does not say what look-ups are worth"):
        plan(query(refresh={"policy": "lru"}), budgets=[3], accuracy=0.8)


def test_plain_values() -> None:
    told = plan(budgets=[3]).to_dict()
    assert told["plan"] == "budget"
    [row] = told["rows"]
    assert {"budget", "precision", "ndcg", "said_precision", "look_ups_a_day"} < row.keys()
    assert {"ttl_ms", "ttl_look_ups_a_day"} < row.keys()


def test_it_says_what_it_tries() -> None:
    said: list[str] = []
    plan(budgets=[3], say=said.append)
    assert said[:2] == ["every value at every window", "3 look-ups a window"]
    assert any("a cache whose entries live" in each for each in said)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"asked": query(refresh=None, score="mentions")}, "nothing to look up"),
        ({"remote": recording(range(1_000, 1_000 + KEYS))}, "none of the stream's keys"),
        ({"remote": recording([f"u{each}" for each in range(KEYS)])}, "none of the stream's keys"),
    ],
)
def test_what_can_not_be_planned(given: dict[str, Any], words: str) -> None:
    with pytest.raises(QueryError, match=words):
        plan(**given)


def test_a_recording_of_another_time() -> None:
    late = recording()
    later = Steps.of(late.times + 400 * DAY, late.keys, late.values)
    with pytest.raises(QueryError, match="another time: 1971-"):
        plan(remote=later)


def test_a_key_that_a_recording_lacks_has_no_value() -> None:
    source = PartlyKnown(recording())
    source.seek(1)
    got = source.fetch(np.array([0, KEYS + 5]))
    assert got.ok.all()
    assert np.isnan(got.values).tolist() == [False, True]
