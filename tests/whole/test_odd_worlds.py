"""Worlds that nobody would model: answers stay sane, and are never called exact wrongly."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support.looping import MINUTE, Loop, one_rule, query_of, random_events
from topwater.testing import Scripted

KEYS, MINUTES = 25, 30
Script = dict[int, Any]


def each_look(rng: np.random.Generator, size: float) -> Script:
    """Another number every 20 seconds: noise, and not change."""
    ticks = range(0, MINUTES * MINUTE, MINUTE // 3)
    return {key: [(at, float(size * rng.normal())) for at in ticks] for key in range(KEYS)}


def worlds() -> dict[str, tuple[Script, int]]:
    """Of each world the values, and how many keys the stream speaks of."""
    rng = np.random.default_rng(7)
    return {
        "constant, all alike": (dict.fromkeys(range(KEYS), 4.0), KEYS),
        "constant, all zero": (dict.fromkeys(range(KEYS), 0.0), KEYS),
        "constant, apart": ({key: float(key) for key in range(KEYS)}, KEYS),
        "another number at each look": (each_look(rng, 3.0), KEYS),
        "beyond measure": (each_look(rng, 1e150), KEYS),
        "hardly anything": (each_look(rng, 1e-150), KEYS),
        "one key": (each_look(rng, 3.0), 1),
        "two keys": (each_look(rng, 3.0), 2),
        "one that moves": ({**dict.fromkeys(range(KEYS), 1.0), 3: each_look(rng, 9.0)[3]}, KEYS),
    }


@pytest.mark.parametrize(("k", "aim"), [(1, "accuracy"), (5, "relevance"), (100, "accuracy")])
@pytest.mark.parametrize("world", worlds())
def test_answers_are_sane(world: str, k: int, aim: str) -> None:
    script, keys = worlds()[world]
    query = query_of(k=k, policy="worth", budget=4, aim=aim)
    events = random_events(2, n=300, keys=keys, until=MINUTES * MINUTE)
    source = Scripted(script)
    loop = Loop(query, source)
    loop.ingest(events)
    answers = loop.answers(until=MINUTES * MINUTE)
    assert len(answers) > 20
    for answer in answers:
        assert answer.freshness is not None
        said = answer.freshness.precision, answer.freshness.ndcg
        assert all(math.isfinite(each) and 0.0 <= each <= 1.0 for each in said), said
        assert len(answer.keys) <= min(k, keys)
        assert answer.freshness.fetched <= 4
        if answer.exact:
            value = partial(source.value, at=answer.window.end)
            right = one_rule(query, events, answer, lambda n, remote: n + remote, value)
            assert list(answer.keys) == [key for key, _ in right]


def test_constant_values_are_found_out() -> None:
    """What never changes is soon believed to be right."""
    source = Scripted(worlds()["constant, apart"][0])
    loop = Loop(query_of(k=5, policy="worth", budget=4), source)
    loop.ingest(random_events(2, keys=KEYS, until=MINUTES * MINUTE))
    last = loop.answers(until=MINUTES * MINUTE)[-1]
    assert last.freshness is not None
    assert last.freshness.precision > 0.9
