"""What an answer tells of how its budget was spent."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.support.looping import MINUTE, Loop, query_of
from topwater.local import run
from topwater.model import LOOK_UPS, Answer, LookUp, Window
from topwater.replica.policies import rankers
from topwater.testing import Scripted
from topwater.windows import tumbling

EVERY = [name for name in rankers if not rankers[name].needs_truth]


def test_a_look_up_tells_what_was_known_and_what_came() -> None:
    source = Scripted({"a": [(0, 1.0), (MINUTE + 9, 2.0)], "b": [(0, 5.0)], "c": []})
    loop = Loop(query_of(policy="lru", budget=3, window=tumbling("1 min")), source)
    loop.ingest([("a", 1), ("b", 2), ("c", 3)])
    assert sorted(loop.answer().looked_up, key=lambda each: str(each.key)) == [
        LookUp("a", None, 1.0, ok=True),
        LookUp("b", None, 5.0, ok=True),
        LookUp("c", None, None, ok=True),
    ]
    source.failing.add("b")
    loop.ingest([("a", MINUTE + 1), ("b", MINUTE + 2)])
    again = {each.key: each for each in loop.answer().looked_up}
    assert again == {
        "a": LookUp("a", 1.0, 2.0, ok=True),
        "b": LookUp("b", 5.0, None, ok=False),
    }
    assert again["a"].changed
    assert not again["b"].changed


def test_a_number_that_is_none_is_no_value() -> None:
    source = Scripted({"a": [(0, 1.0), (MINUTE + 9, math.inf)]})
    loop = Loop(query_of(policy="lru", budget=1, window=tumbling("1 min")), source)
    loop.ingest([("a", 1)])
    loop.answer()
    loop.ingest([("a", MINUTE + 1)])
    assert loop.answer().looked_up == (LookUp("a", 1.0, None, ok=True),)


@pytest.mark.parametrize("policy", EVERY)
def test_they_are_what_was_fetched_in_the_order_of_the_policy(policy: str) -> None:
    rng = np.random.default_rng(3)
    source = Scripted({key: [(0, float(key))] for key in range(12)})
    loop = Loop(query_of(policy=policy, budget=4, window=tumbling("1 min")), source)
    for minute in range(6):
        keys = rng.integers(0, 12, 30).tolist()
        loop.ingest([(key, minute * MINUTE + 1 + at) for at, key in enumerate(keys)])
        before = len(source.calls)
        answer = loop.answer()
        asked = [key for keys in source.calls[before:] for key in keys]
        assert [each.key for each in answer.looked_up] == asked
        assert answer.freshness is not None
        assert answer.freshness.fetched == len(asked)
        assert all(type(each.key) is int for each in answer.looked_up)


def test_of_very_many_only_the_first_are_told() -> None:
    source = Scripted({key: [(0, float(key))] for key in range(80)})
    loop = Loop(query_of(budget=None, window=tumbling("1 min")), source)
    loop.ingest([(key, 1 + key) for key in range(80)])
    answer = loop.answer()
    assert answer.freshness is not None
    assert (answer.freshness.fetched, len(answer.looked_up)) == (80, LOOK_UPS)


def test_each_group_tells_its_own() -> None:
    query = replace(query_of(policy="lru", budget=2, window=tumbling("1 min")), group_by="team")
    events = {"who": ["a", "b", "c"], "at": [1, 2, 3], "team": ["red", "red", "blue"]}
    source = Scripted({"a": 1.0, "b": 2.0, "c": 3.0})
    found = {answer.group: answer.looked_up for answer in run(query, [events], source=source)}
    assert {each.key for each in found["red"]} == {"a", "b"}
    assert found["blue"] == (LookUp("c", None, 3.0, ok=True),)


def test_it_is_plain_in_json() -> None:
    answer = Answer(Window(0, 0, 9), (), looked_up=(LookUp("a", None, 1.5, ok=True),))
    assert answer.to_dict()["looked_up"] == (
        {"key": "a", "before": None, "after": 1.5, "ok": True},
    )
