"""All shards in one process: any cut, any restart, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.support.journal_store import JournalStore, plain
from tests.support.scenarios import QUERIES, Scenario, answered_locally, scenario
from topwater import Answer, TopKMonitor, tumbling
from topwater.errors import QueryError
from topwater.model import Shard
from topwater.monitor.journal import Head, Journal, snapshot_from
from topwater.monitor.protocol import Monitor
from topwater.monitor.shard_monitors import ShardedMonitor, shard_monitor

REMOTE = ["worth", "lru", "listed"]
PLAIN = [name for name in QUERIES if name not in REMOTE and not name.startswith("groups")]


def answered(each: Scenario, shards: int) -> list[Answer]:
    monitor = ShardedMonitor(each.query, shards, source=each.source)
    found: list[Answer] = []
    for batch in each.files:
        monitor.ingest(batch)
        found += monitor.close_until(monitor.watermark or 0)
    return found


def cut_anew(each: Scenario, rng: np.random.Generator) -> Scenario:
    """The same events in other batches; without the wide jump, which is judged by batches."""
    events = pa.concat_tables(each.files)
    far = events.column("time").cast(pa.int64()).to_numpy(zero_copy_only=False) > 3e15
    events = events.filter(pa.array(~far))
    cuts = [0, *np.sort(rng.integers(1, events.num_rows, 14)).tolist(), events.num_rows]
    parts = [events.slice(a, b - a) for a, b in itertools.pairwise(cuts) if a < b]
    return replace(each, files=tuple(parts))


@pytest.mark.parametrize("name", PLAIN)
def test_without_a_remote_part_shards_answer_as_one(name: str) -> None:
    each = scenario(name, 3, files=8)
    found = [replace(answer, candidates=0) for answer in answered(each, 4)]
    assert found == [replace(answer, candidates=0) for answer in answered_locally(each)]


@pytest.mark.parametrize("shards", [2, 16])
@pytest.mark.parametrize("seed", range(2))
def test_answers_do_not_depend_on_how_the_stream_is_cut(seed: int, shards: int) -> None:
    """Lateness is generous, so that nothing is late by where a batch ends."""
    rng = np.random.default_rng(seed)
    each = scenario("worth", seed)
    each = replace(each, query=replace(each.query, lateness="20 s"))  # type: ignore[arg-type]
    one, two = (answered(cut_anew(each, rng), shards) for _ in range(2))
    shown = [
        [(answer.window, answer.rows, answer.freshness, answer.looked_up) for answer in answers]
        for answers in (one, two)
    ]
    assert len(one) >= 8
    assert shown[0] == shown[1]


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.parametrize("shards", [1, 4])
def test_a_restart_after_every_batch_changes_nothing(name: str, shards: int) -> None:
    each = scenario(name, 6, files=10)
    found: list[Answer] = []
    states: dict[int, bytes] = {}
    for batch in each.files:
        monitor = ShardedMonitor(each.query, shards, states, source=each.source)
        monitor.ingest(batch)
        found += monitor.close_until(monitor.watermark or 0)
        states = monitor.snapshots()
    joint = shards > 1 and name == "worth"
    assert sorted(states) == [*range(shards + joint)]
    assert found == answered(each, shards)


def test_a_journal_of_a_shard_that_nominates_is_read_back() -> None:
    each = scenario("worth", 5, files=10)
    monitor = ShardedMonitor(each.query, 3, source=each.source)
    inside: Monitor = monitor._monitors[1]
    store, journal = JournalStore(), Journal(inside)
    for batch in each.files:
        monitor.ingest(batch)
        monitor.close_until(monitor.watermark or 0)
        store.write(journal.record("a nonce"))
    again = store.rebuilt(shard_monitor(each.query, shard=Shard(1, 3)))
    assert plain(again.monitor.snapshot()) == plain(inside.snapshot())
    assert plain(snapshot_from(Head.unpack(store.head), store.get)) == plain(inside.snapshot())


def test_a_shard_that_nominates_needs_no_source() -> None:
    each = scenario("worth", 0)
    monitor = shard_monitor(each.query, shard=Shard(0, 2))
    assert isinstance(monitor, TopKMonitor)
    monitor.start()
    monitor.close()
    with pytest.raises(QueryError, match="no source was given"):
        shard_monitor(each.query, shard=Shard(0, 1))


@pytest.mark.parametrize(("shards", "field"), [(0, "shards"), (257, "shards"), (2.5, "shards")])
def test_as_many_shards_as_there_can_be(shards: int, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        ShardedMonitor(scenario("count", 0).query, shards)
    assert caught.value.field == field


def test_groups_are_not_divided() -> None:
    query = replace(scenario("groups", 0).query, window=tumbling(10))
    with pytest.raises(QueryError, match="its own ranking"):
        ShardedMonitor(query, 2)
