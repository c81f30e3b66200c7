"""One ranking per group equals a query of its own for each group."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.timing import within
from topwater import (
    QueryError,
    StateError,
    TopKMonitor,
    TopKQuery,
    counting,
    run,
    sliding,
    tumbling,
)
from topwater.model import Answer, Counts, Fetched, KeyArray
from topwater.monitor.grouped import GroupedMonitor
from topwater.remote.known_changes import Steps
from topwater.remote.replay import Replay
from topwater.testing import HandClock, Scripted

GROUPS = ["north", "south", "east", None]


def stream(seed: int, rows: int = 600) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "at": np.sort(rng.integers(1, 900, rows)) - rng.integers(0, 30, rows) + 30,
            "who": rng.integers(0, 25, rows),
            "value": np.round(rng.random(rows), 1),
            "where": [GROUPS[each] for each in rng.choice(4, rows, p=[0.6, 0.3, 0.05, 0.05])],
        }
    )


def query_of(**change: Any) -> TopKQuery:
    settings: dict[str, Any] = {
        "key": "who",
        "time": "at",
        "window": sliding(100, 40),
        "score": "value",
        "k": 3,
        "group_by": "where",
    }
    return TopKQuery(**(settings | change))


def essence(answers: list[Answer]) -> list[Any]:
    return [(answer.window, answer.rows) for answer in answers if answer.rows]


@pytest.mark.parametrize("take", ["each", {"n": "count"}])
@pytest.mark.parametrize("seed", range(3))
def test_each_group_is_a_query_of_its_own(seed: int, take: Any) -> None:
    table = stream(seed)
    score = "value" if take == "each" else "n"
    query = query_of(take=take, score=score, lateness=30)
    batches = [table.slice(start, 50) for start in range(0, table.num_rows, 50)]
    answers = list(run(query, batches))
    alone = query_of(take=take, score=score, group_by=None, lateness=30)
    for group in GROUPS[:3]:
        mine = [answer for answer in answers if answer.group == group]
        rows = table.filter(pa.compute.equal(table.column("where"), group))
        assert essence(mine) == essence(list(run(alone, [rows])))
        assert mine
    order = [(answer.window.end, answer.group) for answer in answers]
    assert order == sorted(order)
    total = sum((answer.counts for answer in answers), Counts())
    assert total.events == table.num_rows
    assert total.bad_key == table.column("where").null_count


def changing(seed: int) -> Replay:
    """25 keys, whose values change now and then."""
    rng = np.random.default_rng(seed)
    times, keys = rng.integers(0, 900, 300), rng.integers(0, 25, 300)
    return Replay(
        Steps.of(
            np.append(np.zeros(25, np.int64), times),
            np.append(np.arange(25), keys),
            rng.random(325),
        )
    )


@pytest.mark.parametrize("policy", ["worth", "lru", "wbm"])
@pytest.mark.parametrize("budget", [2, {"fetches": 2, "carry_over": True}, None])
def test_with_a_remote_part_each_group_is_a_query_of_its_own(policy: str, budget: Any) -> None:
    """Though all look up together, and each key once."""
    refresh = {"remote": "worth", "budget": budget, "policy": policy, "seed": 4}
    settings = {"take": {"n": "count"}, "score": "n + 5 * worth", "refresh": refresh}
    table, source = stream(7), changing(7)
    batches = [table.slice(start, 50) for start in range(0, table.num_rows, 50)]
    answers = list(run(query_of(**settings, lateness=30), batches, source=source))
    asked = 0
    for group in GROUPS[:3]:
        mine = [answer for answer in answers if answer.group == group]
        rows = table.filter(pa.compute.equal(table.column("where"), group))
        alone = changing(7)
        right = list(run(query_of(**settings, group_by=None, lateness=30), [rows], source=alone))
        right = [answer for answer in right if answer.rows]
        assert [(each.rows, each.freshness, each.looked_up) for each in mine] == [
            (each.rows, each.freshness, each.looked_up) for each in right
        ]
        asked += alone.fetches
    assert len(source.asked) <= len({answer.window for answer in answers})
    assert all(len(np.unique(keys)) == len(keys) for keys in source.asked)
    assert 0 < source.fetches < asked


@pytest.mark.parametrize("cut", [1, 4, 9])
@pytest.mark.parametrize("budget", [2, {"deadline": "1 s"}])
def test_a_restart_changes_nothing_of_what_is_looked_up(cut: int, budget: Any) -> None:
    refresh = {"remote": "worth", "budget": budget}
    query = query_of(take={"n": "count"}, score="n + 5 * worth", refresh=refresh)
    table, states, answers = stream(9), [], []
    for restarts in (False, True):
        source, clock = (
            Scripted({key: key / 9 for key in range(25)}, seconds_per_key=0.2),
            HandClock(),
        )
        monitor = GroupedMonitor.build(query, source=source, clock=clock)
        found: list[Answer] = []
        for number, start in enumerate(range(0, table.num_rows, 50)):
            if restarts and number == cut:
                monitor = GroupedMonitor.build(
                    query, monitor.snapshot(), source=source, clock=clock
                )
            monitor.ingest(table.slice(start, 50))
            found += monitor.close_until(monitor.watermark or 0)
        answers.append((found, source.calls))
        states.append(monitor.snapshot())
    assert answers[0] == answers[1]
    assert states[0] == states[1]


def test_a_silent_group_is_answered_on_time() -> None:
    monitor = GroupedMonitor.build(query_of())
    monitor.ingest({"at": [10], "who": [1], "value": [1.0], "where": ["a"]})
    monitor.ingest({"at": [141], "who": [2], "value": [1.0], "where": ["b"]})
    assert monitor.watermark == 141
    assert [(each.window.end, each.group) for each in monitor.close_until(141)] == [(100, "a")]


def test_nothing_of_a_new_group_is_late_before_the_first_window_has_closed() -> None:
    """The first window of ``a`` is still open when ``b`` is heard of.

    ::

        time     0    10   20             60        100
        window   (──────────────────────────────────]
                      a    b              └ where a window before the first would have ended
    """
    monitor = GroupedMonitor.build(query_of())
    monitor.ingest({"at": [10], "who": [1], "value": [1.0], "where": ["a"]})
    assert monitor.close_until(10) == []
    monitor.ingest({"at": [20], "who": [2], "value": [1.0], "where": ["b"]})
    answers = monitor.flush()
    assert [(each.window.end, each.group, each.keys) for each in answers] == [
        (100, "a", [1]),
        (100, "b", [2]),
    ]
    assert sum(each.counts.late for each in answers) == 0


def test_a_late_event_of_a_forgotten_group_opens_no_window_again() -> None:
    monitor = GroupedMonitor.build(query_of())
    monitor.ingest({"at": [10, 400], "who": [1, 1], "value": [1.0, 1.0], "where": ["a", "b"]})
    closed = monitor.close_until(400)
    assert [(each.group, each.counts.skipped_windows) for each in closed] == [("a", 0)]
    monitor.ingest({"at": [20], "who": [1], "value": [9.0], "where": ["a"]})
    rest = monitor.flush()
    assert {each.group for each in rest} == {"b"}
    assert sum(each.counts.late for each in rest) == 1


def test_what_a_silent_group_lost_is_told_with_the_next_answer_of_any() -> None:
    """Also with a remote part, where silent groups are remembered for a while."""
    refresh = {"remote": "worth", "default": 1.0}
    query = query_of(take={"n": "count"}, score="n * worth", refresh=refresh)
    monitor = GroupedMonitor.build(query, source=Scripted({1: [(0, 2.0)]}))
    monitor.ingest({"at": [10, 400], "who": [1, 1], "value": [1.0, 1.0], "where": ["a", "b"]})
    monitor.close_until(400)
    monitor.ingest({"at": [20], "who": [1], "value": [9.0], "where": ["a"]})
    assert [(each.group, each.counts.late) for each in monitor.close_until(441)] == [("b", 1)]


def test_the_replicas_of_silent_groups_do_not_pile_up() -> None:
    """Each group has one event, and is never heard of again; one goes on."""
    refresh = {"remote": "worth", "default": 1.0, "budget": 1}
    query = query_of(take={"n": "count"}, score="n * worth", refresh=refresh)
    monitor = GroupedMonitor.build(query, source=Scripted({1: 2.0}))
    sizes, answers = [], 0
    for at in range(1_000, 301_000, 1_000):
        group = [0, at]
        monitor.ingest({"at": [at, at], "who": [1, 1], "value": [1.0, 1.0], "where": group})
        answers += len(monitor.close_until(at))
        if at % 10_000 == 0:
            sizes.append(len(monitor.snapshot()))
    assert max(sizes[15:]) < 1.05 * max(sizes[7:10])
    again = GroupedMonitor.build(query, monitor.snapshot(), source=Scripted({1: 2.0}))
    assert again.flush() == monitor.flush()
    assert answers == 2 * 2 * 299


def test_rows_without_a_group_move_the_time() -> None:
    monitor = GroupedMonitor.build(query_of())
    monitor.ingest({"at": [10], "who": [1], "value": [1.0], "where": ["a"]})
    monitor.ingest({"at": [141], "who": [2], "value": [1.0], "where": [None]})
    assert monitor.watermark == 141
    (answer,) = monitor.close_until(141)
    assert (answer.group, answer.counts.events, answer.counts.bad_key) == ("a", 2, 1)


@pytest.mark.parametrize("cut", [0, 3, 7, 11])
def test_a_restart_changes_nothing(cut: int) -> None:
    table, query = stream(5), query_of(lateness=10, take={"n": "count"}, score="n")
    batches = [table.slice(start, 50) for start in range(0, table.num_rows, 50)]
    whole = list(run(query, batches))
    monitor = GroupedMonitor.build(query)
    got: list[Answer] = []
    for number, batch in enumerate(batches):
        if number == cut:
            monitor = GroupedMonitor.build(query, monitor.snapshot())
        monitor.ingest(batch)
        got += monitor.close_until(monitor.watermark or 0)
    assert [*got, *monitor.flush()] == whole


def test_the_next_close_is_the_earliest_of_all() -> None:
    monitor = GroupedMonitor.build(query_of())
    assert (monitor.next_close(), monitor.watermark) == (None, None)
    monitor.ingest({"at": [150, 60], "who": [1, 1], "value": [1.0, 1.0], "where": [1, 2]})
    assert monitor.next_close() == 101


def test_bad_settings_are_named() -> None:
    with pytest.raises(QueryError, match="group_by"):
        TopKQuery(key="a", window=counting(5), score="b", k=1, group_by="c")
    with pytest.raises(QueryError, match="group_by"):
        query_of(group_by=7)
    with pytest.raises(QueryError, match="one monitor has one ranking"):
        TopKMonitor.build(query_of())
    with pytest.raises(QueryError, match="names no column"):
        GroupedMonitor.build(query_of(group_by=None))
    with pytest.raises(StateError, match="another query: its group_by is"):
        GroupedMonitor.build(query_of(group_by="b"), GroupedMonitor.build(query_of()).snapshot())


class Taking:
    """A source that takes its time, on a clock that is moved by hand; it answers nothing."""

    punctual = True

    def __init__(self, clock: HandClock, share: float) -> None:
        self.clock, self.share = clock, share
        self.asked: list[tuple[list[str], float]] = []

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        assert deadline is not None
        self.asked.append((keys.tolist(), deadline))
        self.clock.move(self.share * deadline)
        return Fetched(np.full(len(keys), np.nan), np.zeros(len(keys), bool), self.share * deadline)


def timed_query(deadline: str = "1 s") -> TopKQuery:
    refresh = {"remote": "worth", "default": 1.0, "budget": {"deadline": deadline}}
    return query_of(window=tumbling(40), take={"n": "count"}, score="n * worth", refresh=refresh)


def events_of(groups: int, at: int) -> dict[str, Any]:
    """One key for each group, which says of which."""
    names = [f"k{each}" for each in range(groups)]
    return {"at": [at] * groups, "who": names, "value": [1.0] * groups, "where": names}


def test_groups_of_a_window_are_looked_up_in_one_call_with_all_of_its_deadline() -> None:
    clock = HandClock()
    source = Taking(clock, share=1.0)
    monitor = GroupedMonitor.build(timed_query(), source=source, clock=clock)
    monitor.ingest(events_of(6, at=30))
    answers = monitor.close_until(41)
    assert [answer.group for answer in answers] == [f"k{each}" for each in range(6)]
    ((keys, given),) = source.asked
    assert sorted(keys) == [f"k{each}" for each in range(6)]
    assert 0.8 < given == clock.now() <= 1.0


def test_of_many_groups_each_has_its_turn_in_some_window() -> None:
    """A source that answers nothing seems slower and slower: in the end there is time for one."""
    clock = HandClock()
    source = Taking(clock, share=1.0)
    monitor = GroupedMonitor.build(timed_query(), source=source, clock=clock)
    for window in range(80):
        monitor.ingest(events_of(8, at=40 * window + 30))
        before = clock.now()
        assert len(monitor.close_until(40 * window + 41)) == 8
        assert clock.now() - before <= 1.0
    assert {len(keys) for keys, _ in source.asked} <= {8, 3, 2, 1}
    assert {key for keys, _ in source.asked[2:] for key in keys} == {f"k{n}" for n in range(8)}


@pytest.mark.parametrize("every", [2, 3, 6, 60])
def test_no_rhythm_of_the_stream_leaves_a_group_without_a_turn(every: int) -> None:
    """Only every n-th window holds something, and there is time for one group."""
    clock = HandClock()
    source = Taking(clock, share=1.0)
    monitor = GroupedMonitor.build(timed_query(), source=source, clock=clock)
    for window in range(0, 60 * every, every):
        monitor.ingest(events_of(6, at=40 * window + 30))
        monitor.close_until(40 * window + 41)
    turns = Counter(key for keys, _ in source.asked[2:] for key in keys)
    assert len(turns) == 6
    assert min(turns.values()) > 2


def test_several_windows_that_close_together_have_a_deadline_each() -> None:
    clock = HandClock()
    source = Taking(clock, share=1.0)
    monitor = GroupedMonitor.build(timed_query(), source=source, clock=clock)
    for window in range(3):
        monitor.ingest(events_of(4, at=200 * window + 30))
    answers = monitor.flush()
    ends = [answer.window.end for answer in answers]
    assert ends == sorted(ends)
    assert len(source.asked) == len({*ends}) == 3
    assert 0.7 * len({*ends}) < clock.now() <= len({*ends})


def test_a_hanging_source_holds_up_all_groups_together_no_longer_than_the_deadline() -> None:
    released = threading.Event()

    class Hanging:
        def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
            released.wait(30)
            raise OSError

    monitor = GroupedMonitor.build(timed_query("2 s"), source=Hanging())
    monitor.ingest(events_of(6, at=30))
    with within(2):  # and not twelve
        answers = monitor.close_until(41)
    released.set()
    assert [answer.problems for answer in answers] == [(("late", 1),)] * 6


def test_replicas_of_all_groups_keep_to_one_memory_and_tell_what_they_forgot() -> None:
    memory = 200_000
    refresh = {"remote": "worth", "default": 1.0, "budget": None, "memory": memory}
    query = query_of(window=tumbling(40), take={"n": "count"}, score="n * worth", refresh=refresh)
    monitor = GroupedMonitor.build(query, source=Scripted({}))
    asked = told = 0
    for window in range(10):
        keys = [f"{window}-{each}" for each in range(300)]
        groups = ["large"] * 280 + [f"g{each % 10}" for each in range(20)]
        times = [40 * window + 30] * 300
        monitor.ingest({"at": times, "who": keys, "value": [1.0] * 300, "where": groups})
        answers = monitor.close_until(40 * window + 41)
        asked += sum(answer.freshness.fetched for answer in answers if answer.freshness)
        told += sum(answer.counts.forgotten for answer in answers)
        assert sum(each.replica_size for each in monitor._monitors.values()) <= memory
    held = {group: each.refresher for group, each in monitor._monitors.items()}
    kept = {group: len(each.replica) for group, each in held.items() if each is not None}
    assert asked == 3_000
    assert sum(kept.values()) + told + monitor._counts.forgotten == asked
    assert [kept[f"g{each}"] for each in range(10)] == [20] * 10


def test_a_group_is_called_as_it_likes() -> None:
    names = ["", "\0", "#group", "None"]
    batch = {"at": [1] * 4, "who": [1, 2, 3, 4], "value": [1.0] * 4, "where": names}
    monitor = GroupedMonitor.build(query_of())
    monitor.ingest(batch)
    again = GroupedMonitor.build(query_of(), monitor.snapshot())
    assert sorted(str(answer.group) for answer in again.flush()) == sorted(names)
