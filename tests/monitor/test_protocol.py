"""Both monitors keep the one protocol, so a host does not ask which it has."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import BatchError
from topwater.model import Answer
from topwater.monitor import GroupedMonitor, Monitor, TopKMonitor, build_monitor
from topwater.monitor.reduction import reduce_for_shards
from topwater.query import TopKQuery
from topwater.testing import Scripted
from topwater.windows import tumbling

EVENTS: dict[str, Any] = {
    "who": ["a", "b", "a", "c", "b", "a"],
    "at": [1, 2, 3, 12, 13, 25],
    "team": ["red", "blue", "red", "red", "blue", "red"],
}
LATE: dict[str, Any] = {"who": ["a"], "at": [4], "team": ["red"]}


def query_of(group_by: str | None) -> TopKQuery:
    return TopKQuery(
        key="who",
        time="at",
        window=tumbling(10),
        take={"n": "count"},
        score="n + remote",
        k=2,
        group_by=group_by,
        refresh={"remote": "remote", "policy": "lru", "budget": 1},
    )


def built(group_by: str | None, state: bytes | None = None) -> Monitor:
    source = Scripted({"a": 1.0, "b": 2.0, "c": 3.0})
    return build_monitor(query_of(group_by), state, source=source, keep_late=True)


def told(answers: list[Answer]) -> list[tuple[int, Any, list[Any]]]:
    return [(answer.window.end, answer.group, answer.keys) for answer in answers]


either = pytest.mark.parametrize("group_by", [None, "team"])


@either
def test_a_query_gets_the_monitor_that_it_needs(group_by: str | None) -> None:
    monitor = built(group_by)
    assert isinstance(monitor, TopKMonitor if group_by is None else GroupedMonitor)
    assert monitor.query == query_of(group_by)
    assert monitor.watermark is None
    assert monitor.next_close() is None


@either
def test_time_moves_by_closing_only(group_by: str | None) -> None:
    monitor = built(group_by)
    monitor.start()
    monitor.ingest(EVENTS)
    assert (monitor.watermark, monitor.next_close()) == (25, 11)
    first = told(monitor.close_until(11))
    assert first
    assert {closes for closes, _, _ in first} == {10}
    rest = told(monitor.flush())
    assert [closes for closes, _, _ in rest] == sorted(closes for closes, _, _ in rest)
    assert {closes for closes, _, _ in rest} == {20, 30}
    assert monitor.flush() == []


@either
def test_parts_reduced_elsewhere_are_taken_in_alike(group_by: str | None) -> None:
    one, other = built(group_by), built(group_by)
    one.ingest(EVENTS)
    other.admit(*(part for _, part in reduce_for_shards(other.query, EVENTS)))
    assert one.snapshot() == other.snapshot()
    assert one.flush() == other.flush()


@either
def test_a_batch_that_is_refused_leaves_no_trace(group_by: str | None) -> None:
    monitor = built(group_by)
    monitor.ingest(EVENTS)
    before = monitor.snapshot()
    with pytest.raises(BatchError):
        monitor.ingest({"at": [1]})
    assert monitor.snapshot() == before


@either
def test_a_snapshot_goes_on_to_the_last_bit(group_by: str | None) -> None:
    monitor = built(group_by)
    monitor.ingest(EVENTS)
    monitor.close_until(11)
    again = built(group_by, monitor.snapshot())
    assert again.snapshot() == monitor.snapshot()
    assert again.flush() == monitor.flush()
    assert again.snapshot() == monitor.snapshot()


@either
def test_what_came_too_late_is_given_out_once(group_by: str | None) -> None:
    monitor = built(group_by)
    monitor.ingest(EVENTS)
    monitor.close_until(11)
    assert monitor.take_late() is None
    monitor.ingest(LATE)
    late = monitor.take_late()
    assert late is not None
    assert late.num_rows == 1
    assert monitor.take_late() is None
