"""What is promised of a query's answers, held against the answers themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater import Answer, TopKQuery, run, sliding
from topwater.monitor.exactness import Exactness, exactness
from topwater.testing import Scripted

KEYS = st.integers(0, 6)
EVENTS = st.lists(st.tuples(KEYS, st.integers(1, 24), st.integers(-5, 5)), min_size=1, max_size=30)
POLICIES = ("worth", "lru", "at-bsm", "wst", "asm", "wsj-asm", "gnr-rnd", "ttl:3 ms")
CHANGES = st.lists(st.tuples(st.integers(0, 24), st.integers(-5, 5)), min_size=1, max_size=3)
VALUES = st.dictionaries(KEYS, CHANGES.map(sorted), max_size=7)


@st.composite
def queries(draw: st.DrawFn) -> TopKQuery:
    """With a remote part or without, and with each kind of memory."""
    step = draw(st.integers(1, 4))
    given: dict[str, Any] = {
        "key": "key",
        "time": "at",
        "window": sliding(step * draw(st.integers(1, 3)), step),
        "k": draw(st.integers(1, 3)),
        "group_by": draw(st.sampled_from([None, "group"])),
    }
    if draw(st.booleans()):
        return TopKQuery(**given, score="n", take=draw(st.sampled_from(["each", {"n": "sum(n)"}])))
    kept = draw(st.sampled_from([None, "panes+n", "topk+n"]))
    refresh = {
        "remote": "value",
        "policy": draw(st.sampled_from(POLICIES)),
        "budget": draw(st.sampled_from([None, 1, 3, 50])),
        "spare": draw(st.integers(0, 2)),
    }
    taken = "last(n)" if kept is not None else draw(st.sampled_from(["last(n)", "sum(n)"]))
    if kept is not None:
        given["list"] = kept
    return TopKQuery(**given, score="n + value", take={"n": taken}, refresh=refresh)


def answers(query: TopKQuery, events: list[tuple[int, int, int]], source: Scripted) -> list[Answer]:
    keys, times, numbers = (list(column) for column in zip(*sorted(events), strict=True))
    batch = {"key": keys, "at": times, "n": numbers, "group": [key % 2 for key in keys]}
    return list(run(query, [batch], source=None if query.refresh is None else source))


def kept(promised: Exactness, answer: Answer) -> bool:
    """Whether an answer is what was promised of it."""
    if promised == "always":
        return answer.exact
    if promised == "if-read":
        fresh = answer.freshness
        return answer.exact or (fresh is not None and bool(fresh.failed or fresh.bad))
    if promised == "never":
        return not answer.exact or not answer.rows
    return True


@given(queries(), EVENTS, VALUES, st.sets(KEYS, max_size=2))
@settings(deadline=None)
def test_answers_keep_what_is_promised(
    query: TopKQuery,
    events: list[tuple[int, int, int]],
    values: dict[int, list[tuple[int, float]]],
    failing: set[int],
) -> None:
    source = Scripted(values)
    source.failing |= failing
    promised = exactness(query)
    assert all(kept(promised, answer) for answer in answers(query, events, source))


REMOTE = {"take": {"n": "last(n)"}, "score": "n + value"}


def query(refresh: Any = None, **more: Any) -> TopKQuery:
    whole = {"key": "key", "time": "at", "window": sliding(4, 2), "k": 1, "refresh": refresh}
    return TopKQuery(**{**whole, **({"score": "n"} if refresh is None else REMOTE), **more})


@pytest.mark.parametrize(
    ("asked", "promised"),
    [
        (query(), "always"),
        (query({"remote": "value", "budget": None}), "if-read"),
        (query({"remote": "value", "policy": "wsj-asm"}), "if-read"),
        (query({"remote": "value", "policy": "asm"}), "sometimes"),
        (query({"remote": "value", "policy": "asm", "refresh_from": "window"}), "if-read"),
        (query("value"), "sometimes"),
        (query({"remote": "value", "budget": {"deadline": "1 s"}}), "sometimes"),
        (query({"remote": "value", "budget": None}, list="panes+n"), "sometimes"),
        (query({"remote": "value", "policy": "wst", "budget": None}), "never"),
    ],
)
def test_what_is_promised_follows_from_the_settings(asked: TopKQuery, promised: Exactness) -> None:
    assert exactness(asked) == promised


def test_a_list_that_forgets_promises_less_than_an_unlimited_budget_alone() -> None:
    """It was explained as exact; and the key that was forgotten had become the best."""
    asked = query({"remote": "value", "budget": None, "spare": 0}, list="panes+n")
    source = Scripted({1: [(0, 0.0), (5, 100.0)], 2: 0.0})
    found = answers(asked, [(1, 3, 1), (2, 4, 5), (3, 9, 1)], source)
    assert not all(answer.exact for answer in found)
    assert exactness(asked) == "sometimes"
