"""What open windows hold: items or keys, answered, forgotten, and carried over a restart."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from topwater import TopKQuery
from topwater.model import Counts
from topwater.monitor.open_windows import OpenWindows, WindowItems, WindowKeys, WindowResult
from topwater.monitor.reduction import reduce_batch
from topwater.replica.look_ups import alone
from topwater.testing import rows
from topwater.windows import Windows

SPANS = Windows(6, 3)
"""W0 = (0, 6], W1 = (3, 9], W2 = (6, 12]; panes of 3."""


def query_of(**changes: Any) -> TopKQuery:
    plain: dict[str, Any] = {"key": "who", "time": "at", "window": SPANS, "score": "value", "k": 2}
    return TopKQuery(**(plain | changes))


ITEMS = query_of()
KEYS = query_of(take={"n": "count", "most": "max(value)"}, score="n")


def opened(query: TopKQuery) -> OpenWindows:
    if query.aggregation is None:
        return WindowItems(query, 0)
    return WindowKeys(query, query.aggregation)


def add(
    held: OpenWindows, query: TopKQuery, events: list[tuple[str, int, float]], oldest: int = 0
) -> None:
    who, at, value = (list(column) for column in zip(*events, strict=True))
    part = reduce_batch(query, {"who": who, "at": at, "value": value})
    held.add(part.table, oldest)


EVENTS = [("a", 2, 5.0), ("b", 5, 7.0), ("a", 6, 1.0), ("c", 8, 3.0), ("b", 9, 2.0), ("c", 11, 9.0)]


def shown(found: list[WindowResult]) -> list[list[tuple[float, int, object]]]:
    return [rows(each.items) for each in found]


def plainly(query: TopKQuery, window: int) -> list[tuple[float, int, str]]:
    """The one rule, from all events."""
    span = SPANS.window(window)
    inside = [event for event in EVENTS if span.start < event[1] <= span.end]
    found = [(value, at, who) for who, at, value in inside]
    if query is KEYS:
        last = {who: at for who, at, _ in inside}
        counted = Counter(who for who, _, _ in inside)
        found = [(float(counted[who]), last[who], who) for who in last]
    return sorted(found, key=lambda row: (-row[0], -row[1], row[2]))[: query.k]


@pytest.mark.parametrize("query", [ITEMS, KEYS], ids=["items", "keys"])
@pytest.mark.parametrize("cut", [0, 2, 5])
def test_answers_are_those_of_the_one_rule(query: TopKQuery, cut: int) -> None:
    held = opened(query)
    for part in (EVENTS[:cut], EVENTS[cut:]):
        if part:
            add(held, query, part)
    assert shown(alone(held.answers(0, 3))) == [plainly(query, window) for window in range(4)]
    assert held.snapshot().num_rows == 0


@pytest.mark.parametrize("query", [ITEMS, KEYS], ids=["items", "keys"])
def test_what_lies_before_the_oldest_pane_is_not_taken_in(query: TopKQuery) -> None:
    held = opened(query)
    add(held, query, EVENTS, oldest=2)
    first, second = alone(held.answers(0, 1))
    assert len(first.items) == 0
    assert sorted(second.items.key.tolist()) == ["b", "c"]


@pytest.mark.parametrize("query", [ITEMS, KEYS], ids=["items", "keys"])
def test_skipped_windows_are_forgotten_and_the_next_is_whole(query: TopKQuery) -> None:
    held = opened(query)
    add(held, query, EVENTS)
    held.skip(1)
    assert shown(alone(held.answers(2, 2))) == [plainly(query, 2)]


@pytest.mark.parametrize("query", [ITEMS, KEYS], ids=["items", "keys"])
def test_a_restart_goes_on(query: TopKQuery) -> None:
    held, again = opened(query), opened(query)
    add(held, query, EVENTS[:4])
    held.skip(0)
    again.skip(0)
    again.restore(held.snapshot())
    for each in (held, again):
        add(each, query, EVENTS[4:])
    assert (
        shown(alone(again.answers(1, 2)))
        == shown(alone(held.answers(1, 2)))
        == [
            plainly(query, 1),
            plainly(query, 2),
        ]
    )


def test_keys_come_with_what_the_stream_contributed() -> None:
    held = opened(KEYS)
    add(held, KEYS, EVENTS)
    (first,) = alone(held.answers(0, 0))
    assert first.items.key.tolist() == ["a", "b"]
    assert {name: values.tolist() for name, values in first.values.items()} == {
        "n": [2.0, 1.0],
        "most": [5.0, 7.0],
    }
    assert first.kept == 6


def test_a_key_that_can_not_be_scored_is_counted() -> None:
    query = query_of(take={"n": "count"}, score="log(n - 1)", k=9)
    held = opened(query)
    add(held, query, EVENTS)
    (first,) = alone(held.answers(0, 0))
    assert rows(first.items) == [(0.0, 6, "a")]
    assert first.counts == Counts(bad_score=1)


def test_lists_that_can_say_what_is_useless_are_asked() -> None:
    held = WindowItems(ITEMS, 0)
    assert held.floors is not None
    add(held, ITEMS, [("a", 1, 5.0), ("b", 2, 7.0), ("c", 3, 6.0)])
    assert held.floors(np.array([0])).tolist() == [6.0]
    assert WindowItems(query_of(list="recompute"), 0).floors is None
